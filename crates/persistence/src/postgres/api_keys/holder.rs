//! Who may change a consumer's keys, and one after the other.

use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel::result::Error as QueryError;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::holder::KeyReach;
use keyward_domain::id::{ApiKeyId, ConsumerId};

use crate::postgres::schema::{api_keys, memberships};

/// Makes every other change to this consumer's keys wait for the end of this transaction, so what it reads of them
/// stays true. Returns which keys the consumer reaches: nothing unless the membership is live and the key through which the
/// consumer acts, if any, one of its valid keys. Since the request was let in, either may have ended.
pub(super) async fn lock_holder(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
    acting_key: Option<ApiKeyId>,
) -> Result<Option<KeyReach>, QueryError> {
    // `FOR NO KEY UPDATE` also keeps the membership from being ended meanwhile, but lets rows refer to it.
    let is_live: Option<bool> = memberships::table
        .filter(memberships::id.eq(consumer.as_uuid()))
        .select(memberships::ended_at.is_null())
        .for_no_key_update()
        .get_result(connection)
        .await
        .optional()?;
    if is_live != Some(true) {
        return Ok(None);
    }
    let Some(key) = acting_key else {
        return Ok(Some(KeyReach::All));
    };
    let can_manage_keys: Option<bool> = api_keys::table
        .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
        .filter(api_keys::id.eq(key.as_uuid()))
        .filter(api_keys::revoked_at.is_null())
        .select(api_keys::can_manage_keys)
        .get_result(connection)
        .await
        .optional()?;
    Ok(can_manage_keys.map(|can_manage_keys| KeyReach::of_key(key, can_manage_keys)))
}

/// Likewise which keys a consumer reaches through this key, at the moment of asking: nothing is locked.
pub(super) async fn reach_of_key(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
    key: ApiKeyId,
) -> Result<Option<KeyReach>, QueryError> {
    let can_manage_keys: Option<bool> = api_keys::table
        .inner_join(memberships::table)
        .filter(memberships::ended_at.is_null())
        .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
        .filter(api_keys::id.eq(key.as_uuid()))
        .filter(api_keys::revoked_at.is_null())
        .select(api_keys::can_manage_keys)
        .get_result(connection)
        .await
        .optional()?;
    Ok(can_manage_keys.map(|can_manage_keys| KeyReach::of_key(key, can_manage_keys)))
}
