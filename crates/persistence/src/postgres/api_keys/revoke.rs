//! Revoking a key, alone or with its descendants.

use std::convert::Infallible;

use diesel::QueryResult;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::{try_join, try_join3, try_join4};
use keyward_domain::api_key::{ApiKey, KeyPrecondition, RevocationNote, RevocationReason};
use keyward_domain::audit::{Act, Action, Subject};
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::ports::{DescendantKeys, RevokeKeyError, StorageError};
use uuid::Uuid;

use super::holder::{lock_holder, reach};
use super::lineage::valid_from;
use super::read::find_row;
use super::row::KeyRow;
use crate::abort::Abort;
use crate::actor;
use crate::looked::Looked;
use crate::postgres::audit_log::write_events;
use crate::postgres::change::begin;
use crate::postgres::prepared_once::PreparedOnce;
use crate::postgres::schema::api_keys;

pub(super) async fn revoke(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
    reason: RevocationReason,
    descendants: DescendantKeys,
    precondition: KeyPrecondition,
    act: Act,
) -> Result<Vec<ApiKeyId>, Abort<RevokeKeyError>> {
    // No child is born to any of these keys, and no other revocation comes between, until this one is committed. A
    // membership that has ended is no obstacle to whoever acts in person: its keys can still be revoked.
    let acting_key = act.actor.api_key();
    let at_once: &AsyncPgConnection = connection;
    let ((), reach, row, below) = try_join4(
        begin(at_once),
        lock_holder(at_once, consumer, acting_key),
        find_row(at_once, consumer, id),
        valid_below(at_once, consumer, id, descendants),
    )
    .await?;
    if acting_key.is_some() {
        let reach = reach.ok_or(Abort::Refused(RevokeKeyError::HolderGone))?;
        if !reach.includes(id) {
            return Err(Abort::Refused(RevokeKeyError::NotFound));
        }
    }
    let row = row.ok_or(Abort::Refused(RevokeKeyError::NotFound))?;
    // The first revocation stays as it is.
    let valid = match descendants {
        DescendantKeys::Keep if row.is_valid() => vec![id.as_uuid()],
        DescendantKeys::Keep => Vec::new(),
        DescendantKeys::Revoke => below,
    };
    if valid.is_empty() {
        return Ok(Vec::new());
    }
    if !is_met(&precondition, row)? {
        return Err(Abort::Refused(RevokeKeyError::PreconditionFailed));
    }
    Ok(revoke_valid(connection, valid, reason, None, &act).await?)
}

async fn valid_below(
    connection: &AsyncPgConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
    descendants: DescendantKeys,
) -> QueryResult<Vec<Uuid>> {
    match descendants {
        DescendantKeys::Keep => Ok(Vec::new()),
        DescendantKeys::Revoke => valid_from(connection, &[consumer.as_uuid()], &[id.as_uuid()]).await,
    }
}

/// Whether a key meets a precondition. What its row says is read only if that matters.
fn is_met(precondition: &KeyPrecondition, row: KeyRow) -> Result<bool, StorageError> {
    match precondition {
        KeyPrecondition::AnyVersion => Ok(true),
        precondition => Ok(precondition.is_met_by(&ApiKey::try_from(row)?)),
    }
}

/// Revokes valid keys, and tells of each. No other revocation may come between: their consumers are locked.
pub(in crate::postgres) async fn revoke_valid(
    connection: &AsyncPgConnection,
    keys: Vec<Uuid>,
    reason: RevocationReason,
    note: Option<&RevocationNote>,
    act: &Act,
) -> QueryResult<Vec<ApiKeyId>> {
    let events = keys.iter().map(|key| {
        let key = ApiKeyId::from_uuid(*key);
        act.event(Action::RevokeApiKey, Subject::ApiKey(key))
    });
    try_join3(
        lock_in_order(connection, &keys),
        write_revocation(connection, &keys, reason, note, act),
        write_events(connection, events.collect()),
    )
    .await?;
    Ok(keys.into_iter().map(ApiKeyId::from_uuid).collect())
}

/// Locks keys in the order of their identifiers: when they were last used is written at any time, and several keys at once
/// are locked in that order there, too.
async fn lock_in_order(mut connection: &AsyncPgConnection, keys: &[Uuid]) -> QueryResult<()> {
    if keys.len() > 1 {
        api_keys::table
            .filter(api_keys::id.eq_any(keys))
            .order(api_keys::id)
            .select(api_keys::id)
            .for_no_key_update()
            .load::<Uuid>(&mut connection)
            .await?;
    }
    Ok(())
}

async fn write_revocation(
    mut connection: &AsyncPgConnection,
    keys: &[Uuid],
    reason: RevocationReason,
    note: Option<&RevocationNote>,
    act: &Act,
) -> QueryResult<()> {
    let (by_kind, by_id) = actor::to_columns(act.actor);
    let update = diesel::update(api_keys::table.filter(api_keys::id.eq_any(keys))).set((
        api_keys::revoked_at.eq(act.at),
        api_keys::revoked_by_kind.eq(by_kind),
        api_keys::revoked_by_id.eq(by_id),
        api_keys::revoked_reason.eq(reason.as_str()),
        api_keys::revoked_note.eq(note.map(RevocationNote::as_str)),
    ));
    PreparedOnce(update).execute(&mut connection).await?;
    Ok(())
}

/// What can be told without a lock: that the key acts no more, that there is no such key, or that neither it nor anything
/// that came from it is valid. Each stays true for ever, since none is made below a key that is not valid.
pub(super) async fn look_at_tree(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
    acting_key: Option<ApiKeyId>,
) -> Result<Looked, Abort<Infallible>> {
    let at_once: &AsyncPgConnection = connection;
    let (reach, row) = try_join(
        reach(at_once, consumer, acting_key),
        find_row(at_once, consumer, id),
    )
    .await?;
    match reach {
        Some(reach) if reach.includes(id) => {}
        Some(_) => return Ok(Looked::NotFound),
        None => return Ok(Looked::HolderGone),
    }
    match row.map(|row| row.is_valid()) {
        None => Ok(Looked::NotFound),
        Some(true) => Ok(Looked::SomethingToRevoke),
        Some(false) => {
            let valid = valid_from(connection, &[consumer.as_uuid()], &[id.as_uuid()]).await?;
            Ok(Looked::of_valid(&valid))
        }
    }
}
