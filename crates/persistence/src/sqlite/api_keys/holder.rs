//! Who may change a consumer's keys.

use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SqliteConnection};
use diesel::result::Error as QueryError;
use keyward_domain::holder::KeyReach;
use keyward_domain::id::{ApiKeyId, ConsumerId};

use crate::sqlite::columns::StoredId;
use crate::sqlite::schema::{api_keys, memberships};

/// Which keys the consumer reaches: nothing unless the membership is live and the key through which the consumer acts, if
/// any, one of its valid keys. Since the request was let in, either may have ended. It stays true until the end of this
/// transaction.
pub(super) fn reach_of_holder(
    connection: &mut SqliteConnection,
    consumer: ConsumerId,
    acting_key: Option<ApiKeyId>,
) -> Result<Option<KeyReach>, QueryError> {
    let is_live: Option<bool> = memberships::table
        .filter(memberships::id.eq(StoredId(consumer.as_uuid())))
        .select(memberships::ended_at.is_null())
        .get_result(connection)
        .optional()?;
    if is_live != Some(true) {
        return Ok(None);
    }
    let Some(key) = acting_key else {
        return Ok(Some(KeyReach::All));
    };
    let can_manage_keys: Option<i64> = api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(api_keys::id.eq(StoredId(key.as_uuid())))
        .filter(api_keys::revoked_at.is_null())
        .select(api_keys::can_manage_keys)
        .get_result(connection)
        .optional()?;
    Ok(can_manage_keys.map(|can_manage_keys| KeyReach::of_key(key, can_manage_keys == 1)))
}
