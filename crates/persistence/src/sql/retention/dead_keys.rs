//! Purging dead keys.

use chrono::{DateTime, Utc};
use diesel::prelude::{ExpressionMethods, QueryDsl, QueryResult, SelectableHelper};
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use super::super::dialect::{Connection, RunQueryDsl, retention, skip_locked};
use super::super::schema::{api_keys, memberships};
use super::key_removal::{EndedRow, remove_keys};
use crate::abort::Abort;
use crate::columns::{StoredId, StoredMoment};
use crate::limit::to_u32;
use crate::retention::{AdvisoryLock, KeyAndParent, PurgedBatch, left_without_keys};

pub(super) async fn remove(
    connection: &mut Connection,
    dead_before: DateTime<Utc>,
    at_most: u32,
) -> Result<PurgedBatch, Abort<StorageError>> {
    // Two concurrent purges could make a key the parent that the other purges.
    if !retention::try_lock(connection, AdvisoryLock::DeadKeys).await? {
        return Ok(PurgedBatch::default());
    }
    let Dead { keys, left_by } = earliest_dead(connection, dead_before, at_most).await?;
    let found = to_u32(keys.len());
    let batch = remove_keys(connection, keys).await?;
    if batch.removed == found && !left_by.is_empty() {
        let left_by = left_by.iter().copied().map(StoredId);
        diesel::update(memberships::table.filter(memberships::id.eq_any(left_by)))
            .set(memberships::keys_removed_at.eq(StoredMoment::from(dead_before)))
            .execute(connection)
            .await?;
    }
    Ok(PurgedBatch {
        must_continue: batch.must_continue || found == 0 && !left_by.is_empty(),
        ..batch
    })
}

/// Dead keys, and the former members without never-revoked keys once these are purged.
struct Dead {
    keys: Vec<KeyAndParent>,
    left_by: Vec<Uuid>,
}

/// The keys that died first come first: most of their children are then purged already, and the others were
/// valid at that time, which are never many. Former members are processed once no revoked key can be locked.
///
/// Locks the consumers, and skips those that another transaction has locked. Without that lock, a rotation
/// that has begun could give the successor a parent that is purged meanwhile.
async fn earliest_dead(
    connection: &mut Connection,
    dead_before: DateTime<Utc>,
    at_most: u32,
) -> QueryResult<Dead> {
    let dead_before = StoredMoment::from(dead_before);
    // The consumer comes first: a key whose consumer is skipped is not locked.
    let revoked = memberships::table
        .inner_join(api_keys::table)
        .filter(api_keys::revoked_at.lt(dead_before))
        // Here and below: a planned end that came is recorded in the audit log first.
        .filter(api_keys::end_came_at.is_not_null())
        .order((api_keys::revoked_at, api_keys::id.desc()))
        .limit(i64::from(at_most))
        .select(EndedRow::as_select());
    let revoked: Vec<EndedRow> = skip_locked!(revoked).load(connection).await?;
    if !revoked.is_empty() {
        return Ok(Dead {
            keys: revoked.into_iter().map(KeyAndParent::from).collect(),
            left_by: Vec::new(),
        });
    }
    // Former members who may have never-revoked keys, in the order of leaving.
    let former_members = memberships::table
        .filter(memberships::ended_at.lt(dead_before))
        .filter(memberships::end_came_at.is_not_null())
        .filter(memberships::keys_removed_at.is_null())
        .order((memberships::ended_at, memberships::id))
        .limit(i64::from(at_most))
        .select(memberships::id);
    let former_members: Vec<StoredId> = skip_locked!(former_members).load(connection).await?;
    let former_members: Vec<Uuid> = former_members.into_iter().map(|id| id.0).collect();
    let never_revoked = retention::never_revoked_keys(connection, &former_members, at_most).await?;
    let are_all = never_revoked.len() < at_most as usize;
    let last = never_revoked.last().filter(|_| !are_all);
    Ok(Dead {
        left_by: left_without_keys(former_members, last.map(|key| key.consumer)),
        keys: never_revoked.into_iter().map(|key| key.below).collect(),
    })
}
