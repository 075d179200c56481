//! Who may change a consumer's keys, and one after the other.

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel::result::Error as QueryError;
use keyward_domain::holder::KeyReach;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::rate::{Rate, Throttled};

use super::super::dialect::{Pipelined, RunQueryDsl, count_change, locked, together};
use super::super::schema::{api_keys, memberships};
use super::super::validity::{key_is_valid, membership_is_live};
use crate::columns::{StoredFlag, StoredId, StoredMoment};

/// Makes every other change to this consumer's keys wait for the end of this transaction, so what it reads of them
/// stays true. Returns which keys the consumer reaches: nothing unless the membership is live and the key through which the
/// consumer acts, if any, one of its valid keys. Since the request was let in, either may have ended.
pub(super) async fn lock_holder(
    connection: Pipelined<'_>,
    consumer: ConsumerId,
    acting_key: Option<ApiKeyId>,
    at: DateTime<Utc>,
) -> Result<Option<KeyReach>, QueryError> {
    let (is_live, reach) = together!(
        connection,
        lock_consumer(connection, consumer, at),
        reach(connection, consumer, acting_key, at)
    );
    Ok(reach.filter(|_| is_live))
}

/// The lock alone. Says whether the membership is live.
async fn lock_consumer(
    mut connection: Pipelined<'_>,
    consumer: ConsumerId,
    at: DateTime<Utc>,
) -> Result<bool, QueryError> {
    // Locked, the membership is not ended meanwhile either.
    let membership = memberships::table
        .filter(memberships::id.eq(StoredId(consumer.as_uuid())))
        .select(membership_is_live(at.into()));
    let is_live: Option<bool> = locked!(membership).get_result(&mut connection).await.optional()?;
    Ok(is_live == Some(true))
}

/// Which keys a live consumer reaches, at the moment of asking: nothing is locked.
pub(super) async fn reach(
    connection: Pipelined<'_>,
    consumer: ConsumerId,
    acting_key: Option<ApiKeyId>,
    at: DateTime<Utc>,
) -> Result<Option<KeyReach>, QueryError> {
    match acting_key {
        Some(key) => reach_of_key(connection, consumer, key, at).await,
        None => Ok(Some(KeyReach::All)),
    }
}

/// Who may change a consumer's keys.
pub(super) struct Changer {
    pub(super) reach: KeyReach,
    /// Whether the consumer may make a change now.
    pub(super) room: Result<(), Throttled>,
}

/// Like [`lock_holder`], for a change that counts: what counts it takes the lock, too. A change for which there is no room
/// waits for nobody.
pub(super) async fn lock_changer(
    connection: Pipelined<'_>,
    consumer: ConsumerId,
    acting_key: Option<ApiKeyId>,
    changes: Rate,
    at: DateTime<Utc>,
) -> Result<Option<Changer>, QueryError> {
    let (room, reach) = together!(
        connection,
        counted(connection, consumer, changes, at),
        reach(connection, consumer, acting_key, at)
    );
    Ok(room.zip(reach).map(|(room, reach)| Changer { reach, room }))
}

/// Counts a change of a live consumer, if there is room for it.
async fn counted(
    connection: Pipelined<'_>,
    consumer: ConsumerId,
    changes: Rate,
    at: DateTime<Utc>,
) -> Result<Option<Result<(), Throttled>>, QueryError> {
    if count_change(connection, consumer, changes, at).await? {
        return Ok(Some(Ok(())));
    }
    let full = changes_empty_at(connection, consumer, at).await?;
    // It was full a moment ago. If it is not any more, the wait is over soon.
    let soon = Throttled {
        retry_after: changes.interval(),
    };
    Ok(full.map(|empty_at| Err(changes.take(empty_at, at).err().unwrap_or(soon))))
}

/// Likewise at the moment of asking: nothing is locked or counted.
pub(super) async fn changer(
    connection: Pipelined<'_>,
    consumer: ConsumerId,
    acting_key: Option<ApiKeyId>,
    changes: Rate,
    at: DateTime<Utc>,
) -> Result<Option<Changer>, QueryError> {
    let (empty_at, reach) = together!(
        connection,
        changes_empty_at(connection, consumer, at),
        reach(connection, consumer, acting_key, at)
    );
    let room = empty_at.map(|empty_at| changes.take(empty_at, at).map(drop));
    Ok(room.zip(reach).map(|(room, reach)| Changer { reach, room }))
}

/// When a live consumer's changes are as if there had been none, if that was ever counted.
async fn changes_empty_at(
    mut connection: Pipelined<'_>,
    consumer: ConsumerId,
    at: DateTime<Utc>,
) -> Result<Option<Option<DateTime<Utc>>>, QueryError> {
    let empty_at: Option<Option<StoredMoment>> = memberships::table
        .filter(memberships::id.eq(StoredId(consumer.as_uuid())))
        .filter(membership_is_live(at.into()))
        .select(memberships::changes_empty_at)
        .get_result(&mut connection)
        .await
        .optional()?;
    let told = |moment: Option<StoredMoment>| moment.map(|moment| moment.0).transpose();
    let empty_at = empty_at.map(told).transpose();
    empty_at.map_err(|error| QueryError::DeserializationError(error.into()))
}

/// Likewise which keys a consumer reaches through this key, at the moment of asking: nothing is locked.
async fn reach_of_key(
    mut connection: Pipelined<'_>,
    consumer: ConsumerId,
    key: ApiKeyId,
    at: DateTime<Utc>,
) -> Result<Option<KeyReach>, QueryError> {
    let can_manage_keys: Option<StoredFlag> = api_keys::table
        .inner_join(memberships::table)
        .filter(membership_is_live(at.into()))
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(api_keys::id.eq(StoredId(key.as_uuid())))
        .filter(key_is_valid(at.into()))
        .select(api_keys::can_manage_keys)
        .get_result(&mut connection)
        .await
        .optional()?;
    Ok(can_manage_keys.map(|can_manage_keys| KeyReach::of_key(key, can_manage_keys.0)))
}
