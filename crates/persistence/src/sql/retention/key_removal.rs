//! Removing keys that can act no more, and giving their children new parents.

use std::collections::HashSet;

use diesel::dsl::sql;
use diesel::prelude::{ExpressionMethods, QueryDsl, QueryResult, Queryable, Selectable, SelectableHelper};
use diesel::sql_types::Nullable;
use uuid::Uuid;

use super::super::dialect::{Connection, Database, Id, RunQueryDsl, listed, locked_by_nobody, retention};
use super::super::schema::api_keys;
use crate::columns::StoredId;
use crate::retention::{KeyAndParent, drop_held, halve_batch, max_children, new_parents};

/// Removes those of these keys that nobody holds, fewer if they have many children. Returns their number.
///
/// The transaction MUST have locked the keys' consumers and hold
/// [`AdvisoryLock::DeadKeys`](crate::retention::AdvisoryLock::DeadKeys). Then dead keys and ended memberships
/// stay so, and no other transaction purges keys or changes their parents. No key is added below these,
/// because adding one locks their consumer.
pub(super) async fn remove_keys(
    connection: &mut Connection,
    mut dead: Vec<KeyAndParent>,
) -> QueryResult<usize> {
    let mut children = children_of(connection, &dead).await?;
    while halve_batch(&mut dead, &children)
        || drop_held(&lock(connection, &dead, &children).await?, &mut dead, &children)
    {
        children = children_of(connection, &dead).await?;
    }
    retention::set_adoptive_parents(connection, new_parents(&dead, &children)).await?;
    let ids = dead.iter().map(|(id, _)| *id);
    diesel::delete(api_keys::table.filter(listed(ids)))
        .execute(connection)
        .await
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
    let keys: Vec<EndedRow> = api_keys::table
        .filter(effective_parent.eq_any(ids()))
        .filter(api_keys::id.ne_all(ids()))
        .limit(max_children(dead))
        .select(EndedRow::as_select())
        .load(connection)
        .await?;
    let keys = keys.into_iter().map(KeyAndParent::from);
    Ok(keys.filter_map(|(key, above)| Some((key, above?))).collect())
}
