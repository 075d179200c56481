//! One key of a consumer.

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, QueryResult, SelectableHelper};
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::{ApiKeyId, MembershipId};

use super::super::dialect::{Connection, Pipelined, RunQueryDsl};
use super::super::schema::api_keys;
use super::row::KeyRow;
use crate::columns::StoredId;

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
