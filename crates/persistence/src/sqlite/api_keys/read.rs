//! One key of a consumer, or several that are known by their identifiers.

use std::convert::Infallible;

use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SelectableHelper, SqliteConnection};
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use super::row::KeyRow;
use crate::abort::Abort;
use crate::columns::StoredId;
use crate::sqlite::organization_keys::selection::listed;
use crate::sqlite::schema::api_keys;

pub(super) fn find(
    connection: &mut SqliteConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
) -> Result<Option<ApiKey>, Abort<Infallible>> {
    let row: Option<KeyRow> = api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(api_keys::id.eq(StoredId(id.as_uuid())))
        .select(KeyRow::as_select())
        .get_result(connection)
        .optional()?;
    Ok(row.map(ApiKey::try_from).transpose()?)
}

pub(super) fn find_many(
    connection: &mut SqliteConnection,
    consumer: ConsumerId,
    ids: Vec<Uuid>,
) -> Result<Vec<ApiKey>, Abort<Infallible>> {
    let rows: Vec<KeyRow> = api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(listed(ids.into_iter()))
        .select(KeyRow::as_select())
        .load(connection)?;
    let keys: Result<_, StorageError> = rows.into_iter().map(ApiKey::try_from).collect();
    Ok(keys?)
}
