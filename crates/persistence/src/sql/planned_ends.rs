//! Recording planned ends that have come.
//!
//! One server at a time does so. It skips consumers and organizations that another transaction has locked,
//! and records their ends in a later run: the search for due ends itself skips them, so that however many are due
//! there, they keep no other end from being found. Reads of those that it has locked stay true until the end of the
//! transaction.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::dsl::exists;
use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, QueryDsl, SelectableHelper,
};
use keyward_domain::api_key::RevocationReason;
use keyward_domain::audit::Act;
use keyward_domain::id::{ApiKeyId, OrganizationId};
use keyward_domain::planned_ends::ports::PlannedEndStore;
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use super::api_keys::revoke::write_revocation;
use super::dialect::{
    Connection, RunQueryDsl, Store, begin, first_unlocked, listed, lock_keys, locked, pipeline, retention,
    write_events,
};
use super::due_keys::{DueKey, StoredDueKey, record_ends_of_keys};
use super::end_of_membership::record_ends_of_memberships;
use super::locked_member::LockedMember;
use super::schema::{api_keys, memberships, organizations};
use super::validity::{aliased_key_is_valid, key_ends_on_first_use, key_is_due, membership_is_due};
use crate::abort::Abort;
use crate::claim::Claim;
use crate::columns::StoredId;
use crate::limit::to_u32;
use crate::retention::AdvisoryLock;

/// Keys that end on the first use of their successors, which were used and are valid.
macro_rules! replaced_keys {
    ($at:expr) => {{
        let successors = diesel::alias!(api_keys as successors);
        let successor = successors
            .filter(
                successors
                    .field(api_keys::id)
                    .nullable()
                    .eq(api_keys::rotated_to_key_id),
            )
            .filter(successors.field(api_keys::last_used_at).is_not_null())
            .filter(aliased_key_is_valid!(successors, $at));
        api_keys::table
            .filter(key_ends_on_first_use($at.into()))
            .filter(exists(successor))
    }};
}

#[async_trait]
impl PlannedEndStore for Store {
    async fn has_due(&self, now: DateTime<Utc>) -> Result<bool, StorageError> {
        read!(self, |connection| {
            let has_due_key = exists(api_keys::table.filter(key_is_due(now.into())));
            let has_due_membership = exists(memberships::table.filter(membership_is_due(now.into())));
            let has_replaced_key = exists(replaced_keys!(now));
            let has_due: bool = diesel::select(has_due_key.or(has_due_membership).or(has_replaced_key))
                .get_result(connection)
                .await?;
            Ok(has_due)
        })
    }

    async fn record_ends_of_keys(&self, at_most: u32, act: Act) -> Result<u32, StorageError> {
        self.change_that_begins(Claim::Nothing, move |connection| {
            Box::pin(record_some_of_keys(connection, at_most, act))
        })
        .await
    }

    async fn end_rotated_keys(&self, at_most: u32, act: Act) -> Result<u32, StorageError> {
        self.change_that_begins(Claim::Nothing, move |connection| {
            Box::pin(end_some_rotated_keys(connection, at_most, act))
        })
        .await
    }

    async fn record_ends_of_memberships(&self, at_most: u32, act: Act) -> Result<u32, StorageError> {
        self.change_that_begins(Claim::Nothing, move |connection| {
            Box::pin(record_some_of_memberships(connection, at_most, act))
        })
        .await
    }
}

async fn record_some_of_keys(
    connection: &mut Connection,
    at_most: u32,
    act: Act,
) -> Result<u32, Abort<StorageError>> {
    if !begin_batch(connection).await? {
        return Ok(0);
    }
    let found = api_keys::table
        .inner_join(memberships::table)
        .filter(key_is_due(act.at.into()))
        .order((api_keys::revoked_at, api_keys::id))
        .select(api_keys::id);
    let found: Vec<StoredId> = first_unlocked!(found, memberships, i64::from(at_most))
        .load(connection)
        .await?;
    if found.is_empty() {
        return Ok(0);
    }
    // Again, because they were found before their consumers were locked.
    let due: Vec<StoredDueKey> = api_keys::table
        .filter(listed(found.into_iter().map(|key| key.0)))
        .filter(key_is_due(act.at.into()))
        .select((api_keys::id, api_keys::organization_id, api_keys::revoked_at))
        .load(connection)
        .await?;
    let due: Vec<DueKey> = due.into_iter().map(DueKey::from).collect();
    let recorded = due.len();
    record_ends_of_keys(connection, due, &act).await?;
    Ok(to_u32(recorded))
}

async fn end_some_rotated_keys(
    connection: &mut Connection,
    at_most: u32,
    act: Act,
) -> Result<u32, Abort<StorageError>> {
    if !begin_batch(connection).await? {
        return Ok(0);
    }
    let found = replaced_keys!(act.at)
        .inner_join(memberships::table)
        .select(api_keys::id);
    let found: Vec<StoredId> = first_unlocked!(found, memberships, i64::from(at_most))
        .load(connection)
        .await?;
    if found.is_empty() {
        return Ok(0);
    }
    // Again: the successor may have been revoked, and another one have taken its place.
    let replaced: Vec<(StoredId, StoredId)> = replaced_keys!(act.at)
        .filter(listed(found.into_iter().map(|key| key.0)))
        .select((api_keys::id, api_keys::organization_id))
        .load(connection)
        .await?;
    let events = replaced.iter().map(|(key, organization)| {
        let organization = OrganizationId::from_uuid(organization.0);
        act.end_of_rotated_key(organization, ApiKeyId::from_uuid(key.0))
    });
    let events = events.collect();
    let keys: Vec<Uuid> = replaced.into_iter().map(|(key, _)| key.0).collect();
    pipeline!(
        connection,
        lock_keys(connection, &keys),
        write_revocation(connection, &keys, RevocationReason::Rotation, None, &act),
        write_events(connection, events),
    );
    Ok(to_u32(keys.len()))
}

async fn record_some_of_memberships(
    connection: &mut Connection,
    at_most: u32,
    act: Act,
) -> Result<u32, Abort<StorageError>> {
    if !begin_batch(connection).await? {
        return Ok(0);
    }
    let found = memberships::table
        .inner_join(organizations::table)
        .filter(membership_is_due(act.at.into()))
        .order((memberships::ended_at, memberships::id))
        .select(memberships::id);
    let found: Vec<StoredId> = first_unlocked!(found, organizations, i64::from(at_most))
        .load(connection)
        .await?;
    if found.is_empty() {
        return Ok(0);
    }
    // Again, because they were found before their organizations were locked.
    let due = memberships::table
        .filter(memberships::id.eq_any(found))
        .filter(membership_is_due(act.at.into()))
        .select(LockedMember::as_select());
    let due: Vec<LockedMember> = locked!(due).load(connection).await?;
    record_ends_of_memberships(connection, &due, &act).await?;
    Ok(to_u32(due.len()))
}

/// Begins the transaction. Whether this server is the one that records ends now.
async fn begin_batch(connection: &mut Connection) -> QueryResult<bool> {
    let ((), has_lock): ((), bool) = pipeline!(
        connection,
        begin(connection),
        retention::try_lock(connection, AdvisoryLock::PlannedEnds),
    );
    Ok(has_lock)
}
