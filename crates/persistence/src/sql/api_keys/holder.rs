//! Locks a consumer for changes of its keys, and checks who acts.

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel::result::Error as QueryError;
use keyward_domain::holder::KeyReach;
use keyward_domain::id::{ApiKeyId, MembershipId};
use keyward_domain::rate::{Rate, Throttled};

use super::super::dialect::{Pipelined, RunQueryDsl, count_change, locked, pipeline};
use super::super::schema::{api_keys, memberships};
use super::super::validity::{StoredEnd, key_is_valid, membership_is_live};
use crate::columns::{StoredFlag, StoredId, StoredMoment};

/// Locks the consumer: other changes of its keys wait until this transaction ends, so its reads of them stay
/// true. Returns the holder's reach; `None` unless the membership is live and the acting key, if any, is one
/// of its valid keys. Either may have ended since the request was authenticated.
pub(super) async fn lock_holder(
    connection: Pipelined<'_>,
    consumer: MembershipId,
    acting_key: Option<ApiKeyId>,
    at: DateTime<Utc>,
) -> Result<Option<KeyReach>, QueryError> {
    let (is_live, reach) = pipeline!(
        connection,
        lock_consumer(connection, consumer, at),
        reach(connection, consumer, acting_key, at)
    );
    Ok(reach.filter(|_| is_live))
}

/// Acquires the lock only; returns whether the membership is live.
async fn lock_consumer(
    mut connection: Pipelined<'_>,
    consumer: MembershipId,
    at: DateTime<Utc>,
) -> Result<bool, QueryError> {
    // The lock also keeps the membership from being ended.
    let membership = memberships::table
        .filter(memberships::id.eq(StoredId(consumer.as_uuid())))
        .select(membership_is_live(at.into()));
    let is_live: Option<bool> = locked!(membership).get_result(&mut connection).await.optional()?;
    Ok(is_live == Some(true))
}

/// The reach of a revoking holder, without a lock. A signed-in user may also revoke keys of an ended
/// membership.
pub(super) async fn reach(
    connection: Pipelined<'_>,
    consumer: MembershipId,
    acting_key: Option<ApiKeyId>,
    at: DateTime<Utc>,
) -> Result<Option<KeyReach>, QueryError> {
    match acting_key {
        Some(key) => {
            let acting = acting_key_of(connection, consumer, key, at).await?;
            Ok(acting.map(|acting| acting.reach))
        }
        None => Ok(Some(KeyReach::All)),
    }
}

/// Reads who changes keys, without a lock.
async fn acting(
    connection: Pipelined<'_>,
    consumer: MembershipId,
    acting_key: Option<ApiKeyId>,
    at: DateTime<Utc>,
) -> Result<Option<Acting>, QueryError> {
    match acting_key {
        Some(key) => acting_key_of(connection, consumer, key, at).await,
        None => acting_person(connection, consumer, at).await,
    }
}

/// The acting holder, signed in or through a key.
struct Acting {
    reach: KeyReach,
    /// The ends of the membership and of the key, if any, which may come while the change waits for the lock.
    ends: Vec<StoredEnd>,
}

/// The holder that changes a consumer's keys, with the state of its rate limit.
pub(super) struct Changer {
    pub(super) reach: KeyReach,
    /// Whether the rate limit allows a change now.
    pub(super) room: Result<(), Throttled>,
    ends: Vec<StoredEnd>,
}

impl Changer {
    fn new((room, acting): (Result<(), Throttled>, Acting)) -> Self {
        let Acting { reach, ends } = acting;
        Self { reach, room, ends }
    }

    /// Whether neither the membership nor the acting key, if any, is over at this moment.
    pub(super) fn may_act(&self, at: DateTime<Utc>) -> bool {
        !self.ends.iter().any(|end| end.has_come(at))
    }
}

/// Like [`lock_holder`], for a rate-limited change: counting it acquires the lock. A change beyond the limit
/// does not wait.
pub(super) async fn lock_changer(
    connection: Pipelined<'_>,
    consumer: MembershipId,
    acting_key: Option<ApiKeyId>,
    changes: Rate,
    at: DateTime<Utc>,
) -> Result<Option<Changer>, QueryError> {
    let (room, acting) = pipeline!(
        connection,
        count_or_throttle(connection, consumer, changes, at),
        acting(connection, consumer, acting_key, at)
    );
    Ok(room.zip(acting).map(Changer::new))
}

/// Counts a change of a live consumer, if the rate limit allows it.
async fn count_or_throttle(
    connection: Pipelined<'_>,
    consumer: MembershipId,
    changes: Rate,
    at: DateTime<Utc>,
) -> Result<Option<Result<(), Throttled>>, QueryError> {
    if count_change(connection, consumer, changes, at).await? {
        return Ok(Some(Ok(())));
    }
    let full = changes_empty_at(connection, consumer, at).await?;
    // The bucket was full just now. If it is no longer full, the wait is short.
    let soon = Throttled {
        retry_after: changes.interval(),
    };
    Ok(full.map(|empty_at| Err(changes.admit(empty_at, at).err().unwrap_or(soon))))
}

/// The same without locking or counting.
pub(super) async fn changer(
    connection: Pipelined<'_>,
    consumer: MembershipId,
    acting_key: Option<ApiKeyId>,
    changes: Rate,
    at: DateTime<Utc>,
) -> Result<Option<Changer>, QueryError> {
    let (empty_at, acting) = pipeline!(
        connection,
        changes_empty_at(connection, consumer, at),
        acting(connection, consumer, acting_key, at)
    );
    let room = empty_at.map(|empty_at| changes.admit(empty_at, at).map(drop));
    Ok(room.zip(acting).map(Changer::new))
}

/// The time when a live consumer's rate-limit bucket is empty; `None` if it was never used.
async fn changes_empty_at(
    mut connection: Pipelined<'_>,
    consumer: MembershipId,
    at: DateTime<Utc>,
) -> Result<Option<Option<DateTime<Utc>>>, QueryError> {
    let empty_at: Option<Option<StoredMoment>> = memberships::table
        .filter(memberships::id.eq(StoredId(consumer.as_uuid())))
        .filter(membership_is_live(at.into()))
        .select(memberships::changes_empty_at)
        .get_result(&mut connection)
        .await
        .optional()?;
    let read = |moment: Option<StoredMoment>| moment.map(|moment| moment.0).transpose();
    let empty_at = empty_at.map(read).transpose();
    empty_at.map_err(|error| QueryError::DeserializationError(error.into()))
}

/// The user of a live membership, who acts in the console.
async fn acting_person(
    mut connection: Pipelined<'_>,
    consumer: MembershipId,
    at: DateTime<Utc>,
) -> Result<Option<Acting>, QueryError> {
    let end: Option<StoredEnd> = memberships::table
        .filter(memberships::id.eq(StoredId(consumer.as_uuid())))
        .filter(membership_is_live(at.into()))
        .select((memberships::ended_at, memberships::end_came_at))
        .get_result(&mut connection)
        .await
        .optional()?;
    Ok(end.map(|end| Acting {
        reach: KeyReach::All,
        ends: vec![end],
    }))
}

/// A consumer that acts through this key, if it still may.
async fn acting_key_of(
    mut connection: Pipelined<'_>,
    consumer: MembershipId,
    key: ApiKeyId,
    at: DateTime<Utc>,
) -> Result<Option<Acting>, QueryError> {
    let found: Option<(StoredFlag, StoredEnd, StoredEnd)> = api_keys::table
        .inner_join(memberships::table)
        .filter(membership_is_live(at.into()))
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(api_keys::id.eq(StoredId(key.as_uuid())))
        .filter(key_is_valid(at.into()))
        .select((
            api_keys::can_manage_keys,
            (api_keys::revoked_at, api_keys::end_came_at),
            (memberships::ended_at, memberships::end_came_at),
        ))
        .get_result(&mut connection)
        .await
        .optional()?;
    Ok(found.map(|(can_manage_keys, own, of_membership)| Acting {
        reach: KeyReach::of_key(key, can_manage_keys.0),
        ends: vec![own, of_membership],
    }))
}
