//! Removing dead keys, and giving the keys next below them to others.

use chrono::{DateTime, Utc};
use diesel::prelude::{ExpressionMethods, QueryDsl, QueryResult, QueryableByName};
use diesel::sql_types::{Array, BigInt, Nullable, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use super::{Turn, take};
use crate::abort::Abort;
use crate::postgres::schema::api_keys;
use crate::retention::{Below, adoptions, counted, halve_if_too_many, most_next_below};

pub(in crate::postgres) async fn remove(
    connection: &mut AsyncPgConnection,
    dead_before: DateTime<Utc>,
    at_most: u32,
) -> Result<u32, Abort<StorageError>> {
    // Two at once could give a key to one that the other removes.
    if !take(connection, Turn::DeadKeys).await? {
        return Ok(0);
    }
    // What is read from here on stays true before it is locked, too: a key never comes back to life, nor does a
    // membership; nobody else removes keys or changes who adopted them; and no key is born to a dead one.
    let mut dead = earliest_dead(connection, dead_before, i64::from(at_most)).await?;
    let mut next_below = next_below(connection, &dead).await?;
    while halve_if_too_many(&mut dead, &next_below) {
        next_below = self::next_below(connection, &dead).await?;
    }
    let ids: Vec<Uuid> = dead.iter().map(|(id, _)| *id).collect();
    // Before anything is changed, and in the order in which everybody locks several keys. A key that somebody holds (to
    // write its last use, or to edit it) is not passed over: it may be one that has to be given to another.
    let all: Vec<Uuid> = ids
        .iter()
        .chain(next_below.iter().map(|(id, _)| id))
        .copied()
        .collect();
    api_keys::table
        .filter(api_keys::id.eq_any(all))
        .order(api_keys::id)
        .select(api_keys::id)
        .for_update()
        .load::<Uuid>(connection)
        .await?;
    adopt(connection, adoptions(&dead, &next_below)).await?;
    let removed = diesel::delete(api_keys::table.filter(api_keys::id.eq_any(ids)))
        .execute(connection)
        .await?;
    Ok(counted(removed))
}

#[derive(QueryableByName)]
struct KeyBelow {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    next_above: Option<Uuid>,
}

/// Dead keys, the earliest dead first: so the keys next below one are mostly gone already, and those that are
/// not were valid when it died, which are never many.
async fn earliest_dead(
    connection: &mut AsyncPgConnection,
    dead_before: DateTime<Utc>,
    at_most: i64,
) -> QueryResult<Vec<Below>> {
    const REVOKED: &str = "
        SELECT id, coalesce(adopted_by_key_id, created_by_key_id) AS next_above
        FROM api_keys WHERE revoked_at < $1
        ORDER BY revoked_at, id DESC LIMIT $2";
    const NEVER_REVOKED: &str = "
        SELECT key.id, coalesce(key.adopted_by_key_id, key.created_by_key_id) AS next_above
        FROM memberships JOIN api_keys key ON key.consumer_id = memberships.id AND key.revoked_at IS NULL
        WHERE memberships.ended_at < $1
        ORDER BY memberships.ended_at, memberships.id, key.id DESC LIMIT $2";
    let mut dead = Vec::new();
    for query in [REVOKED, NEVER_REVOKED] {
        let left = at_most.saturating_sub_unsigned(dead.len() as u64);
        if left > 0 {
            let found: Vec<KeyBelow> = diesel::sql_query(query)
                .bind::<Timestamptz, _>(dead_before)
                .bind::<BigInt, _>(left)
                .load(connection)
                .await?;
            dead.extend(found.into_iter().map(|key| (key.id, key.next_above)));
        }
    }
    Ok(dead)
}

/// Keys next below one of these that are none of these.
async fn next_below(connection: &mut AsyncPgConnection, dead: &[Below]) -> QueryResult<Vec<(Uuid, Uuid)>> {
    let ids: Vec<Uuid> = dead.iter().map(|(id, _)| *id).collect();
    let keys: Vec<KeyBelow> = diesel::sql_query(
        "SELECT key.id, coalesce(key.adopted_by_key_id, key.created_by_key_id) AS next_above
         FROM unnest($1) AS dead (id)
         JOIN api_keys key ON coalesce(key.adopted_by_key_id, key.created_by_key_id) = dead.id
         WHERE key.id <> ALL($1) LIMIT $2",
    )
    .bind::<Array<SqlUuid>, _>(ids)
    .bind::<BigInt, _>(most_next_below(dead))
    .load(connection)
    .await?;
    Ok(keys
        .into_iter()
        .filter_map(|key| Some((key.id, key.next_above?)))
        .collect())
}

/// Whoever was to adopt may have been removed before: then nobody does.
async fn adopt(connection: &mut AsyncPgConnection, adoptions: Vec<Below>) -> QueryResult<()> {
    if adoptions.is_empty() {
        return Ok(());
    }
    let (keys, above): (Vec<Uuid>, Vec<Option<Uuid>>) = adoptions.into_iter().unzip();
    diesel::sql_query(
        "UPDATE api_keys
         SET adopted_by_key_id = (SELECT above.id FROM api_keys above WHERE above.id = adoption.above)
         FROM unnest($1, $2) AS adoption (key, above) WHERE api_keys.id = adoption.key",
    )
    .bind::<Array<SqlUuid>, _>(keys)
    .bind::<Array<Nullable<SqlUuid>>, _>(above)
    .execute(connection)
    .await?;
    Ok(())
}
