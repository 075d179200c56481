//! Who may change a consumer's keys, and one after the other.

use diesel::OptionalExtension;
use diesel::dsl::exists;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel::result::Error as QueryError;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::id::{ApiKeyId, ConsumerId};

use crate::postgres::schema::{api_keys, memberships};

/// Makes every other change to this consumer's keys wait for the end of this transaction, so what it reads of them
/// stays true. Says whether the membership is live and the key through which the consumer acts, if any, one of its valid
/// keys: since the request was let in, either may have ended.
pub(super) async fn lock_holder(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
    acting_key: Option<ApiKeyId>,
) -> Result<bool, QueryError> {
    // `FOR NO KEY UPDATE` also keeps the membership from being ended meanwhile, but lets rows refer to it.
    let is_live: Option<bool> = memberships::table
        .filter(memberships::id.eq(consumer.as_uuid()))
        .select(memberships::ended_at.is_null())
        .for_no_key_update()
        .get_result(connection)
        .await
        .optional()?;
    if is_live != Some(true) {
        return Ok(false);
    }
    let Some(key) = acting_key else {
        return Ok(true);
    };
    diesel::select(exists(
        api_keys::table
            .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
            .filter(api_keys::id.eq(key.as_uuid()))
            .filter(api_keys::revoked_at.is_null()),
    ))
    .get_result(connection)
    .await
}

/// Likewise whether a consumer may act through this key, at the moment of asking: nothing is locked.
pub(super) async fn may_act(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
    key: ApiKeyId,
) -> Result<bool, QueryError> {
    diesel::select(exists(
        api_keys::table
            .inner_join(memberships::table)
            .filter(memberships::ended_at.is_null())
            .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
            .filter(api_keys::id.eq(key.as_uuid()))
            .filter(api_keys::revoked_at.is_null()),
    ))
    .get_result(connection)
    .await
}
