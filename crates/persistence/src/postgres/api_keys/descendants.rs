//! The keys that were created from a key, directly or not, also through keys that are kept no longer.

use std::convert::Infallible;

use diesel::BoxableExpression;
use diesel::dsl::sql;
use diesel::pg::Pg;
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use diesel::sql_types::{Bool, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::ports::StorageError;

use super::row::KeyRow;
use crate::abort::Abort;
use crate::postgres::schema::api_keys;

pub(super) async fn valid_descendants(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
) -> Result<Vec<ApiKey>, Abort<Infallible>> {
    let rows: Vec<KeyRow> = api_keys::table
        .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
        .filter(api_keys::revoked_at.is_null())
        .filter(api_keys::id.ne(id.as_uuid()))
        .filter(is_or_descends_from(consumer, id))
        .order(api_keys::id.desc())
        .select(KeyRow::as_select())
        .load(connection)
        .await?;
    let keys: Result<Vec<ApiKey>, StorageError> = rows.into_iter().map(ApiKey::try_from).collect();
    Ok(keys?)
}

/// Of the rows of `api_keys`, the key and its descendants, through keys in whatever state. None if the consumer has no
/// such key: every step names the consumer. `UNION` ends the search even if rows pointed at each other in a circle.
pub(super) fn is_or_descends_from(
    consumer: ConsumerId,
    id: ApiKeyId,
) -> Box<dyn BoxableExpression<api_keys::table, Pg, SqlType = Bool>> {
    Box::new(
        sql::<Bool>(
            "api_keys.id IN (WITH RECURSIVE lineage AS (SELECT root.id FROM api_keys root WHERE root.id = ",
        )
        .bind::<SqlUuid, _>(id.as_uuid())
        .sql(" AND root.consumer_id = ")
        .bind::<SqlUuid, _>(consumer.as_uuid())
        .sql(
            " UNION SELECT child.id FROM api_keys child \
                 JOIN lineage ON coalesce(child.adopted_by_key_id, child.created_by_key_id) = lineage.id \
                 WHERE child.consumer_id = ",
        )
        .bind::<SqlUuid, _>(consumer.as_uuid())
        .sql(") SELECT id FROM lineage)"),
    )
}
