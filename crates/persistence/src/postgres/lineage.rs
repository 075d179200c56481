//! Which keys were created from which, directly or not, also through keys that are kept no longer.
//!
//! A consumer has few valid keys, but there is no end to those that it creates and revokes. So whatever is asked is worked
//! out from the valid ones upwards, in steps that pass over most of what is between (`api_keys.skip_key_id`), or has a
//! limit. Each step leads to a smaller depth, so each search ends, even if rows pointed at each other in a circle.

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::prelude::QueryableByName;
use diesel::sql_types::{Array, BigInt, Nullable, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use uuid::Uuid;

use super::prepared_once::PreparedOnce;
use super::validity::not_over;
use crate::limit;
use crate::lineage::{InLine, Step, starts_below, upwards};

/// A climb from each key where one starts, past all depths to look at (`goals`) that are above it, each step as far as it can
/// go without leading past the next of them. Where keys were removed, the next key above may be past it: nothing is between.
/// No step leads to another consumer's key. Where climbs meet, they go on as one.
///
/// `LIMIT 1` also makes PostgreSQL look both up, whatever it believes to know about the table: where it expects many, it
/// would read all keys at every step.
const CLIMB: &str = "
    SELECT climb.id, above.*, next.goal
    FROM climb CROSS JOIN LATERAL (
        SELECT CASE WHEN climb.tree_depth > climb.goal THEN climb.goal ELSE (
            SELECT max(goals.tree_depth) FROM goals
            WHERE goals.consumer_id = climb.consumer_id AND goals.tree_depth < climb.tree_depth
        ) END AS goal
    ) AS next CROSS JOIN LATERAL (
        SELECT id, coalesce(adopted_by_key_id, created_by_key_id), skip_key_id, tree_depth, consumer_id
        FROM api_keys
        WHERE id IN (climb.skip_key_id, climb.next_above) AND consumer_id = climb.consumer_id
            AND next.goal <= CASE id WHEN climb.next_above THEN climb.tree_depth ELSE tree_depth END
            AND tree_depth < climb.tree_depth
        ORDER BY tree_depth LIMIT 1
    ) AS above";

/// The valid ones among these keys of these consumers and what came from them, by rising identifier.
///
/// The type of its future is hidden, as of all that others are built of: the compiler looks at futures within futures
/// again and again, and takes minutes for it.
pub(super) fn valid_from<'a>(
    connection: &'a AsyncPgConnection,
    consumers: &'a [Uuid],
    roots: &'a [Uuid],
    now: DateTime<Utc>,
) -> BoxFuture<'a, QueryResult<Vec<Uuid>>> {
    Box::pin(async move {
        let steps = steps_to(connection, consumers, roots, now).await?;
        Ok(starts_below(&steps, roots))
    })
}

/// The steps from all valid keys of these consumers up to these roots, each climb to the first that it meets. There are few
/// for each key, however many are dead and however many roots there are.
async fn steps_to(
    mut connection: &AsyncPgConnection,
    consumers: &[Uuid],
    roots: &[Uuid],
    now: DateTime<Utc>,
) -> QueryResult<Vec<Step>> {
    let valid = not_over("key", "revoked_at", "$3");
    // Where each climb starts, the first goal is the deepest one that is no deeper than the key.
    let query = diesel::sql_query(format!(
        "WITH RECURSIVE roots AS (
             SELECT id, consumer_id, tree_depth FROM api_keys WHERE id = ANY($1) AND consumer_id = ANY($2)
         ), goals AS (
             SELECT DISTINCT consumer_id, tree_depth FROM roots
         ), starts AS (
             SELECT key.id, coalesce(key.adopted_by_key_id, key.created_by_key_id) AS next_above, key.skip_key_id,
                 key.tree_depth, key.consumer_id, NULL::integer AS goal
             FROM (SELECT DISTINCT consumer_id FROM goals) AS consumers
                 JOIN api_keys key ON key.consumer_id = consumers.consumer_id AND {valid}
             UNION ALL
             SELECT NULL, NULL, NULL, tree_depth, consumer_id, tree_depth FROM goals
         ), climb AS (
             SELECT NULL::uuid AS below, id, next_above, skip_key_id, tree_depth, consumer_id, goal
             FROM (
                 SELECT id, next_above, skip_key_id, tree_depth, consumer_id,
                     max(goal) OVER (PARTITION BY consumer_id ORDER BY tree_depth) AS goal
                 FROM starts
             ) AS aimed
             WHERE id IS NOT NULL AND goal IS NOT NULL
             UNION {CLIMB} WHERE climb.id NOT IN (SELECT id FROM roots)
         )
         SELECT below, id FROM climb"
    ));
    let query = query
        .bind::<Array<SqlUuid>, _>(roots)
        .bind::<Array<SqlUuid>, _>(consumers)
        .bind::<Timestamptz, _>(now);
    let found: Vec<FoundStep> = PreparedOnce(query).load(&mut connection).await?;
    Ok(found.into_iter().map(|row| (row.below, row.id)).collect())
}

/// How many keys of the line that ends with this one are valid.
pub(super) async fn valid_in_line(
    connection: &mut AsyncPgConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
    now: DateTime<Utc>,
) -> QueryResult<i64> {
    let valid = not_over("api_keys", "revoked_at", "$3");
    let counted: Counted = diesel::sql_query(format!(
        "WITH RECURSIVE goals AS (
             SELECT DISTINCT consumer_id, tree_depth FROM api_keys WHERE consumer_id = $1 AND {valid}
         ), climb AS (
             SELECT NULL::uuid AS below, id, coalesce(adopted_by_key_id, created_by_key_id) AS next_above,
                 skip_key_id, tree_depth, consumer_id, tree_depth AS goal
             FROM api_keys WHERE id = $2 AND consumer_id = $1
             UNION {CLIMB}
         )
         SELECT count(*) AS count FROM api_keys WHERE consumer_id = $1 AND {valid}
             AND id IN (SELECT id FROM climb)"
    ))
    .bind::<SqlUuid, _>(consumer.as_uuid())
    .bind::<SqlUuid, _>(id.as_uuid())
    .bind::<Timestamptz, _>(now)
    .get_result(connection)
    .await?;
    Ok(counted.count)
}

/// A consumer's key and what it came from, so many keys at most, the key itself first.
pub(super) async fn line_above(
    connection: &mut AsyncPgConnection,
    consumer: Uuid,
    id: Uuid,
    at_most: usize,
) -> QueryResult<Vec<InLine>> {
    let line: Vec<FoundInLine> = diesel::sql_query(
        "WITH RECURSIVE line AS (
             SELECT id, coalesce(adopted_by_key_id, created_by_key_id) AS next_above, tree_depth
             FROM api_keys WHERE id = $1 AND consumer_id = $2
             UNION ALL
             SELECT above.* FROM line CROSS JOIN LATERAL (
                 SELECT id, coalesce(adopted_by_key_id, created_by_key_id), tree_depth
                 FROM api_keys WHERE id = line.next_above AND consumer_id = $2 AND tree_depth < line.tree_depth LIMIT 1
             ) AS above
         )
         SELECT id, tree_depth::bigint AS depth FROM line LIMIT $3",
    )
    .bind::<SqlUuid, _>(id)
    .bind::<SqlUuid, _>(consumer)
    .bind::<BigInt, _>(limit::at_most(at_most))
    .load(connection)
    .await?;
    Ok(upwards(line.into_iter().map(|row| (row.id, row.depth)).collect()))
}

/// What is between these keys of a consumer and one of that depth, so many keys at most, the nearest first.
pub(super) async fn some_between(
    connection: &mut AsyncPgConnection,
    consumer: Uuid,
    keys: &[Uuid],
    depth: i64,
    at_most: usize,
) -> QueryResult<Vec<Uuid>> {
    let found: Vec<FoundId> = diesel::sql_query(
        "WITH RECURSIVE line AS (
             SELECT id, coalesce(adopted_by_key_id, created_by_key_id) AS next_above, tree_depth
             FROM api_keys WHERE id = ANY($1) AND consumer_id = $2
             UNION
             SELECT above.* FROM line CROSS JOIN LATERAL (
                 SELECT id, coalesce(adopted_by_key_id, created_by_key_id), tree_depth FROM api_keys
                 WHERE id = line.next_above AND consumer_id = $2 AND tree_depth > $3 AND tree_depth < line.tree_depth
                 LIMIT 1
             ) AS above
         )
         SELECT id FROM line LIMIT $4",
    )
    .bind::<Array<SqlUuid>, _>(keys)
    .bind::<SqlUuid, _>(consumer)
    .bind::<BigInt, _>(depth)
    .bind::<BigInt, _>(limit::at_most(at_most))
    .load(connection)
    .await?;
    Ok(found.into_iter().map(|row| row.id).collect())
}

/// A consumer's key and some of what came from it, so many keys at most. PostgreSQL looks for no more than that.
pub(super) async fn some_below(
    connection: &mut AsyncPgConnection,
    consumer: Uuid,
    id: Uuid,
    at_most: usize,
) -> QueryResult<Vec<Uuid>> {
    let found: Vec<FoundId> = diesel::sql_query(
        "WITH RECURSIVE below AS (
             SELECT id FROM api_keys WHERE id = $1 AND consumer_id = $2
             UNION
             SELECT child.id FROM below CROSS JOIN LATERAL (
                 SELECT id FROM api_keys
                 WHERE coalesce(adopted_by_key_id, created_by_key_id) = below.id AND consumer_id = $2 LIMIT $3
             ) AS child
         )
         SELECT id FROM below LIMIT $3",
    )
    .bind::<SqlUuid, _>(id)
    .bind::<SqlUuid, _>(consumer)
    .bind::<BigInt, _>(limit::at_most(at_most))
    .load(connection)
    .await?;
    Ok(found.into_iter().map(|row| row.id).collect())
}

#[derive(QueryableByName)]
struct FoundStep {
    #[diesel(sql_type = Nullable<SqlUuid>)]
    below: Option<Uuid>,
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

#[derive(QueryableByName)]
struct FoundInLine {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = BigInt)]
    depth: i64,
}

#[derive(QueryableByName)]
struct FoundId {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

#[derive(QueryableByName)]
struct Counted {
    #[diesel(sql_type = BigInt)]
    count: i64,
}
