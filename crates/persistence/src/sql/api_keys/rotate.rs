//! Rotating a key.

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use keyward_domain::api_key::{ApiKey, RevocationReason};
use keyward_domain::audit::Act;
use keyward_domain::holder::KeyReach;
use keyward_domain::id::ApiKeyId;
use keyward_domain::keys::Repetition;
use keyward_domain::ports::{NewApiKey, NewRotation, RotateKeyError};
use keyward_domain::rate::Rate;
use uuid::Uuid;

use super::super::dialect::{
    Connection, Pipelined, RunQueryDsl, begin_request, begin_unless, lock_keys, pipeline, prepared_once,
    valid_in_chain, write_events,
};
use super::super::schema::api_keys;
use super::add::{
    FirstKey, MAX_TREE_DEPTH, chosen_for_new_keys, created_with, forget_idempotency_keys, insert, repetition,
};
use super::holder::{Changer, changer, lock_changer};
use super::read::{find_row, live_successor};
use super::revoke::revoke_valid;
use super::row::{EndRow, KeyRow};
use crate::abort::Abort;
use crate::columns::StoredId;

pub(super) async fn rotate(
    connection: &mut Connection,
    new: NewRotation,
    changes: Rate,
    act: Act,
) -> Result<ApiKey, Abort<RotateKeyError>> {
    let (consumer, acting_key) = (new.consumer_id, act.actor.api_key());
    let begun = begin_request(connection, consumer, new.idempotency_key).await?;
    let begun = begun.ok_or(refused(RotateKeyError::InProgress))?;
    // Under the lock, no other transaction rotates or revokes keys of this consumer, so a key gets one
    // successor, and another one only after that has ended.
    let ((), changer, first, row, chosen) = pipeline!(
        connection,
        begin_unless(begun, connection),
        lock_changer(connection, consumer, acting_key, changes, act.at),
        created_with(connection, consumer, new.idempotency_key),
        find_row(connection, consumer, new.old_key),
        chosen_for_new_keys(connection, consumer),
    );
    let forgotten = first.as_ref().map(|first| first.id);
    let act = act.at_current_time();
    let mut old = check(&new, changer, first, row, act.at)?;
    let longest = chosen.map(|chosen| chosen.longest_life()).transpose()?.flatten();
    let live = live_successor(connection, &old, act.at).await?;
    let successor = old.rotate(&new, live, longest, &act).map_err(refused)?;
    check_depth(connection, &new, &act).await?;
    let before = match old.rotated_from {
        Some(id) => find_row(connection, consumer, id).await?,
        None => None,
    };
    let before = old
        .rotated_from
        .filter(|_| before.is_some_and(|row| row.is_valid(act.at)));
    let others = [before.map(|id| id.as_uuid()), forgotten.map(|id| id.0)];
    // All at once, in the order in which other changes of several keys lock them.
    let changed: Vec<Uuid> = others.into_iter().flatten().chain([old.id.as_uuid()]).collect();
    lock_keys(connection, &changed).await?;
    if let Some(before) = before {
        revoke_valid(
            connection,
            vec![before.as_uuid()],
            RevocationReason::Rotation,
            None,
            &act,
        )
        .await?;
    }
    if let Some(forgotten) = forgotten {
        forget_idempotency_keys(connection, vec![forgotten]).await?;
    }
    let events = act.rotation_of_key(&old, &successor);
    let new = NewApiKey {
        key: successor,
        organization_decides: false,
        digest: new.digest,
        idempotency_key: new.idempotency_key,
    };
    pipeline!(
        connection,
        insert(connection, &new),
        write_rotation(connection, &old),
        write_events(connection, events),
    );
    Ok(new.key)
}

/// The checks before rotating a key, without a lock.
pub(super) async fn precheck(
    connection: &mut Connection,
    new: NewRotation,
    changes: Rate,
    act: Act,
) -> Result<(), Abort<RotateKeyError>> {
    let (consumer, acting_key) = (new.consumer_id, act.actor.api_key());
    let (changer, first, row) = pipeline!(
        connection,
        changer(connection, consumer, acting_key, changes, act.at),
        created_with(connection, consumer, new.idempotency_key),
        find_row(connection, consumer, new.old_key),
    );
    let mut old = check(&new, changer, first, row, act.at)?;
    let live = live_successor(connection, &old, act.at).await?;
    old.rotate(&new, live, None, &act).map_err(refused)?;
    check_depth(connection, &new, &act).await
}

/// Checks that the maximum depth allows a key below the one that rotates another.
async fn check_depth(
    connection: &mut Connection,
    new: &NewRotation,
    act: &Act,
) -> Result<(), Abort<RotateKeyError>> {
    if let Some(acting) = act.actor.api_key().filter(|acting| *acting != new.old_key)
        && valid_in_chain(connection, new.consumer_id, acting, act.at).await? >= MAX_TREE_DEPTH
    {
        return Err(Abort::Refused(RotateKeyError::TreeTooDeep));
    }
    Ok(())
}

/// The key to rotate.
fn check(
    new: &NewRotation,
    changer: Option<Changer>,
    first: Option<FirstKey>,
    row: Option<KeyRow>,
    at: DateTime<Utc>,
) -> Result<ApiKey, Abort<RotateKeyError>> {
    let changer = changer.filter(|changer| changer.may_act(at));
    let changer = changer.ok_or(Abort::Refused(RotateKeyError::HolderGone))?;
    if changer.reach != KeyReach::All {
        return Err(Abort::Refused(RotateKeyError::MayNotManageKeys));
    }
    let throttled = |throttled| Abort::Refused(RotateKeyError::Throttled(throttled));
    changer.room.map_err(throttled)?;
    let row = row.ok_or(Abort::Refused(RotateKeyError::NotFound))?;
    match repetition(first, new.idempotency_key, at)? {
        Some((id, Repetition::Same)) => return Err(Abort::Refused(RotateKeyError::AlreadyCreated(id))),
        Some((_, Repetition::Different)) => return Err(Abort::Refused(RotateKeyError::IdempotencyKeyReused)),
        Some((_, Repetition::Forgotten)) | None => {}
    }
    Ok(ApiKey::try_from(row)?)
}

fn refused(reason: impl Into<RotateKeyError>) -> Abort<RotateKeyError> {
    Abort::Refused(reason.into())
}

/// The end of the old key, and which one took its place.
async fn write_rotation(mut connection: Pipelined<'_>, old: &ApiKey) -> QueryResult<()> {
    let successor = old.rotated_to.map(|id: ApiKeyId| StoredId(id.as_uuid()));
    let update = diesel::update(
        api_keys::table
            .filter(api_keys::consumer_id.eq(StoredId(old.consumer_id.as_uuid())))
            .filter(api_keys::id.eq(StoredId(old.id.as_uuid()))),
    )
    .set((EndRow::from(old), api_keys::rotated_to_key_id.eq(successor)));
    prepared_once(update).execute(&mut connection).await?;
    Ok(())
}
