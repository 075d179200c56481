//! Removing keys that can act no more, and giving their children new parents.

use std::collections::{HashMap, HashSet};

use diesel::dsl::sql;
use diesel::prelude::{ExpressionMethods, QueryDsl, QueryResult, Queryable, Selectable, SelectableHelper};
use diesel::sql_types::Nullable;
use uuid::Uuid;

use super::super::dialect::{Connection, Database, Id, RunQueryDsl, listed, retention, skip_locked};
use super::super::schema::api_keys;
use crate::columns::StoredId;
use crate::limit::{at_most, to_u32};
use crate::retention::{
    KeyAndParent, MAX_REPARENTED_KEYS, PurgedBatch, adoptive_parents, drop_held, halve_batch, new_parents,
};

/// Removes those of these keys that no other transaction has locked, fewer if they have many children. A
/// single key with very many stays until several transactions have given them their new parent.
///
/// The transaction MUST have locked the keys' consumers and hold
/// [`AdvisoryLock::DeadKeys`](crate::retention::AdvisoryLock::DeadKeys). Then dead keys and ended memberships
/// stay so, and no other transaction purges keys or changes their parents. No key is added below these,
/// because adding one locks their consumer.
pub(super) async fn remove_keys(
    connection: &mut Connection,
    mut dead: Vec<KeyAndParent>,
) -> QueryResult<PurgedBatch> {
    forget_purged_parents(connection, &mut dead).await?;
    loop {
        let adoptive_parents = adoptive_parents(&dead);
        let mut children = children_to_reparent(connection, &dead, &adoptive_parents).await?;
        let are_too_many = children.len() > MAX_REPARENTED_KEYS;
        if are_too_many && halve_batch(&mut dead) {
            continue;
        }
        let locked = lock(connection, &dead, &children).await?;
        if are_too_many {
            children.retain(|(child, _)| locked.contains(child));
        } else if drop_held(&locked, &mut dead, &children) {
            continue;
        }
        let reparented = new_parents(&children, &adoptive_parents);
        retention::set_adoptive_parents(connection, reparented).await?;
        if are_too_many {
            return Ok(PurgedBatch {
                removed: 0,
                must_continue: !children.is_empty(),
            });
        }
        let ids = dead.iter().map(|(id, _)| *id);
        let removed = diesel::delete(api_keys::table.filter(listed(ids)))
            .execute(connection)
            .await?;
        return Ok(PurgedBatch {
            removed: to_u32(removed),
            must_continue: false,
        });
    }
}

/// The stored columns of a key that is to be removed.
#[derive(Queryable, Selectable)]
#[diesel(table_name = api_keys, check_for_backend(Database))]
pub(super) struct EndedRow {
    id: StoredId,
    created_by_key_id: Option<StoredId>,
    adoptive_parent_key_id: Option<StoredId>,
}

impl From<EndedRow> for KeyAndParent {
    fn from(row: EndedRow) -> Self {
        let effective_parent = row.adoptive_parent_key_id.or(row.created_by_key_id);
        (row.id.0, effective_parent.map(|above| above.0))
    }
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
    let locked: Vec<StoredId> = skip_locked!(keys).load(connection).await?;
    Ok(locked.into_iter().map(|id| id.0).collect())
}

/// Takes the parents away that were purged before these keys.
async fn forget_purged_parents(connection: &mut Connection, dead: &mut [KeyAndParent]) -> QueryResult<()> {
    let parents: HashSet<Uuid> = dead.iter().filter_map(|(_, parent)| *parent).collect();
    if parents.is_empty() {
        return Ok(());
    }
    let stored: Vec<StoredId> = api_keys::table
        .filter(listed(parents.into_iter()))
        .select(api_keys::id)
        .load(connection)
        .await?;
    let stored: HashSet<Uuid> = stored.into_iter().map(|id| id.0).collect();
    for (_, parent) in dead {
        *parent = parent.filter(|parent| stored.contains(parent));
    }
    Ok(())
}

/// Children of these keys that are not among them and get a new parent. If one transaction may not move all
/// of them, there is one more than it may.
async fn children_to_reparent(
    connection: &mut Connection,
    dead: &[KeyAndParent],
    adoptive_parents: &HashMap<Uuid, Uuid>,
) -> QueryResult<Vec<(Uuid, Uuid)>> {
    if adoptive_parents.is_empty() {
        return Ok(Vec::new());
    }
    // The expression of the index.
    let effective_parent = sql::<Nullable<Id>>("coalesce(adoptive_parent_key_id, created_by_key_id)");
    let keys: Vec<EndedRow> = api_keys::table
        .filter(effective_parent.eq_any(adoptive_parents.keys().copied().map(StoredId)))
        .filter(api_keys::id.ne_all(dead.iter().map(|(id, _)| StoredId(*id))))
        .limit(at_most(MAX_REPARENTED_KEYS + 1))
        .select(EndedRow::as_select())
        .load(connection)
        .await?;
    let keys = keys.into_iter().map(KeyAndParent::from);
    Ok(keys.filter_map(|(key, above)| Some((key, above?))).collect())
}
