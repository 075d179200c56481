//! Revoking a key, alone or with its descendants.

use std::convert::Infallible;

use diesel::dsl::exists;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel::{OptionalExtension, QueryResult};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::api_key::{KeyPrecondition, RevocationNote, RevocationReason};
use keyward_domain::audit::{Act, Action, Subject};
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::ports::{DescendantKeys, RevokeKeyError};
use uuid::Uuid;

use super::holder::{lock_holder, reach_of_key};
use super::lineage::valid_from;
use super::read::find;
use crate::abort::Abort;
use crate::actor;
use crate::looked::Looked;
use crate::postgres::audit_log::write_events;
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
    let reach = lock_holder(connection, consumer, acting_key).await?;
    if acting_key.is_some() {
        let reach = reach.ok_or(Abort::Refused(RevokeKeyError::HolderGone))?;
        if !reach.includes(id) {
            return Err(Abort::Refused(RevokeKeyError::NotFound));
        }
    }
    let targets: Vec<Uuid> = match descendants {
        DescendantKeys::Keep => vec![id.as_uuid()],
        DescendantKeys::Revoke => valid_from(connection, &[consumer.as_uuid()], &[id.as_uuid()]).await?,
    };
    // The first revocation stays as it is.
    let valid: Vec<Uuid> = api_keys::table
        .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
        .filter(api_keys::revoked_at.is_null())
        .filter(api_keys::id.eq_any(targets))
        .order(api_keys::id)
        .select(api_keys::id)
        .for_no_key_update()
        .load(connection)
        .await?;
    if valid.is_empty() {
        return if key_exists(connection, consumer, id).await? {
            Ok(Vec::new())
        } else {
            Err(Abort::Refused(RevokeKeyError::NotFound))
        };
    }
    if !meets(connection, consumer, id, &precondition).await? {
        return Err(Abort::Refused(RevokeKeyError::PreconditionFailed));
    }
    Ok(revoke_locked(connection, valid, reason, None, &act).await?)
}

/// Revokes valid keys, and tells of each. They must be locked, in the order of their identifiers: when they were last
/// used is written at any time, and several keys at once are locked in that order there, too.
pub(in crate::postgres) async fn revoke_locked(
    connection: &mut AsyncPgConnection,
    keys: Vec<Uuid>,
    reason: RevocationReason,
    note: Option<&RevocationNote>,
    act: &Act,
) -> QueryResult<Vec<ApiKeyId>> {
    let (by_kind, by_id) = actor::to_columns(act.actor);
    diesel::update(api_keys::table.filter(api_keys::id.eq_any(&keys)))
        .set((
            api_keys::revoked_at.eq(act.at),
            api_keys::revoked_by_kind.eq(by_kind),
            api_keys::revoked_by_id.eq(by_id),
            api_keys::revoked_reason.eq(reason.as_str()),
            api_keys::revoked_note.eq(note.map(RevocationNote::as_str)),
        ))
        .execute(connection)
        .await?;
    let revoked: Vec<ApiKeyId> = keys.into_iter().map(ApiKeyId::from_uuid).collect();
    let events = revoked
        .iter()
        .map(|key| act.event(Action::RevokeApiKey, Subject::ApiKey(*key)))
        .collect();
    write_events(connection, events).await?;
    Ok(revoked)
}

/// What can be told without a lock: that the key acts no more, that there is no such key, or that neither it nor anything
/// that came from it is valid. Each stays true for ever, since none is made below a key that is not valid.
pub(super) async fn look_at_tree(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
    acting_key: Option<ApiKeyId>,
) -> Result<Looked, Abort<Infallible>> {
    if let Some(key) = acting_key {
        match reach_of_key(connection, consumer, key).await? {
            Some(reach) if reach.includes(id) => {}
            Some(_) => return Ok(Looked::NotFound),
            None => return Ok(Looked::HolderGone),
        }
    }
    let is_valid: Option<bool> = api_keys::table
        .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
        .filter(api_keys::id.eq(id.as_uuid()))
        .select(api_keys::revoked_at.is_null())
        .get_result(connection)
        .await
        .optional()?;
    match is_valid {
        None => Ok(Looked::NotFound),
        Some(true) => Ok(Looked::SomethingToRevoke),
        Some(false) => {
            let valid = valid_from(connection, &[consumer.as_uuid()], &[id.as_uuid()]).await?;
            Ok(Looked::of_valid(&valid))
        }
    }
}

/// Whether a key that exists meets a precondition. It is read only if that matters.
async fn meets<E>(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
    precondition: &KeyPrecondition,
) -> Result<bool, Abort<E>> {
    if *precondition == KeyPrecondition::AnyVersion {
        return Ok(true);
    }
    let key = find(connection, consumer, id).await.map_err(Abort::widen)?;
    Ok(key.is_some_and(|key| precondition.is_met_by(&key)))
}

async fn key_exists(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
) -> Result<bool, diesel::result::Error> {
    diesel::select(exists(
        api_keys::table
            .filter(api_keys::consumer_id.eq(consumer.as_uuid()))
            .filter(api_keys::id.eq(id.as_uuid())),
    ))
    .get_result(connection)
    .await
}
