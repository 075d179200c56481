//! Purging dead keys, and giving their children new parents.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use diesel::dsl::sql;
use diesel::prelude::{ExpressionMethods, QueryDsl, QueryResult, Queryable, Selectable, SelectableHelper};
use diesel::sql_types::Nullable;
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use super::super::dialect::{Connection, Database, Id, RunQueryDsl, listed, locked_by_nobody, retention};
use super::super::schema::{api_keys, memberships};
use crate::abort::Abort;
use crate::columns::{StoredId, StoredMoment};
use crate::retention::{
    AdvisoryLock, KeyAndParent, PurgedBatch, drop_held, halve_batch, left_without_keys, max_children,
    new_parents, to_u32,
};

pub(super) async fn remove(
    connection: &mut Connection,
    dead_before: DateTime<Utc>,
    at_most: u32,
) -> Result<PurgedBatch, Abort<StorageError>> {
    // Two concurrent purges could make a key the parent that the other purges.
    if !retention::try_lock(connection, AdvisoryLock::DeadKeys).await? {
        return Ok(PurgedBatch::default());
    }
    let Dead {
        keys: mut dead,
        left_by,
    } = earliest_dead(connection, dead_before, at_most).await?;
    // Dead keys and ended memberships stay so, and no other transaction purges keys or changes their parents.
    // No key is added below these, because adding one locks their consumer, which this transaction has
    // locked.
    let found = dead.len();
    let mut children = children_of(connection, &dead).await?;
    while halve_batch(&mut dead, &children)
        || drop_held(&lock(connection, &dead, &children).await?, &mut dead, &children)
    {
        children = children_of(connection, &dead).await?;
    }
    retention::set_adoptive_parents(connection, new_parents(&dead, &children)).await?;
    let ids = dead.iter().map(|(id, _)| *id);
    let removed = diesel::delete(api_keys::table.filter(listed(ids)))
        .execute(connection)
        .await?;
    let are_all = dead.len() == found;
    if are_all && !left_by.is_empty() {
        let left_by = left_by.iter().copied().map(StoredId);
        diesel::update(memberships::table.filter(memberships::id.eq_any(left_by)))
            .set(memberships::keys_removed_at.eq(StoredMoment::from(dead_before)))
            .execute(connection)
            .await?;
    }
    Ok(PurgedBatch {
        removed: to_u32(removed),
        must_continue: found == 0 && !left_by.is_empty(),
    })
}

/// Dead keys, and the former members without never-revoked keys once these are purged.
struct Dead {
    keys: Vec<KeyAndParent>,
    left_by: Vec<Uuid>,
}

/// The stored columns of a dead key.
#[derive(Queryable, Selectable)]
#[diesel(table_name = api_keys, check_for_backend(Database))]
struct DeadRow {
    id: StoredId,
    created_by_key_id: Option<StoredId>,
    adoptive_parent_key_id: Option<StoredId>,
}

impl From<DeadRow> for KeyAndParent {
    fn from(row: DeadRow) -> Self {
        let effective_parent = row.adoptive_parent_key_id.or(row.created_by_key_id);
        (row.id.0, effective_parent.map(|above| above.0))
    }
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
        .select(DeadRow::as_select());
    let revoked: Vec<DeadRow> = locked_by_nobody!(revoked).load(connection).await?;
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
    let former_members: Vec<StoredId> = locked_by_nobody!(former_members).load(connection).await?;
    let former_members: Vec<Uuid> = former_members.into_iter().map(|id| id.0).collect();
    let never_revoked = retention::never_revoked_keys(connection, &former_members, at_most).await?;
    let are_all = never_revoked.len() < at_most as usize;
    let last = never_revoked.last().filter(|_| !are_all);
    Ok(Dead {
        left_by: left_without_keys(former_members, last.map(|key| key.consumer)),
        keys: never_revoked.into_iter().map(|key| key.below).collect(),
    })
}

/// Locks those of these keys that no other transaction has locked, for instance to write a last use.
async fn lock(
    connection: &mut Connection,
    dead: &[KeyAndParent],
    children: &[(Uuid, Uuid)],
) -> QueryResult<HashSet<Uuid>> {
    if dead.is_empty() {
        return Ok(HashSet::new());
    }
    let dead = dead.iter().map(|(id, _)| *id);
    let all = dead.chain(children.iter().map(|(id, _)| *id));
    let keys = api_keys::table.filter(listed(all)).select(api_keys::id);
    let locked: Vec<StoredId> = locked_by_nobody!(keys).load(connection).await?;
    Ok(locked.into_iter().map(|id| id.0).collect())
}

/// Children of these keys that are not among them.
async fn children_of(connection: &mut Connection, dead: &[KeyAndParent]) -> QueryResult<Vec<(Uuid, Uuid)>> {
    if dead.is_empty() {
        return Ok(Vec::new());
    }
    let ids = || dead.iter().map(|(id, _)| StoredId(*id));
    // The expression of the index.
    let effective_parent = sql::<Nullable<Id>>("coalesce(adoptive_parent_key_id, created_by_key_id)");
    let keys: Vec<DeadRow> = api_keys::table
        .filter(effective_parent.eq_any(ids()))
        .filter(api_keys::id.ne_all(ids()))
        .limit(max_children(dead))
        .select(DeadRow::as_select())
        .load(connection)
        .await?;
    let keys = keys.into_iter().map(KeyAndParent::from);
    Ok(keys.filter_map(|(key, above)| Some((key, above?))).collect())
}
