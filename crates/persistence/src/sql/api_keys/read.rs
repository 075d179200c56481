//! One key of a consumer, or several that are known by their identifiers.

use std::convert::Infallible;

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, QueryResult, SelectableHelper};
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::{ApiKeyId, MembershipId};
use keyward_domain::ports::StorageError;

use super::super::dialect::{Connection, Pipelined, RunQueryDsl, listed, valid_from};
use super::super::schema::api_keys;
use super::super::validity::key_is_valid;
use super::row::KeyRow;
use crate::abort::Abort;
use crate::columns::StoredId;

pub(super) async fn find(
    connection: &mut Connection,
    consumer: MembershipId,
    id: ApiKeyId,
) -> Result<Option<ApiKey>, Abort<Infallible>> {
    let row = find_row(connection, consumer, id).await?;
    Ok(row.map(ApiKey::try_from).transpose()?)
}

pub(super) async fn find_row(
    mut connection: Pipelined<'_>,
    consumer: MembershipId,
    id: ApiKeyId,
) -> QueryResult<Option<KeyRow>> {
    api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(api_keys::id.eq(StoredId(id.as_uuid())))
        .select(KeyRow::as_select())
        .get_result(&mut connection)
        .await
        .optional()
}

/// The key's successor, if it is valid.
pub(super) async fn live_successor(
    connection: &mut Connection,
    key: &ApiKey,
    now: DateTime<Utc>,
) -> QueryResult<Option<ApiKeyId>> {
    let Some(successor) = key.rotated_to else {
        return Ok(None);
    };
    let row = find_row(connection, key.consumer_id, successor).await?;
    Ok(row.filter(|row| row.is_valid(now)).map(|_| successor))
}

/// The valid descendants of this key, also through purged keys.
pub(super) async fn valid_descendants(
    connection: &mut Connection,
    consumer: MembershipId,
    id: ApiKeyId,
    now: DateTime<Utc>,
) -> Result<Vec<ApiKey>, Abort<Infallible>> {
    let found = valid_from(connection, &[consumer.as_uuid()], &[id.as_uuid()], now).await?;
    let rows: Vec<KeyRow> = api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(key_is_valid(now.into()))
        .filter(api_keys::id.ne(StoredId(id.as_uuid())))
        .filter(listed(found.into_iter()))
        .order(api_keys::id.desc())
        .select(KeyRow::as_select())
        .load(connection)
        .await?;
    let keys: Result<Vec<ApiKey>, StorageError> = rows.into_iter().map(ApiKey::try_from).collect();
    Ok(keys?)
}

pub(super) async fn find_many(
    connection: &mut Connection,
    consumer: MembershipId,
    ids: Vec<ApiKeyId>,
) -> Result<Vec<ApiKey>, Abort<Infallible>> {
    let rows: Vec<KeyRow> = api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(listed(ids.iter().map(|id| id.as_uuid())))
        .select(KeyRow::as_select())
        .load(connection)
        .await?;
    let keys: Result<_, StorageError> = rows.into_iter().map(ApiKey::try_from).collect();
    Ok(keys?)
}
