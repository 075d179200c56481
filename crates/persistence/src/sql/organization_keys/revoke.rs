//! Revoking many keys, one batch per act.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::prelude::QueryDsl;
use keyward_domain::administration::ports::{KeySelection, RevokeKeysError, RevokedBatch};
use keyward_domain::api_key::{RevocationNote, RevocationReason};
use keyward_domain::audit::Act;
use keyward_domain::id::{ApiKeyId, OrganizationId};
use uuid::Uuid;

use super::super::api_keys::revoke::revoke_valid;
use super::super::authority::lock_authority;
use super::super::dialect::{Connection, Pipelined, RunQueryDsl, begin, listed, lock_consumers, pipeline};
use super::super::due_keys::{record_ends_of_keys, still_due};
use super::super::schema::api_keys;
use super::super::validity::{BEFORE_ALL_ENDS, key_is_valid};
use super::selection::{Selected, consumers_of_keys, due_of_selection, oldest_first};
use crate::abort::Abort;
use crate::columns::StoredId;
use crate::limit;

pub(super) async fn revoke(
    connection: &mut Connection,
    organization: OrganizationId,
    selection: KeySelection,
    at_most: NonZeroU32,
    reason: RevocationReason,
    note: Option<RevocationNote>,
    act: Act,
) -> Result<RevokedBatch, Abort<RevokeKeysError>> {
    let ((), may_administer, consumers) = pipeline!(
        connection,
        begin(connection),
        lock_authority(connection, organization, act.actor, act.at),
        consumers_of(connection, organization, &selection),
    );
    if !may_administer {
        return Err(Abort::Refused(RevokeKeysError::NotAllowed));
    }
    // Under the consumers' locks, no child is added to any of the keys and no other revocation runs until
    // this one is committed. No key of these consumers is added either while the selection is read.
    let ((), (selected, mut first, due)) = pipeline!(
        connection,
        lock_consumers(connection, organization, &consumers),
        select(connection, organization, selection, at_most, act.at),
    );
    let mut locked: BTreeSet<Uuid> = consumers.into_iter().collect();
    let are_all_due = due.len() < left(at_most, &[]);
    if !due.is_empty() {
        record_due(connection, organization, due, &mut locked, &act).await?;
    }
    let mut revoked = Vec::new();
    loop {
        let are_all = first.len() < left(at_most, &revoked);
        let (keys, consumers): (Vec<Uuid>, BTreeSet<Uuid>) = first.into_iter().unzip();
        let found = keys.len();
        let valid = if consumers.is_subset(&locked) {
            keys
        } else {
            // Another transaction may have revoked some keys before the lock; then other selected keys
            // replace them in the batch.
            let of_keys: Vec<Uuid> = consumers.iter().copied().collect();
            let ((), valid) = pipeline!(
                connection,
                lock_consumers(connection, organization, &of_keys),
                still_valid(connection, &keys, act.at),
            );
            locked.extend(consumers);
            valid
        };
        let is_complete_batch = are_all || valid.len() == found;
        if !valid.is_empty() {
            revoked.extend(revoke_valid(connection, valid, reason, note.as_ref(), &act).await?);
        }
        if is_complete_batch {
            return Ok(RevokedBatch {
                keys: revoked,
                is_last: are_all && are_all_due,
            });
        }
        let left = left(at_most, &revoked);
        first = first_of(connection, organization, &selected, left, act.at).await?;
    }
}

/// The consumers to lock because their new keys could match the selection: none for a cut-off time, which
/// lies far enough in the past.
async fn consumers_of(
    connection: Pipelined<'_>,
    organization: OrganizationId,
    selection: &KeySelection,
) -> QueryResult<Vec<Uuid>> {
    match selection {
        KeySelection::Keys { ids, descendants: _ } => consumers_of_keys(connection, organization, ids).await,
        KeySelection::OfConsumer(consumer) => Ok(vec![consumer.as_uuid()]),
        KeySelection::IssuedBefore(_) => Ok(Vec::new()),
    }
}

/// How many more keys fit into the batch.
fn left(at_most: NonZeroU32, revoked: &[ApiKeyId]) -> usize {
    (at_most.get() as usize).saturating_sub(revoked.len())
}

/// Records the due ends of selected keys. Another transaction may have done so before their consumers are
/// locked here.
async fn record_due(
    connection: &mut Connection,
    organization: OrganizationId,
    due: Vec<(Uuid, Uuid)>,
    locked: &mut BTreeSet<Uuid>,
    act: &Act,
) -> QueryResult<()> {
    let (keys, consumers): (Vec<Uuid>, BTreeSet<Uuid>) = due.into_iter().unzip();
    let consumers: Vec<Uuid> = consumers.difference(locked).copied().collect();
    let ((), due) = pipeline!(
        connection,
        lock_consumers(connection, organization, &consumers),
        still_due(connection, &keys, act.at),
    );
    locked.extend(consumers);
    record_ends_of_keys(connection, due, act).await
}

/// The selection, its first valid keys, and its first due keys, each with its consumer.
async fn select(
    connection: Pipelined<'_>,
    organization: OrganizationId,
    selection: KeySelection,
    at_most: NonZeroU32,
    at: DateTime<Utc>,
) -> QueryResult<(Selected, Vec<(Uuid, Uuid)>, Vec<(Uuid, Uuid)>)> {
    let selected = Selected::new(connection, organization, selection, BEFORE_ALL_ENDS).await?;
    let (first, due) = pipeline!(
        connection,
        first_of(connection, organization, &selected, left(at_most, &[]), at),
        first_due(connection, organization, &selected, left(at_most, &[]), at),
    );
    Ok((selected, first, due))
}

/// The first valid keys that are selected, each with its consumer.
async fn first_of(
    mut connection: Pipelined<'_>,
    organization: OrganizationId,
    selected: &Selected,
    at_most: usize,
    at: DateTime<Utc>,
) -> QueryResult<Vec<(Uuid, Uuid)>> {
    let rows: Vec<(StoredId, StoredId)> = oldest_first(organization, selected, at)
        .limit(limit::at_most(at_most))
        .select((api_keys::id, api_keys::consumer_id))
        .load(&mut connection)
        .await?;
    Ok(rows
        .into_iter()
        .map(|(key, consumer)| (key.0, consumer.0))
        .collect())
}

/// The first selected keys whose planned end has come and is not recorded, locked in the same way.
async fn first_due(
    mut connection: Pipelined<'_>,
    organization: OrganizationId,
    selected: &Selected,
    at_most: usize,
    at: DateTime<Utc>,
) -> QueryResult<Vec<(Uuid, Uuid)>> {
    let rows: Vec<(StoredId, StoredId)> = api_keys::table
        .filter(due_of_selection(organization, selected, at))
        .order((api_keys::revoked_at, api_keys::id))
        .limit(limit::at_most(at_most))
        .select((api_keys::id, api_keys::consumer_id))
        .load(&mut connection)
        .await?;
    Ok(rows
        .into_iter()
        .map(|(key, consumer)| (key.0, consumer.0))
        .collect())
}

async fn still_valid(
    mut connection: Pipelined<'_>,
    keys: &[Uuid],
    at: DateTime<Utc>,
) -> QueryResult<Vec<Uuid>> {
    let rows: Vec<StoredId> = api_keys::table
        .filter(listed(keys.iter().copied()))
        .filter(key_is_valid(at.into()))
        .order(api_keys::id)
        .select(api_keys::id)
        .load(&mut connection)
        .await?;
    Ok(rows.into_iter().map(|key| key.0).collect())
}
