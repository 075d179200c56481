//! Removing dead keys, and giving the keys next below them to others.

use chrono::{DateTime, Utc};
use diesel::prelude::{
    ExpressionMethods, QueryDsl, QueryResult, QueryableByName, RunQueryDsl, SqliteConnection,
};
use diesel::sql_types::{BigInt, Binary, Nullable, Text};
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use crate::abort::Abort;
use crate::columns::StoredId;
use crate::retention::{
    Below, Portion, adoptions, counted, halve_if_too_many, left_without_keys, most_next_below,
};
use crate::sqlite::listed::{as_json, listed};
use crate::sqlite::schema::{api_keys, memberships};

pub(in crate::sqlite) async fn remove(
    connection: &mut SqliteConnection,
    dead_before: DateTime<Utc>,
    at_most: u32,
) -> Result<Portion, Abort<StorageError>> {
    let Dead { mut keys, left_by } = earliest_dead(connection, dead_before, at_most)?;
    let dead = &mut keys;
    let found = dead.len();
    let mut next_below = next_below(connection, dead)?;
    while halve_if_too_many(dead, &next_below) {
        next_below = self::next_below(connection, dead)?;
    }
    adopt(connection, adoptions(dead, &next_below))?;
    let ids = dead.iter().map(|(id, _)| *id);
    let removed = diesel::delete(api_keys::table.filter(listed(ids))).execute(connection)?;
    let are_all = dead.len() == found;
    if are_all && !left_by.is_empty() {
        diesel::sql_query(
            "UPDATE memberships SET keys_removed_at = ? WHERE id IN (SELECT unhex(value) FROM json_each(?))",
        )
        .bind::<BigInt, _>(dead_before.timestamp_millis())
        .bind::<Text, _>(as_json(left_by.iter().copied()))
        .execute(connection)?;
    }
    Ok(Portion {
        removed: counted(removed),
        is_to_go_on: found == 0 && !left_by.is_empty(),
    })
}

/// Dead keys, and the former members of whom none that was never revoked is left when these are removed.
struct Dead {
    keys: Vec<Below>,
    left_by: Vec<Uuid>,
}

#[derive(QueryableByName)]
struct KeyBelow {
    #[diesel(sql_type = Binary)]
    id: StoredId,
    #[diesel(sql_type = Binary)]
    consumer_id: StoredId,
    #[diesel(sql_type = Nullable<Binary>)]
    next_above: Option<StoredId>,
}

/// The earliest dead first: so the keys next below one are mostly gone already, and those that are not were valid when it
/// died, which are never many. Former members are looked at when no revoked keys are left to remove.
fn earliest_dead(
    connection: &mut SqliteConnection,
    dead_before: DateTime<Utc>,
    at_most: u32,
) -> QueryResult<Dead> {
    let revoked: Vec<KeyBelow> = diesel::sql_query(
        "SELECT id, consumer_id, coalesce(adopted_by_key_id, created_by_key_id) AS next_above
         FROM api_keys WHERE revoked_at < ?
         ORDER BY revoked_at, id DESC LIMIT ?",
    )
    .bind::<BigInt, _>(dead_before.timestamp_millis())
    .bind::<BigInt, _>(i64::from(at_most))
    .load(connection)?;
    if !revoked.is_empty() {
        return Ok(Dead {
            keys: revoked.into_iter().map(below).collect(),
            left_by: Vec::new(),
        });
    }
    let former_members = former_members(connection, dead_before, at_most)?;
    let never_revoked: Vec<KeyBelow> = diesel::sql_query(
        "SELECT key.id, key.consumer_id, coalesce(key.adopted_by_key_id, key.created_by_key_id) AS next_above
         FROM memberships CROSS JOIN api_keys key ON key.consumer_id = memberships.id AND key.revoked_at IS NULL
         WHERE memberships.ended_at < ? AND memberships.keys_removed_at IS NULL
         ORDER BY memberships.ended_at, memberships.id, key.id DESC LIMIT ?",
    )
    .bind::<BigInt, _>(dead_before.timestamp_millis())
    .bind::<BigInt, _>(i64::from(at_most))
    .load(connection)?;
    let are_all = never_revoked.len() < at_most as usize;
    let last = never_revoked.last().filter(|_| !are_all);
    Ok(Dead {
        left_by: left_without_keys(former_members, last.map(|key| key.consumer_id.0)),
        keys: never_revoked.into_iter().map(below).collect(),
    })
}

fn below(key: KeyBelow) -> Below {
    (key.id.0, key.next_above.map(|above| above.0))
}

/// Former members who may have keys that were never revoked, who left first, first.
fn former_members(
    connection: &mut SqliteConnection,
    ended_before: DateTime<Utc>,
    at_most: u32,
) -> QueryResult<Vec<Uuid>> {
    let found: Vec<StoredId> = memberships::table
        .filter(memberships::ended_at.lt(ended_before.timestamp_millis()))
        .filter(memberships::keys_removed_at.is_null())
        .order((memberships::ended_at, memberships::id))
        .limit(i64::from(at_most))
        .select(memberships::id)
        .load(connection)?;
    Ok(found.into_iter().map(|id| id.0).collect())
}

/// Keys next below one of these that are none of these.
fn next_below(connection: &mut SqliteConnection, dead: &[Below]) -> QueryResult<Vec<(Uuid, Uuid)>> {
    let ids = as_json(dead.iter().map(|(id, _)| *id));
    let keys: Vec<KeyBelow> = diesel::sql_query(
        "WITH dead AS MATERIALIZED (SELECT unhex(value) AS id FROM json_each(?))
         SELECT key.id, key.consumer_id, coalesce(key.adopted_by_key_id, key.created_by_key_id) AS next_above
         FROM dead CROSS JOIN api_keys key ON coalesce(key.adopted_by_key_id, key.created_by_key_id) = dead.id
         WHERE key.id NOT IN (SELECT id FROM dead) LIMIT ?",
    )
    .bind::<Text, _>(ids)
    .bind::<BigInt, _>(most_next_below(dead))
    .load(connection)?;
    Ok(keys
        .into_iter()
        .filter_map(|key| Some((key.id.0, key.next_above?.0)))
        .collect())
}

/// Whoever was to adopt may have been removed before: then nobody does.
fn adopt(connection: &mut SqliteConnection, adoptions: Vec<Below>) -> QueryResult<()> {
    for (key, above) in adoptions {
        diesel::sql_query(
            "UPDATE api_keys SET adopted_by_key_id = (SELECT above.id FROM api_keys above WHERE above.id = ?)
             WHERE id = ?",
        )
        .bind::<Nullable<Binary>, _>(above.map(StoredId))
        .bind::<Binary, _>(StoredId(key))
        .execute(connection)?;
    }
    Ok(())
}
