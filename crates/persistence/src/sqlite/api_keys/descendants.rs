//! The keys that were created from a key, directly or not, also through keys that are kept no longer.

use std::convert::Infallible;

use diesel::BoxableExpression;
use diesel::dsl::sql;
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SelectableHelper, SqliteConnection};
use diesel::sql_types::{Binary, Bool};
use diesel::sqlite::Sqlite;
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::ports::StorageError;

use super::row::KeyRow;
use crate::abort::Abort;
use crate::sqlite::columns::StoredId;
use crate::sqlite::schema::api_keys;

pub(super) fn valid_descendants(
    connection: &mut SqliteConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
) -> Result<Vec<ApiKey>, Abort<Infallible>> {
    let rows: Vec<KeyRow> = api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(api_keys::revoked_at.is_null())
        .filter(api_keys::id.ne(StoredId(id.as_uuid())))
        .filter(is_or_descends_from(consumer, id))
        .order(api_keys::id.desc())
        .select(KeyRow::as_select())
        .load(connection)?;
    let keys: Result<Vec<ApiKey>, StorageError> = rows.into_iter().map(ApiKey::try_from).collect();
    Ok(keys?)
}

/// Of the rows of `api_keys`, the key and its descendants, through keys in whatever state. None if the consumer has no
/// such key: every step names the consumer. `UNION` ends the search even if rows pointed at each other in a circle.
/// The `+` keeps SQLite from going through all keys of the consumer at every step, instead of a key's children.
pub(super) fn is_or_descends_from(
    consumer: ConsumerId,
    id: ApiKeyId,
) -> Box<dyn BoxableExpression<api_keys::table, Sqlite, SqlType = Bool>> {
    Box::new(
        sql::<Bool>(
            "api_keys.id IN (WITH RECURSIVE lineage AS (SELECT root.id FROM api_keys root WHERE root.id = ",
        )
        .bind::<Binary, _>(StoredId(id.as_uuid()))
        .sql(" AND root.consumer_id = ")
        .bind::<Binary, _>(StoredId(consumer.as_uuid()))
        .sql(
            " UNION SELECT child.id FROM api_keys child \
                 JOIN lineage ON coalesce(child.adopted_by_key_id, child.created_by_key_id) = lineage.id \
                 WHERE +child.consumer_id = ",
        )
        .bind::<Binary, _>(StoredId(consumer.as_uuid()))
        .sql(" AND still_awaited(child.id)) SELECT id FROM lineage)"),
    )
}
