//! Key trees in SQL: ancestors and descendants of keys, also across purged keys.
//!
//! A consumer has few valid keys, but may have created and revoked any number. So each query walks up from
//! the valid keys, in steps that skip most keys between (`api_keys.skip_key_id`), or has a limit. Each step
//! leads to a smaller depth, so each walk ends, even if damaged rows form a cycle.

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::sql_types::{Array, BigInt, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;
use keyward_domain::id::{ApiKeyId, MembershipId};
use uuid::Uuid;

use super::found_keys::{Counted, FoundChainKey, FoundKey, FoundStep};
use super::prepared_once::PreparedOnce;
use super::validity::not_over;
use crate::key_tree::{ChainKey, Step, starts_below, upwards};
use crate::limit;

/// Walks up from each start key through all depths of interest (`goals`) above it; each step goes as far as
/// it can without passing the next goal. Where keys were purged, the next stored key may be past the goal,
/// with nothing between. No step leads to another consumer's key. Walks that meet continue as one.
///
/// `LIMIT 1` also forces index look-ups for any statistics of the table: expecting many rows, PostgreSQL
/// would read all keys at every step.
const CLIMB: &str = "
    SELECT climb.id, above.*, next.goal
    FROM climb CROSS JOIN LATERAL (
        SELECT CASE WHEN climb.tree_depth > climb.goal THEN climb.goal ELSE (
            SELECT max(goals.tree_depth) FROM goals
            WHERE goals.consumer_id = climb.consumer_id AND goals.tree_depth < climb.tree_depth
        ) END AS goal
    ) AS next CROSS JOIN LATERAL (
        SELECT id, coalesce(adoptive_parent_key_id, created_by_key_id), skip_key_id, tree_depth, consumer_id
        FROM api_keys
        WHERE id IN (climb.skip_key_id, climb.effective_parent) AND consumer_id = climb.consumer_id
            AND next.goal <= CASE id WHEN climb.effective_parent THEN climb.tree_depth ELSE tree_depth END
            AND tree_depth < climb.tree_depth
        ORDER BY tree_depth LIMIT 1
    ) AS above";

/// The valid keys among these keys of these consumers and their descendants, by ascending identifier.
///
/// Returns a boxed future, like all functions that others are built from: nested future types take the
/// compiler minutes.
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

/// The steps from all valid keys of these consumers up to these roots; each walk ends at the first root it
/// meets. There are few steps per key, however many dead keys and roots there are.
async fn steps_to(
    mut connection: &AsyncPgConnection,
    consumers: &[Uuid],
    roots: &[Uuid],
    now: DateTime<Utc>,
) -> QueryResult<Vec<Step>> {
    let valid = not_over("key", "revoked_at", "$3");
    // Each walk's first goal is the deepest one that is no deeper than its start key.
    let query = diesel::sql_query(format!(
        "WITH RECURSIVE roots AS (
             SELECT id, consumer_id, tree_depth FROM api_keys WHERE id = ANY($1) AND consumer_id = ANY($2)
         ), goals AS (
             SELECT DISTINCT consumer_id, tree_depth FROM roots
         ), starts AS (
             SELECT key.id, coalesce(key.adoptive_parent_key_id, key.created_by_key_id) AS effective_parent, key.skip_key_id,
                 key.tree_depth, key.consumer_id, NULL::integer AS goal
             FROM (SELECT DISTINCT consumer_id FROM goals) AS consumers
                 JOIN api_keys key ON key.consumer_id = consumers.consumer_id AND {valid}
             UNION ALL
             SELECT NULL, NULL, NULL, tree_depth, consumer_id, tree_depth FROM goals
         ), climb AS (
             SELECT NULL::uuid AS below, id, effective_parent, skip_key_id, tree_depth, consumer_id, goal
             FROM (
                 SELECT id, effective_parent, skip_key_id, tree_depth, consumer_id,
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
    Ok(found.into_iter().map(Step::from).collect())
}

/// Counts the valid keys among this key and its ancestors, as [`ApiKey::depth_of`] does.
///
/// [`ApiKey::depth_of`]: keyward_domain::api_key::ApiKey::depth_of
pub(super) async fn valid_in_chain(
    connection: &mut AsyncPgConnection,
    consumer: MembershipId,
    id: ApiKeyId,
    now: DateTime<Utc>,
) -> QueryResult<i64> {
    let valid = not_over("api_keys", "revoked_at", "$3");
    let counted: Counted = diesel::sql_query(format!(
        "WITH RECURSIVE goals AS (
             SELECT DISTINCT consumer_id, tree_depth FROM api_keys WHERE consumer_id = $1 AND {valid}
         ), climb AS (
             SELECT NULL::uuid AS below, id, coalesce(adoptive_parent_key_id, created_by_key_id) AS effective_parent,
                 skip_key_id, tree_depth, consumer_id, tree_depth AS goal
             FROM api_keys WHERE id = $2 AND consumer_id = $1
             UNION {CLIMB}
         ), chain AS (
             SELECT id, rotated_to_key_id FROM api_keys WHERE consumer_id = $1 AND {valid}
                 AND id IN (SELECT id FROM climb)
         )
         SELECT count(*) AS count FROM chain
         WHERE rotated_to_key_id IS NULL OR rotated_to_key_id NOT IN (SELECT id FROM chain)"
    ))
    .bind::<SqlUuid, _>(consumer.as_uuid())
    .bind::<SqlUuid, _>(id.as_uuid())
    .bind::<Timestamptz, _>(now)
    .get_result(connection)
    .await?;
    Ok(counted.count)
}

/// A consumer's key, followed by its ancestors, up to a limit.
pub(super) async fn ancestor_chain(
    connection: &mut AsyncPgConnection,
    consumer: Uuid,
    id: Uuid,
    at_most: usize,
) -> QueryResult<Vec<ChainKey>> {
    let chain: Vec<FoundChainKey> = diesel::sql_query(
        "WITH RECURSIVE chain AS (
             SELECT id, coalesce(adoptive_parent_key_id, created_by_key_id) AS effective_parent, tree_depth
             FROM api_keys WHERE id = $1 AND consumer_id = $2
             UNION ALL
             SELECT above.* FROM chain CROSS JOIN LATERAL (
                 SELECT id, coalesce(adoptive_parent_key_id, created_by_key_id), tree_depth
                 FROM api_keys WHERE id = chain.effective_parent AND consumer_id = $2 AND tree_depth < chain.tree_depth LIMIT 1
             ) AS above
         )
         SELECT id, tree_depth::bigint AS depth FROM chain LIMIT $3",
    )
    .bind::<SqlUuid, _>(id)
    .bind::<SqlUuid, _>(consumer)
    .bind::<BigInt, _>(limit::at_most(at_most))
    .load(connection)
    .await?;
    Ok(upwards(chain.into_iter().map(ChainKey::from).collect()))
}

/// The keys between these keys of a consumer and their ancestor at a depth, nearest first, up to a limit.
pub(super) async fn some_between(
    connection: &mut AsyncPgConnection,
    consumer: Uuid,
    keys: &[Uuid],
    depth: i64,
    at_most: usize,
) -> QueryResult<Vec<Uuid>> {
    let found: Vec<FoundKey> = diesel::sql_query(
        "WITH RECURSIVE chain AS (
             SELECT id, coalesce(adoptive_parent_key_id, created_by_key_id) AS effective_parent, tree_depth
             FROM api_keys WHERE id = ANY($1) AND consumer_id = $2
             UNION
             SELECT above.* FROM chain CROSS JOIN LATERAL (
                 SELECT id, coalesce(adoptive_parent_key_id, created_by_key_id), tree_depth FROM api_keys
                 WHERE id = chain.effective_parent AND consumer_id = $2 AND tree_depth > $3 AND tree_depth < chain.tree_depth
                 LIMIT 1
             ) AS above
         )
         SELECT id FROM chain LIMIT $4",
    )
    .bind::<Array<SqlUuid>, _>(keys)
    .bind::<SqlUuid, _>(consumer)
    .bind::<BigInt, _>(depth)
    .bind::<BigInt, _>(limit::at_most(at_most))
    .load(connection)
    .await?;
    Ok(FoundKey::ids(found))
}

/// A consumer's key and some of its descendants, up to a limit, which also bounds the work.
pub(super) async fn some_below(
    connection: &mut AsyncPgConnection,
    consumer: Uuid,
    id: Uuid,
    at_most: usize,
) -> QueryResult<Vec<Uuid>> {
    let found: Vec<FoundKey> = diesel::sql_query(
        "WITH RECURSIVE below AS (
             SELECT id FROM api_keys WHERE id = $1 AND consumer_id = $2
             UNION
             SELECT child.id FROM below CROSS JOIN LATERAL (
                 SELECT id FROM api_keys
                 WHERE coalesce(adoptive_parent_key_id, created_by_key_id) = below.id AND consumer_id = $2 LIMIT $3
             ) AS child
         )
         SELECT id FROM below LIMIT $3",
    )
    .bind::<SqlUuid, _>(id)
    .bind::<SqlUuid, _>(consumer)
    .bind::<BigInt, _>(limit::at_most(at_most))
    .load(connection)
    .await?;
    Ok(FoundKey::ids(found))
}
