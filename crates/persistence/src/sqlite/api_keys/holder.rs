//! Who may change a consumer's keys.

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SqliteConnection};
use diesel::result::Error as QueryError;
use keyward_domain::holder::KeyReach;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::rate::{Rate, Throttled};

use crate::columns::{StoredId, moment};
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

/// Who may change a consumer's keys now.
pub(super) struct Changer {
    pub(super) reach: KeyReach,
    /// What to [keep](count_change) once the change is made, if there is room for it.
    pub(super) room: Result<DateTime<Utc>, Throttled>,
}

/// Like [`reach_of_holder`], for a change that counts.
pub(super) fn changer(
    connection: &mut SqliteConnection,
    consumer: ConsumerId,
    acting_key: Option<ApiKeyId>,
    changes: Rate,
    at: DateTime<Utc>,
) -> Result<Option<Changer>, QueryError> {
    let Some(reach) = reach_of_holder(connection, consumer, acting_key)? else {
        return Ok(None);
    };
    let empty_at: Option<i64> = memberships::table
        .filter(memberships::id.eq(StoredId(consumer.as_uuid())))
        .select(memberships::changes_empty_at)
        .get_result(connection)?;
    let empty_at = empty_at.map(moment).transpose();
    let empty_at = empty_at.map_err(|error| QueryError::DeserializationError(error.into()))?;
    Ok(Some(Changer {
        reach,
        room: changes.take(empty_at, at),
    }))
}

/// Counts a change that is made.
pub(super) fn count_change(
    connection: &mut SqliteConnection,
    consumer: ConsumerId,
    empty_at: DateTime<Utc>,
) -> Result<(), QueryError> {
    diesel::update(memberships::table.filter(memberships::id.eq(StoredId(consumer.as_uuid()))))
        .set(memberships::changes_empty_at.eq(empty_at.timestamp_millis()))
        .execute(connection)?;
    Ok(())
}
