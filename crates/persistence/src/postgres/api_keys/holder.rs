//! Who may change a consumer's keys, and one after the other.

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl};
use diesel::result::Error as QueryError;
use diesel::sql_types::{Nullable, Timestamptz};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::try_join;
use keyward_domain::holder::KeyReach;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::rate::{Rate, Room, Throttled};

use crate::postgres::prepared_once::PreparedOnce;
use crate::postgres::schema::{api_keys, memberships};

diesel::define_sql_function! {
    /// The later of those that are there.
    fn greatest(one: Nullable<Timestamptz>, other: Nullable<Timestamptz>) -> Nullable<Timestamptz>;
}
diesel::define_sql_function! {
    /// The earlier of those that are there.
    fn least(one: Nullable<Timestamptz>, other: Nullable<Timestamptz>) -> Nullable<Timestamptz>;
}

/// Makes every other change to this consumer's keys wait for the end of this transaction, so what it reads of them
/// stays true. Returns which keys the consumer reaches: nothing unless the membership is live and the key through which the
/// consumer acts, if any, one of its valid keys. Since the request was let in, either may have ended.
pub(super) async fn lock_holder(
    connection: &AsyncPgConnection,
    consumer: ConsumerId,
    acting_key: Option<ApiKeyId>,
) -> Result<Option<KeyReach>, QueryError> {
    let (is_live, reach) = try_join(
        lock_consumer(connection, consumer),
        reach(connection, consumer, acting_key),
    )
    .await?;
    Ok(reach.filter(|_| is_live))
}

/// The lock alone. Says whether the membership is live.
async fn lock_consumer(mut connection: &AsyncPgConnection, consumer: ConsumerId) -> Result<bool, QueryError> {
    // `FOR NO KEY UPDATE` also keeps the membership from being ended meanwhile, but lets rows refer to it.
    let is_live: Option<bool> = memberships::table
        .filter(memberships::id.eq(consumer.as_uuid()))
        .select(memberships::ended_at.is_null())
        .for_no_key_update()
        .get_result(&mut connection)
        .await
        .optional()?;
    Ok(is_live == Some(true))
}

/// Which keys a live consumer reaches, at the moment of asking: nothing is locked.
pub(super) async fn reach(
    connection: &AsyncPgConnection,
    consumer: ConsumerId,
    acting_key: Option<ApiKeyId>,
) -> Result<Option<KeyReach>, QueryError> {
    match acting_key {
        Some(key) => reach_of_key(connection, consumer, key).await,
        None => Ok(Some(KeyReach::All)),
    }
}

/// Who may change a consumer's keys, as far as the consumer's lock tells.
pub(super) struct Changer {
    pub(super) reach: KeyReach,
    /// Whether the consumer may make a change now.
    pub(super) room: Result<(), Throttled>,
}

/// Like [`lock_holder`], for a change that counts: what counts it takes the lock, too, in one statement. A change for
/// which there is no room locks nothing and waits for nobody.
pub(super) async fn lock_changer(
    connection: &AsyncPgConnection,
    consumer: ConsumerId,
    acting_key: Option<ApiKeyId>,
    changes: Rate,
    at: DateTime<Utc>,
) -> Result<Option<Changer>, QueryError> {
    let (room, reach) = try_join(
        count_change(connection, consumer, changes, at),
        reach(connection, consumer, acting_key),
    )
    .await?;
    Ok(room.zip(reach).map(|(room, reach)| Changer { reach, room }))
}

/// Counts a change of a live consumer, if there is room for it.
async fn count_change(
    mut connection: &AsyncPgConnection,
    consumer: ConsumerId,
    changes: Rate,
    at: DateTime<Utc>,
) -> Result<Option<Result<(), Throttled>>, QueryError> {
    let Room { latest, beyond } = changes.room(at);
    let interval = changes.interval();
    let empty_at = memberships::changes_empty_at;
    // What `Rate::take` does. A concurrent change is waited for, and then the conditions are looked at again.
    let count = diesel::update(memberships::table)
        .filter(memberships::id.eq(consumer.as_uuid()))
        .filter(memberships::ended_at.is_null())
        .filter(empty_at.is_null().or(empty_at.le(latest)).or(empty_at.gt(beyond)))
        .set(empty_at.eq(least(
            greatest(empty_at + interval, at + interval),
            latest + interval,
        )));
    let counted = PreparedOnce(count).execute(&mut connection).await?;
    if counted == 1 {
        return Ok(Some(Ok(())));
    }
    let full: Option<Option<DateTime<Utc>>> = memberships::table
        .filter(memberships::id.eq(consumer.as_uuid()))
        .filter(memberships::ended_at.is_null())
        .select(empty_at)
        .get_result(&mut connection)
        .await
        .optional()?;
    // It was full a moment ago. If it is not any more, the wait is over soon.
    let soon = Throttled {
        retry_after: interval,
    };
    Ok(full.map(|empty_at| Err(changes.take(empty_at, at).err().unwrap_or(soon))))
}

/// Likewise which keys a consumer reaches through this key, at the moment of asking: nothing is locked.
async fn reach_of_key(
    mut connection: &AsyncPgConnection,
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
        .get_result(&mut connection)
        .await
        .optional()?;
    Ok(can_manage_keys.map(|can_manage_keys| KeyReach::of_key(key, can_manage_keys)))
}
