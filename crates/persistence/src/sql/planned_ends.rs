//! Recording planned ends that have come.
//!
//! One server at a time does so. It passes over consumers and organizations that another transaction holds: nobody waits for
//! it, and their turn comes. What is read of those that it holds stays true until it is done.

use std::collections::BTreeSet;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::dsl::exists;
use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl};
use keyward_domain::audit::Act;
use keyward_domain::id::{MembershipId, OrganizationId, UserId};
use keyward_domain::planned_ends::ports::PlannedEndStore;
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use super::dialect::{Connection, RunQueryDsl, Store, listed, locked, locked_by_nobody, retention};
use super::due_keys::{DueKey, record_ends_of_keys};
use super::end_of_membership::{DueMembership, record_end_of_membership};
use super::schema::{api_keys, memberships, organizations};
use super::validity::{key_is_due, membership_is_due};
use crate::abort::Abort;
use crate::columns::StoredId;
use crate::retention::{AdvisoryLock, to_u32};

#[async_trait]
impl PlannedEndStore for Store {
    async fn has_due(&self, now: DateTime<Utc>) -> Result<bool, StorageError> {
        read!(self, |connection| {
            let has_due_key = exists(api_keys::table.filter(key_is_due(now.into())));
            let has_due_membership = exists(memberships::table.filter(membership_is_due(now.into())));
            let has_due: bool = diesel::select(has_due_key.or(has_due_membership))
                .get_result(connection)
                .await?;
            Ok(has_due)
        })
    }

    async fn record_ends_of_keys(&self, at_most: u32, act: Act) -> Result<u32, StorageError> {
        change!(self, record_some_of_keys(at_most, act))
    }

    async fn record_ends_of_memberships(&self, at_most: u32, act: Act) -> Result<u32, StorageError> {
        change!(self, record_some_of_memberships(at_most, act))
    }
}

async fn record_some_of_keys(
    connection: &mut Connection,
    at_most: u32,
    act: Act,
) -> Result<u32, Abort<StorageError>> {
    if !retention::try_lock(connection, AdvisoryLock::PlannedEnds).await? {
        return Ok(0);
    }
    let found: Vec<(StoredId, StoredId)> = api_keys::table
        .filter(key_is_due(act.at.into()))
        .order((api_keys::revoked_at, api_keys::id))
        .limit(i64::from(at_most))
        .select((api_keys::id, api_keys::consumer_id))
        .load(connection)
        .await?;
    let (keys, consumers): (Vec<Uuid>, BTreeSet<Uuid>) = found
        .into_iter()
        .map(|(key, consumer)| (key.0, consumer.0))
        .unzip();
    let consumers = memberships::table
        .filter(memberships::id.eq_any(consumers.into_iter().map(StoredId)))
        .select(memberships::id);
    let consumers: Vec<StoredId> = locked_by_nobody!(consumers).load(connection).await?;
    let due: Vec<(StoredId, StoredId)> = api_keys::table
        .filter(listed(keys.into_iter()))
        .filter(api_keys::consumer_id.eq_any(consumers))
        .filter(key_is_due(act.at.into()))
        .select((api_keys::id, api_keys::organization_id))
        .load(connection)
        .await?;
    let due: Vec<DueKey> = due.into_iter().map(DueKey::from).collect();
    let recorded = due.len();
    record_ends_of_keys(connection, due, &act).await?;
    Ok(to_u32(recorded))
}

async fn record_some_of_memberships(
    connection: &mut Connection,
    at_most: u32,
    act: Act,
) -> Result<u32, Abort<StorageError>> {
    if !retention::try_lock(connection, AdvisoryLock::PlannedEnds).await? {
        return Ok(0);
    }
    let found: Vec<(StoredId, StoredId)> = memberships::table
        .filter(membership_is_due(act.at.into()))
        .order((memberships::ended_at, memberships::id))
        .limit(i64::from(at_most))
        .select((memberships::id, memberships::organization_id))
        .load(connection)
        .await?;
    let (found, here): (Vec<StoredId>, BTreeSet<Uuid>) = found
        .into_iter()
        .map(|(membership, organization)| (membership, organization.0))
        .unzip();
    let held = organizations::table
        .filter(organizations::id.eq_any(here.into_iter().map(StoredId)))
        .select(organizations::id);
    let held: Vec<StoredId> = locked_by_nobody!(held).load(connection).await?;
    let due = memberships::table
        .filter(memberships::id.eq_any(found))
        .filter(memberships::organization_id.eq_any(held))
        .filter(membership_is_due(act.at.into()))
        .select((
            memberships::id,
            memberships::organization_id,
            memberships::user_id,
        ));
    let due: Vec<(StoredId, StoredId, StoredId)> = locked!(due).load(connection).await?;
    let recorded = due.len();
    for (id, organization, user) in due {
        let due = DueMembership {
            id: MembershipId::from_uuid(id.0),
            organization: OrganizationId::from_uuid(organization.0),
            user: UserId::from_uuid(user.0),
        };
        record_end_of_membership(connection, &due, &act).await?;
    }
    Ok(to_u32(recorded))
}
