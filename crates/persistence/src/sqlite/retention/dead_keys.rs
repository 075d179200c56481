//! Removing dead keys, and giving the keys next below them to others.

use chrono::{DateTime, Utc};
use diesel::prelude::{QueryDsl, QueryResult, QueryableByName, RunQueryDsl, SqliteConnection};
use diesel::sql_types::{BigInt, Binary, Nullable, Text};
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use crate::abort::Abort;
use crate::columns::StoredId;
use crate::retention::{Below, adoptions, counted, halve_if_too_many, most_next_below};
use crate::sqlite::listed::{as_json, listed};
use crate::sqlite::schema::api_keys;

pub(in crate::sqlite) async fn remove(
    connection: &mut SqliteConnection,
    dead_before: DateTime<Utc>,
    at_most: u32,
) -> Result<u32, Abort<StorageError>> {
    let mut dead = earliest_dead(connection, dead_before, i64::from(at_most))?;
    let mut next_below = next_below(connection, &dead)?;
    while halve_if_too_many(&mut dead, &next_below) {
        next_below = self::next_below(connection, &dead)?;
    }
    adopt(connection, adoptions(&dead, &next_below))?;
    let ids = dead.into_iter().map(|(id, _)| id);
    let removed = diesel::delete(api_keys::table.filter(listed(ids))).execute(connection)?;
    Ok(counted(removed))
}

#[derive(QueryableByName)]
struct KeyBelow {
    #[diesel(sql_type = Binary)]
    id: StoredId,
    #[diesel(sql_type = Nullable<Binary>)]
    next_above: Option<StoredId>,
}

/// Dead keys, the earliest dead first: so the keys next below one are mostly gone already, and those that are
/// not were valid when it died, which are never many.
fn earliest_dead(
    connection: &mut SqliteConnection,
    dead_before: DateTime<Utc>,
    at_most: i64,
) -> QueryResult<Vec<Below>> {
    const REVOKED: &str = "
        SELECT id, coalesce(adopted_by_key_id, created_by_key_id) AS next_above
        FROM api_keys WHERE revoked_at < ?
        ORDER BY revoked_at, id DESC LIMIT ?";
    const NEVER_REVOKED: &str = "
        SELECT key.id, coalesce(key.adopted_by_key_id, key.created_by_key_id) AS next_above
        FROM memberships JOIN api_keys key ON key.consumer_id = memberships.id AND key.revoked_at IS NULL
        WHERE memberships.ended_at < ?
        ORDER BY memberships.ended_at, memberships.id, key.id DESC LIMIT ?";
    let mut dead = Vec::new();
    for query in [REVOKED, NEVER_REVOKED] {
        let left = at_most.saturating_sub_unsigned(dead.len() as u64);
        if left > 0 {
            let found: Vec<KeyBelow> = diesel::sql_query(query)
                .bind::<BigInt, _>(dead_before.timestamp_millis())
                .bind::<BigInt, _>(left)
                .load(connection)?;
            let below = |key: KeyBelow| (key.id.0, key.next_above.map(|above| above.0));
            dead.extend(found.into_iter().map(below));
        }
    }
    Ok(dead)
}

/// Keys next below one of these that are none of these.
fn next_below(connection: &mut SqliteConnection, dead: &[Below]) -> QueryResult<Vec<(Uuid, Uuid)>> {
    let ids = as_json(dead.iter().map(|(id, _)| *id));
    let keys: Vec<KeyBelow> = diesel::sql_query(
        "WITH dead AS MATERIALIZED (SELECT unhex(value) AS id FROM json_each(?))
         SELECT key.id, coalesce(key.adopted_by_key_id, key.created_by_key_id) AS next_above
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
