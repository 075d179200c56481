//! One key of a consumer, or several that are known by their identifiers.

use std::convert::Infallible;

use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, QueryResult, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use super::row::KeyRow;
use crate::abort::Abort;
use crate::postgres::schema::api_keys;

pub(super) async fn find(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
) -> Result<Option<ApiKey>, Abort<Infallible>> {
    let row = find_row(connection, consumer, id).await?;
    Ok(row.map(ApiKey::try_from).transpose()?)
}

pub(super) async fn find_row(
    mut connection: &AsyncPgConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
) -> QueryResult<Option<KeyRow>> {
    api_keys::table
        .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
        .filter(api_keys::id.eq(id.as_uuid()))
        .select(KeyRow::as_select())
        .get_result(&mut connection)
        .await
        .optional()
}

pub(super) async fn find_many(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
    ids: Vec<Uuid>,
) -> Result<Vec<ApiKey>, Abort<Infallible>> {
    let rows: Vec<KeyRow> = api_keys::table
        .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
        .filter(api_keys::id.eq_any(ids))
        .select(KeyRow::as_select())
        .load(connection)
        .await?;
    let keys: Result<_, StorageError> = rows.into_iter().map(ApiKey::try_from).collect();
    Ok(keys?)
}
