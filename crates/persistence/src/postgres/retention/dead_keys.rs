//! Removing dead keys, and giving the keys next below them to others.

use chrono::{DateTime, Utc};
use diesel::prelude::{ExpressionMethods, QueryDsl, QueryResult, QueryableByName};
use diesel::sql_types::{Array, BigInt, Nullable, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use super::{Turn, take};
use crate::abort::Abort;
use crate::postgres::schema::{api_keys, memberships};
use crate::retention::{
    Below, Portion, adoptions, counted, halve_if_too_many, left_without_keys, most_next_below,
};

pub(in crate::postgres) async fn remove(
    connection: &mut AsyncPgConnection,
    dead_before: DateTime<Utc>,
    at_most: u32,
) -> Result<Portion, Abort<StorageError>> {
    // Two at once could give a key to one that the other removes.
    if !take(connection, Turn::DeadKeys).await? {
        return Ok(Portion {
            removed: 0,
            is_to_go_on: false,
        });
    }
    // What is read from here on stays true before it is locked, too: a key never comes back to life, nor does a
    // membership; nobody else removes keys or changes who adopted them; and no key is born to a dead one.
    let Dead { mut keys, left_by } = earliest_dead(connection, dead_before, at_most).await?;
    let dead = &mut keys;
    let found = dead.len();
    let mut next_below = next_below(connection, dead).await?;
    while halve_if_too_many(dead, &next_below) {
        next_below = self::next_below(connection, dead).await?;
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
    adopt(connection, adoptions(dead, &next_below)).await?;
    let removed = diesel::delete(api_keys::table.filter(api_keys::id.eq_any(ids)))
        .execute(connection)
        .await?;
    let are_all = dead.len() == found;
    if are_all && !left_by.is_empty() {
        diesel::update(memberships::table.filter(memberships::id.eq_any(&left_by)))
            .set(memberships::keys_removed_at.eq(dead_before))
            .execute(connection)
            .await?;
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
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    consumer_id: Uuid,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    next_above: Option<Uuid>,
}

/// The earliest dead first: so the keys next below one are mostly gone already, and those that are not were valid when it
/// died, which are never many. Former members are looked at when no revoked keys are left to remove: then whoever holds the
/// members that are locked here waits for none of the keys.
async fn earliest_dead(
    connection: &mut AsyncPgConnection,
    dead_before: DateTime<Utc>,
    at_most: u32,
) -> QueryResult<Dead> {
    let revoked: Vec<KeyBelow> = diesel::sql_query(
        "SELECT id, consumer_id, coalesce(adopted_by_key_id, created_by_key_id) AS next_above
         FROM api_keys WHERE revoked_at < $1
         ORDER BY revoked_at, id DESC LIMIT $2",
    )
    .bind::<Timestamptz, _>(dead_before)
    .bind::<BigInt, _>(i64::from(at_most))
    .load(connection)
    .await?;
    if !revoked.is_empty() {
        return Ok(Dead {
            keys: revoked.into_iter().map(below).collect(),
            left_by: Vec::new(),
        });
    }
    let former_members = former_members(connection, dead_before, at_most).await?;
    // One member after the other, until there are enough keys.
    let never_revoked: Vec<KeyBelow> = diesel::sql_query(
        "SELECT key.id, key.consumer_id, key.next_above
         FROM unnest($1) WITH ORDINALITY AS former (member, place)
         CROSS JOIN LATERAL (
             SELECT id, consumer_id, coalesce(adopted_by_key_id, created_by_key_id) AS next_above
             FROM api_keys WHERE consumer_id = former.member AND revoked_at IS NULL
             ORDER BY id DESC LIMIT $2
         ) key
         ORDER BY former.place, key.id DESC LIMIT $2",
    )
    .bind::<Array<SqlUuid>, _>(&former_members)
    .bind::<BigInt, _>(i64::from(at_most))
    .load(connection)
    .await?;
    let are_all = never_revoked.len() < at_most as usize;
    let last = never_revoked.last().filter(|_| !are_all);
    Ok(Dead {
        left_by: left_without_keys(former_members, last.map(|key| key.consumer_id)),
        keys: never_revoked.into_iter().map(below).collect(),
    })
}

fn below(key: KeyBelow) -> Below {
    (key.id, key.next_above)
}

/// Former members who may have keys that were never revoked, who left first, first. Nobody is waited for: whoever revokes
/// their keys holds them before the keys.
async fn former_members(
    connection: &mut AsyncPgConnection,
    ended_before: DateTime<Utc>,
    at_most: u32,
) -> QueryResult<Vec<Uuid>> {
    memberships::table
        .filter(memberships::ended_at.lt(ended_before))
        .filter(memberships::keys_removed_at.is_null())
        .order((memberships::ended_at, memberships::id))
        .limit(i64::from(at_most))
        .select(memberships::id)
        .for_no_key_update()
        .skip_locked()
        .load(connection)
        .await
}

/// Keys next below one of these that are none of these.
async fn next_below(connection: &mut AsyncPgConnection, dead: &[Below]) -> QueryResult<Vec<(Uuid, Uuid)>> {
    let ids: Vec<Uuid> = dead.iter().map(|(id, _)| *id).collect();
    let keys: Vec<KeyBelow> = diesel::sql_query(
        "SELECT key.id, key.consumer_id, coalesce(key.adopted_by_key_id, key.created_by_key_id) AS next_above
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
