//! Revoking many keys, one batch per act.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::prelude::QueryDsl;
use keyward_domain::administration::ports::{KeySelection, RevokeKeysError, RevokedBatch};
use keyward_domain::api_key::{RevocationNote, RevocationReason};
use keyward_domain::audit::Act;
use keyward_domain::id::OrganizationId;
use uuid::Uuid;

use super::super::api_keys::revoke::{NotEnded, end_keys};
use super::super::authority::lock_authority;
use super::super::dialect::{Connection, Pipelined, RunQueryDsl, begin, lock_consumers, pipeline};
use super::super::due_keys::{DueKey, StoredDueKey};
use super::super::schema::api_keys;
use super::super::validity::BEFORE_ALL_ENDS;
use super::selection::{Selected, consumers_of_keys, due_of_selection, oldest_first};
use crate::abort::Abort;
use crate::columns::StoredId;

pub(super) async fn revoke(
    connection: &mut Connection,
    organization: OrganizationId,
    selection: KeySelection,
    at_most: NonZeroU32,
    reason: RevocationReason,
    note: Option<RevocationNote>,
    act: Act,
) -> Result<RevokedBatch, Abort<RevokeKeysError>> {
    let ((), act, consumers) = pipeline!(
        connection,
        begin(connection),
        lock_authority(connection, organization, act),
        consumers_of(connection, organization, &selection),
    );
    let act = act.ok_or(Abort::Refused(RevokeKeysError::NotAllowed))?;
    // Under the consumers' locks, no child is added to any of the keys and no other revocation runs until
    // this one is committed. No key of these consumers is added either while the selection is read.
    let ((), (selected, mut batch)) = pipeline!(
        connection,
        lock_consumers(connection, organization, &consumers),
        select(connection, organization, selection, at_most, act.at),
    );
    let mut locked: BTreeSet<Uuid> = consumers.into_iter().collect();
    // Another transaction may have ended some keys before their consumers are locked; then other selected
    // keys, maybe of other consumers, replace them in the batch.
    loop {
        let missing: Vec<Uuid> = batch.consumers.difference(&locked).copied().collect();
        if missing.is_empty() {
            break;
        }
        ((), batch) = pipeline!(
            connection,
            lock_consumers(connection, organization, &missing),
            first_of(connection, organization, &selected, at_most, act.at),
        );
        locked.extend(missing);
    }
    Ok(RevokedBatch {
        is_last: batch.is_last,
        keys: end_keys(connection, batch.keys, reason, note.as_ref(), &act).await?,
    })
}

/// Keys to end at once.
struct Batch {
    keys: NotEnded,
    consumers: BTreeSet<Uuid>,
    /// No other selected keys are left.
    is_last: bool,
}

/// The consumers to lock because their new keys could match the selection: none for a cut-off time, which
/// lies far enough in the past; those of keys found are locked then.
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

/// The selection, and its first keys.
async fn select(
    connection: Pipelined<'_>,
    organization: OrganizationId,
    selection: KeySelection,
    at_most: NonZeroU32,
    at: DateTime<Utc>,
) -> QueryResult<(Selected, Batch)> {
    let selected = Selected::new(connection, organization, selection, BEFORE_ALL_ENDS).await?;
    let first = first_of(connection, organization, &selected, at_most, at).await?;
    Ok((selected, first))
}

/// The first selected keys that are valid, and the first that are due.
async fn first_of(
    connection: Pipelined<'_>,
    organization: OrganizationId,
    selected: &Selected,
    at_most: NonZeroU32,
    at: DateTime<Utc>,
) -> QueryResult<Batch> {
    let (valid, due) = pipeline!(
        connection,
        first_valid(connection, organization, selected, at_most, at),
        first_due(connection, organization, selected, at_most, at),
    );
    let is_last = valid.len().max(due.len()) < at_most.get() as usize;
    let (valid, of_valid): (Vec<Uuid>, Vec<Uuid>) = valid.into_iter().unzip();
    let (due, of_due): (Vec<DueKey>, Vec<Uuid>) = due.into_iter().unzip();
    Ok(Batch {
        keys: NotEnded { valid, due },
        consumers: of_valid.into_iter().chain(of_due).collect(),
        is_last,
    })
}

/// The first valid keys that are selected, each with its consumer.
async fn first_valid(
    mut connection: Pipelined<'_>,
    organization: OrganizationId,
    selected: &Selected,
    at_most: NonZeroU32,
    at: DateTime<Utc>,
) -> QueryResult<Vec<(Uuid, Uuid)>> {
    let rows: Vec<(StoredId, StoredId)> = oldest_first(organization, selected, at)
        .limit(i64::from(at_most.get()))
        .select((api_keys::id, api_keys::consumer_id))
        .load(&mut connection)
        .await?;
    Ok(rows
        .into_iter()
        .map(|(key, consumer)| (key.0, consumer.0))
        .collect())
}

/// The first selected keys whose planned end has come and is not recorded, each with its consumer.
async fn first_due(
    mut connection: Pipelined<'_>,
    organization: OrganizationId,
    selected: &Selected,
    at_most: NonZeroU32,
    at: DateTime<Utc>,
) -> QueryResult<Vec<(DueKey, Uuid)>> {
    let rows: Vec<(StoredDueKey, StoredId)> = api_keys::table
        .filter(due_of_selection(organization, selected, at))
        .order((api_keys::revoked_at, api_keys::id))
        .limit(i64::from(at_most.get()))
        .select((
            (api_keys::id, api_keys::organization_id, api_keys::revoked_at),
            api_keys::consumer_id,
        ))
        .load(&mut connection)
        .await?;
    Ok(rows
        .into_iter()
        .map(|(key, consumer)| (DueKey::from(key), consumer.0))
        .collect())
}
