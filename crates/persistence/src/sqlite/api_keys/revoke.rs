//! Revoking a key, alone or with its descendants.

use std::convert::Infallible;

use diesel::dsl::exists;
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SqliteConnection};
use diesel::{OptionalExtension, QueryResult};
use keyward_domain::api_key::{KeyPrecondition, RevocationNote, RevocationReason};
use keyward_domain::audit::{Act, Action, Subject};
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::ports::{DescendantKeys, RevokeKeyError};
use uuid::Uuid;

use super::holder::reach_of_holder;
use super::lineage::valid_from;
use super::read::find;
use crate::abort::Abort;
use crate::actor;
use crate::columns::StoredId;
use crate::looked::Looked;
use crate::sqlite::audit_log::write_events;
use crate::sqlite::organization_keys::selection::listed;
use crate::sqlite::schema::api_keys;

pub(super) fn revoke(
    connection: &mut SqliteConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
    reason: RevocationReason,
    descendants: DescendantKeys,
    precondition: KeyPrecondition,
    act: Act,
) -> Result<Vec<ApiKeyId>, Abort<RevokeKeyError>> {
    // A membership that has ended is no obstacle to whoever acts in person: its keys can still be revoked.
    let acting_key = act.actor.api_key();
    let reach = reach_of_holder(connection, consumer, acting_key)?;
    if acting_key.is_some() {
        let reach = reach.ok_or(Abort::Refused(RevokeKeyError::HolderGone))?;
        if !reach.includes(id) {
            return Err(Abort::Refused(RevokeKeyError::NotFound));
        }
    }
    let targets: Vec<Uuid> = match descendants {
        DescendantKeys::Keep => vec![id.as_uuid()],
        DescendantKeys::Revoke => valid_from(connection, &[StoredId(consumer.as_uuid())], &[id.as_uuid()])?,
    };
    // The first revocation stays as it is.
    let valid: Vec<StoredId> = api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(api_keys::revoked_at.is_null())
        .filter(listed(targets.into_iter()))
        .order(api_keys::id)
        .select(api_keys::id)
        .load(connection)?;
    if valid.is_empty() {
        return if key_exists(connection, consumer, id)? {
            Ok(Vec::new())
        } else {
            Err(Abort::Refused(RevokeKeyError::NotFound))
        };
    }
    if !meets(connection, consumer, id, &precondition)? {
        return Err(Abort::Refused(RevokeKeyError::PreconditionFailed));
    }
    Ok(revoke_valid(connection, &valid, reason, None, &act)?)
}

/// Revokes valid keys, and tells of each.
pub(in crate::sqlite) fn revoke_valid(
    connection: &mut SqliteConnection,
    keys: &[StoredId],
    reason: RevocationReason,
    note: Option<&RevocationNote>,
    act: &Act,
) -> QueryResult<Vec<ApiKeyId>> {
    let (by_kind, by_id) = actor::to_columns(act.actor);
    // SQLite takes 32,766 parameters in one statement.
    const AT_ONCE: usize = 10_000;
    for chunk in keys.chunks(AT_ONCE) {
        diesel::update(api_keys::table.filter(api_keys::id.eq_any(chunk.iter().copied())))
            .set((
                api_keys::revoked_at.eq(act.at.timestamp_millis()),
                api_keys::revoked_by_kind.eq(by_kind),
                api_keys::revoked_by_id.eq(by_id.map(StoredId)),
                api_keys::revoked_reason.eq(reason.as_str()),
                api_keys::revoked_note.eq(note.map(RevocationNote::as_str)),
            ))
            .execute(connection)?;
    }
    let revoked: Vec<ApiKeyId> = keys.iter().map(|id| ApiKeyId::from_uuid(id.0)).collect();
    let events = revoked
        .iter()
        .map(|key| act.event(Action::RevokeApiKey, Subject::ApiKey(*key)))
        .collect();
    write_events(connection, events)?;
    Ok(revoked)
}

/// What can be told without the write lock: that the key acts no more, that there is no such key, or that neither it nor
/// anything that came from it is valid. Each stays true for ever, since none is made below a key that is not valid.
pub(super) fn look_at_tree(
    connection: &mut SqliteConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
    acting_key: Option<ApiKeyId>,
) -> Result<Looked, Abort<Infallible>> {
    if acting_key.is_some() {
        match reach_of_holder(connection, consumer, acting_key)? {
            Some(reach) if reach.includes(id) => {}
            Some(_) => return Ok(Looked::NotFound),
            None => return Ok(Looked::HolderGone),
        }
    }
    let is_valid: Option<bool> = api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(api_keys::id.eq(StoredId(id.as_uuid())))
        .select(api_keys::revoked_at.is_null())
        .get_result(connection)
        .optional()?;
    match is_valid {
        None => Ok(Looked::NotFound),
        Some(true) => Ok(Looked::SomethingToRevoke),
        Some(false) => {
            let valid = valid_from(connection, &[StoredId(consumer.as_uuid())], &[id.as_uuid()])?;
            Ok(Looked::of_valid(&valid))
        }
    }
}

/// Whether a key that exists meets a precondition. It is read only if that matters.
fn meets<E>(
    connection: &mut SqliteConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
    precondition: &KeyPrecondition,
) -> Result<bool, Abort<E>> {
    if *precondition == KeyPrecondition::AnyVersion {
        return Ok(true);
    }
    let key = find(connection, consumer, id).map_err(Abort::widen)?;
    Ok(key.is_some_and(|key| precondition.is_met_by(&key)))
}

fn key_exists(
    connection: &mut SqliteConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
) -> Result<bool, diesel::result::Error> {
    diesel::select(exists(
        api_keys::table
            .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
            .filter(api_keys::id.eq(StoredId(id.as_uuid()))),
    ))
    .get_result(connection)
}
