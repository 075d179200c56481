//! Revoking a key, alone or with its descendants.

use std::convert::Infallible;

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use keyward_domain::api_key::{ApiKey, KeyPrecondition, RevocationCause, RevocationNote, RevocationReason};
use keyward_domain::audit::{Act, Action, Subject};
use keyward_domain::id::{ApiKeyId, MembershipId};
use keyward_domain::ports::{DescendantKeys, RevokeKeyError, StorageError};
use uuid::Uuid;

use super::super::dialect::{
    Connection, Pipelined, RunQueryDsl, begin, commits_wait_for_standbys, listed, lock_keys, pipeline,
    prepared_once, valid_from, write_events,
};
use super::super::due_keys::{DueKey, due_of, record_ends_of_keys};
use super::super::schema::api_keys;
use super::super::validity::BEFORE_ALL_ENDS;
use super::holder::{lock_holder, reach};
use super::read::find_row;
use super::row::KeyRow;
use crate::abort::Abort;
use crate::columns::{StoredId, StoredMoment};

pub(super) async fn revoke(
    connection: &mut Connection,
    consumer: MembershipId,
    id: ApiKeyId,
    cause: RevocationCause,
    descendants: DescendantKeys,
    precondition: KeyPrecondition,
    act: Act,
) -> Result<Vec<ApiKeyId>, Abort<RevokeKeyError>> {
    // Under the lock, no child is added to any of these keys and no other revocation runs until this one is
    // committed. A person may also revoke keys of an ended membership.
    let acting_key = act.actor.api_key();
    let ((), reach, row, tree) = pipeline!(
        connection,
        begin(connection),
        lock_holder(connection, consumer, acting_key, act.at),
        find_row(connection, consumer, id),
        tree(connection, consumer, id, descendants, act.at),
    );
    if acting_key.is_some() {
        let reach = reach.ok_or(Abort::Refused(RevokeKeyError::HolderGone))?;
        if !reach.includes(id) {
            return Err(Abort::Refused(RevokeKeyError::NotFound));
        }
    }
    let row = row.ok_or(Abort::Refused(RevokeKeyError::NotFound))?;
    // A key that is already revoked keeps its first revocation.
    let keys = match descendants {
        DescendantKeys::Keep if row.is_valid(act.at) => NotEnded::of_valid(id),
        DescendantKeys::Keep if row.is_due(act.at) => {
            let due = due_of(connection, consumer, act.at).await?;
            NotEnded::new(vec![id.as_uuid()], due)
        }
        DescendantKeys::Keep => NotEnded::default(),
        DescendantKeys::Revoke => tree,
    };
    if !keys.valid.is_empty() && !is_met(&precondition, row)? {
        return Err(Abort::Refused(RevokeKeyError::PreconditionFailed));
    }
    Ok(end_keys(connection, keys, cause.reason, cause.note.as_ref(), &act).await?)
}

/// Keys that are not recorded as ended.
#[derive(Default)]
pub(crate) struct NotEnded {
    pub(crate) valid: Vec<Uuid>,
    /// Keys whose planned end has come.
    pub(crate) due: Vec<DueKey>,
}

impl NotEnded {
    /// Divides keys that are not recorded as ended by whether they are among the consumer's due keys.
    fn new(mut keys: Vec<Uuid>, mut due: Vec<DueKey>) -> Self {
        due.retain(|due| keys.contains(&due.id));
        keys.retain(|key| due.iter().all(|due| due.id != *key));
        Self { valid: keys, due }
    }

    fn of_valid(id: ApiKeyId) -> Self {
        Self::new(vec![id.as_uuid()], Vec::new())
    }
}

async fn tree(
    connection: Pipelined<'_>,
    consumer: MembershipId,
    id: ApiKeyId,
    descendants: DescendantKeys,
    at: DateTime<Utc>,
) -> QueryResult<NotEnded> {
    match descendants {
        DescendantKeys::Keep => Ok(NotEnded::default()),
        DescendantKeys::Revoke => {
            let (consumers, roots) = ([consumer.as_uuid()], [id.as_uuid()]);
            let (keys, due) = pipeline!(
                connection,
                valid_from(connection, &consumers, &roots, BEFORE_ALL_ENDS),
                due_of(connection, consumer, at),
            );
            Ok(NotEnded::new(keys, due))
        }
    }
}

/// Whether a key meets a precondition. The row is parsed only if the precondition needs it.
fn is_met(precondition: &KeyPrecondition, row: KeyRow) -> Result<bool, StorageError> {
    match precondition {
        KeyPrecondition::AnyVersion => Ok(true),
        precondition => Ok(precondition.is_met_by(&ApiKey::try_from(row)?)),
    }
}

/// Revokes keys that are valid, and records that the planned ends of the others have come, with an event for
/// each. Returns those that are revoked. Their consumers MUST be locked, so that no other revocation runs.
pub(crate) async fn end_keys(
    connection: Pipelined<'_>,
    keys: NotEnded,
    reason: RevocationReason,
    note: Option<&RevocationNote>,
    act: &Act,
) -> QueryResult<Vec<ApiKeyId>> {
    let NotEnded { valid, due } = keys;
    let all: Vec<Uuid> = due
        .iter()
        .map(|due| due.id)
        .chain(valid.iter().copied())
        .collect();
    let ((), (), revoked) = pipeline!(
        connection,
        // Before the first of them is changed, so that all are locked in the order that prevents deadlocks.
        lock_keys(connection, &all),
        record_ends_of_keys(connection, due, act),
        revoke_valid(connection, valid, reason, note, act),
    );
    Ok(revoked)
}

/// Revokes valid keys and writes an event for each. They MUST be locked if there are several.
pub(super) async fn revoke_valid(
    connection: Pipelined<'_>,
    keys: Vec<Uuid>,
    reason: RevocationReason,
    note: Option<&RevocationNote>,
    act: &Act,
) -> QueryResult<Vec<ApiKeyId>> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let events = keys.iter().map(|key| {
        let key = ApiKeyId::from_uuid(*key);
        act.event(Action::RevokeApiKey, Subject::ApiKey(key))
    });
    pipeline!(
        connection,
        write_revocation(connection, &keys, reason, note, act),
        write_events(connection, events.collect()),
    );
    Ok(keys.into_iter().map(ApiKeyId::from_uuid).collect())
}

pub(crate) async fn write_revocation(
    mut connection: Pipelined<'_>,
    keys: &[Uuid],
    reason: RevocationReason,
    note: Option<&RevocationNote>,
    act: &Act,
) -> QueryResult<()> {
    let (by_kind, by_id) = (act.actor.kind(), act.actor.id());
    let update = diesel::update(api_keys::table.filter(listed(keys.iter().copied()))).set((
        api_keys::revoked_at.eq(StoredMoment::from(act.at)),
        api_keys::end_came_at.eq(StoredMoment::from(act.at)),
        api_keys::revoked_by_kind.eq(by_kind),
        api_keys::revoked_by_id.eq(by_id.map(StoredId)),
        api_keys::revoked_reason.eq(reason.as_str()),
        api_keys::revoked_note.eq(note.map(RevocationNote::as_str)),
    ));
    prepared_once(update).execute(&mut connection).await?;
    Ok(())
}

/// The answer, if it is known without a lock: the acting key is no longer valid, the key does not exist, or
/// it and all its descendants are recorded as ended. None of these can change later, because no key is added
/// below a revoked one. `None` if the valid keys must be read again under the lock.
pub(super) async fn precheck_tree(
    connection: &mut Connection,
    consumer: MembershipId,
    id: ApiKeyId,
    acting_key: Option<ApiKeyId>,
    at: DateTime<Utc>,
) -> Result<Option<Result<Vec<ApiKeyId>, RevokeKeyError>>, Abort<Infallible>> {
    let (reach, row) = pipeline!(
        connection,
        reach(connection, consumer, acting_key, at),
        find_row(connection, consumer, id),
    );
    let row = match (reach, row) {
        (None, _) => return Ok(Some(Err(RevokeKeyError::HolderGone))),
        (Some(reach), Some(row)) if reach.includes(id) => row,
        (Some(_), _) => return Ok(Some(Err(RevokeKeyError::NotFound))),
    };
    if row.is_valid(BEFORE_ALL_ENDS) {
        return Ok(None);
    }
    let (consumers, roots) = ([consumer.as_uuid()], [id.as_uuid()]);
    let (not_ended, may_be_lost) = pipeline!(
        connection,
        valid_from(connection, &consumers, &roots, BEFORE_ALL_ENDS),
        commits_wait_for_standbys(connection),
    );
    // The commit of a lock waits for the standbys, and so for the revocations before it.
    Ok((not_ended.is_empty() && !may_be_lost).then_some(Ok(Vec::new())))
}
