//! Key trees in SQL: ancestors and descendants of keys, also across purged keys.
//!
//! A consumer has few valid keys, but may have created and revoked any number. So each query walks up from
//! the valid keys, in steps that skip most keys between (`api_keys.skip_key_id`), or has a limit. Each step
//! leads to a smaller depth, so each walk ends, even if damaged rows form a cycle.

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::prelude::{RunQueryDsl, SqliteConnection};
use diesel::sql_types::{BigInt, Binary, Text};
use keyward_domain::id::{ApiKeyId, MembershipId};
use uuid::Uuid;

use super::dialect::Pipelined;
use super::found_keys::{Counted, FoundChainKey, FoundKey, FoundStep};
use super::listed::as_json;
use super::validity::not_over;
use crate::columns::StoredId;
use crate::key_tree::{ChainKey, Step, starts_below, upwards};
use crate::limit;

/// The deepest depth of interest (`goals`) that is at or above a key of a walk.
const NEXT_GOAL: &str = "
    CASE WHEN climb.tree_depth > climb.goal THEN climb.goal ELSE (
        SELECT max(goals.tree_depth) FROM goals
        WHERE +goals.consumer_id = climb.consumer_id AND goals.tree_depth < climb.tree_depth
    ) END";

/// Walks up from each start key through all goals above it; each step goes as far as it can without passing
/// the next goal. Where keys were purged, the next stored key may be past the goal, with nothing between. No
/// step leads to another consumer's key. Walks that meet continue as one.
fn climb() -> String {
    format!(
        "SELECT climb.id, above.id, coalesce(above.adoptive_parent_key_id, above.created_by_key_id), above.skip_key_id,
             above.tree_depth, above.consumer_id, {NEXT_GOAL}
         FROM climb CROSS JOIN api_keys above ON above.id = (
             SELECT step.id FROM api_keys step
             WHERE step.id IN (climb.skip_key_id, climb.effective_parent) AND +step.consumer_id = climb.consumer_id
                 AND {NEXT_GOAL} <= CASE step.id WHEN climb.effective_parent THEN climb.tree_depth ELSE step.tree_depth END
                 AND step.tree_depth < climb.tree_depth
             ORDER BY step.tree_depth LIMIT 1
         )"
    )
}

/// The valid keys among these keys of these consumers and their descendants, by ascending identifier.
pub(super) async fn valid_from(
    connection: Pipelined<'_>,
    consumers: &[Uuid],
    roots: &[Uuid],
    now: DateTime<Utc>,
) -> QueryResult<Vec<Uuid>> {
    let steps = steps_to(connection, consumers, roots, now)?;
    Ok(starts_below(&steps, roots))
}

/// The steps from all valid keys of these consumers up to these roots; each walk ends at the first root it
/// meets. There are few steps per key, however many dead keys and roots there are.
fn steps_to(
    connection: &mut SqliteConnection,
    consumers: &[Uuid],
    roots: &[Uuid],
    now: DateTime<Utc>,
) -> QueryResult<Vec<Step>> {
    let (climb, valid) = (climb(), not_over("key", "revoked_at", "?"));
    // Each walk's first goal is the deepest one that is no deeper than its start key.
    let found: Vec<FoundStep> = diesel::sql_query(format!(
        "WITH RECURSIVE roots (id) AS MATERIALIZED (
             SELECT unhex(value) FROM json_each(?)
         ), goals AS MATERIALIZED (
             SELECT DISTINCT root.consumer_id, root.tree_depth FROM roots CROSS JOIN api_keys root ON root.id = roots.id
             WHERE +root.consumer_id IN (SELECT unhex(value) FROM json_each(?))
         ), consumers AS MATERIALIZED (
             SELECT DISTINCT consumer_id FROM goals
         ), starts (id, effective_parent, skip_key_id, tree_depth, consumer_id, goal) AS MATERIALIZED (
             SELECT key.id, coalesce(key.adoptive_parent_key_id, key.created_by_key_id), key.skip_key_id, key.tree_depth,
                 key.consumer_id, NULL
             FROM consumers CROSS JOIN api_keys key ON key.consumer_id = consumers.consumer_id
                 AND {valid}
             WHERE not_cancelled(key.id)
             UNION ALL
             SELECT NULL, NULL, NULL, tree_depth, consumer_id, tree_depth FROM goals
         ), aimed AS MATERIALIZED (
             SELECT id, effective_parent, skip_key_id, tree_depth, consumer_id,
                 max(goal) OVER (PARTITION BY consumer_id ORDER BY tree_depth) AS goal
             FROM starts
         ), climb (below, id, effective_parent, skip_key_id, tree_depth, consumer_id, goal) AS (
             SELECT NULL, id, effective_parent, skip_key_id, tree_depth, consumer_id, goal FROM aimed
             WHERE id IS NOT NULL AND goal IS NOT NULL
             UNION {climb} WHERE climb.id NOT IN (SELECT id FROM roots)
         )
         SELECT below, id FROM climb"
    ))
    .bind::<Text, _>(as_json(roots.iter().copied()))
    .bind::<Text, _>(as_json(consumers.iter().copied()))
    .bind::<BigInt, _>(now.timestamp_millis())
    .load(connection)?;
    Ok(found.into_iter().map(Step::from).collect())
}

/// Counts the valid keys among this key and its ancestors, as [`ApiKey::depth_of`] does.
///
/// [`ApiKey::depth_of`]: keyward_domain::api_key::ApiKey::depth_of
pub(super) async fn valid_in_chain(
    connection: Pipelined<'_>,
    consumer: MembershipId,
    id: ApiKeyId,
    now: DateTime<Utc>,
) -> QueryResult<i64> {
    let (consumer, climb, valid) = (
        consumer.as_uuid(),
        climb(),
        not_over("api_keys", "revoked_at", "?"),
    );
    let counted: Counted = diesel::sql_query(format!(
        "WITH RECURSIVE goals AS MATERIALIZED (
             SELECT DISTINCT consumer_id, tree_depth FROM api_keys WHERE consumer_id = ? AND {valid}
         ), climb (below, id, effective_parent, skip_key_id, tree_depth, consumer_id, goal) AS (
             SELECT NULL, id, coalesce(adoptive_parent_key_id, created_by_key_id), skip_key_id, tree_depth, consumer_id,
                 tree_depth
             FROM api_keys WHERE id = ? AND +consumer_id = ?
             UNION {climb}
         ), chain AS MATERIALIZED (
             SELECT id, rotated_to_key_id FROM api_keys
             WHERE id IN (SELECT id FROM climb) AND +consumer_id = ? AND {valid}
         )
         SELECT count(*) AS count FROM chain
         WHERE rotated_to_key_id IS NULL OR rotated_to_key_id NOT IN (SELECT id FROM chain)"
    ))
    .bind::<Binary, _>(StoredId(consumer))
    .bind::<BigInt, _>(now.timestamp_millis())
    .bind::<Binary, _>(StoredId(id.as_uuid()))
    .bind::<Binary, _>(StoredId(consumer))
    .bind::<Binary, _>(StoredId(consumer))
    .bind::<BigInt, _>(now.timestamp_millis())
    .get_result(connection)?;
    Ok(counted.count)
}

/// A consumer's key, followed by its ancestors, up to a limit.
pub(super) async fn ancestor_chain(
    connection: Pipelined<'_>,
    consumer: Uuid,
    id: Uuid,
    at_most: usize,
) -> QueryResult<Vec<ChainKey>> {
    let chain: Vec<FoundChainKey> = diesel::sql_query(
        "WITH RECURSIVE chain (id, effective_parent, tree_depth, consumer_id) AS (
             SELECT id, coalesce(adoptive_parent_key_id, created_by_key_id), tree_depth, consumer_id
             FROM api_keys WHERE id = ? AND +consumer_id = ?
             UNION ALL
             SELECT above.id, coalesce(above.adoptive_parent_key_id, above.created_by_key_id), above.tree_depth,
                 above.consumer_id
             FROM chain CROSS JOIN api_keys above ON above.id = chain.effective_parent AND +above.consumer_id = chain.consumer_id
                 AND above.tree_depth < chain.tree_depth
             LIMIT ?
         )
         SELECT id, tree_depth AS depth FROM chain",
    )
    .bind::<Binary, _>(StoredId(id))
    .bind::<Binary, _>(StoredId(consumer))
    .bind::<BigInt, _>(limit::at_most(at_most))
    .load(connection)?;
    Ok(upwards(chain.into_iter().map(ChainKey::from).collect()))
}

/// The keys between these keys of a consumer and their ancestor at a depth, nearest first, up to a limit.
pub(super) async fn some_between(
    connection: Pipelined<'_>,
    consumer: Uuid,
    keys: &[Uuid],
    depth: i64,
    at_most: usize,
) -> QueryResult<Vec<Uuid>> {
    let found: Vec<FoundKey> = diesel::sql_query(
        "WITH RECURSIVE chain (id, effective_parent, tree_depth, consumer_id) AS (
             SELECT id, coalesce(adoptive_parent_key_id, created_by_key_id), tree_depth, consumer_id
             FROM api_keys WHERE id IN (SELECT unhex(value) FROM json_each(?)) AND +consumer_id = ?
             UNION
             SELECT above.id, coalesce(above.adoptive_parent_key_id, above.created_by_key_id), above.tree_depth,
                 above.consumer_id
             FROM chain CROSS JOIN api_keys above ON above.id = chain.effective_parent AND +above.consumer_id = chain.consumer_id
                 AND above.tree_depth > ? AND above.tree_depth < chain.tree_depth
             LIMIT ?
         )
         SELECT id FROM chain",
    )
    .bind::<Text, _>(as_json(keys.iter().copied()))
    .bind::<Binary, _>(StoredId(consumer))
    .bind::<BigInt, _>(depth)
    .bind::<BigInt, _>(limit::at_most(at_most))
    .load(connection)?;
    Ok(FoundKey::ids(found))
}

/// A consumer's key and some of its descendants, up to a limit, which also bounds the work.
pub(super) async fn some_below(
    connection: Pipelined<'_>,
    consumer: Uuid,
    id: Uuid,
    at_most: usize,
) -> QueryResult<Vec<Uuid>> {
    let found: Vec<FoundKey> = diesel::sql_query(
        "WITH RECURSIVE below AS (
             SELECT id, consumer_id FROM api_keys WHERE id = ? AND consumer_id = ?
             UNION
             SELECT child.id, child.consumer_id
             FROM below CROSS JOIN api_keys child
                 ON coalesce(child.adoptive_parent_key_id, child.created_by_key_id) = below.id
                 AND +child.consumer_id = below.consumer_id
             LIMIT ?
         )
         SELECT id FROM below",
    )
    .bind::<Binary, _>(StoredId(id))
    .bind::<Binary, _>(StoredId(consumer))
    .bind::<BigInt, _>(limit::at_most(at_most))
    .load(connection)?;
    Ok(FoundKey::ids(found))
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use diesel::connection::SimpleConnection;
    use tempfile::TempDir;
    use uuid::Uuid;

    use super::{starts_below, steps_to};
    use crate::abort::Abort;
    use crate::sqlite::tests::scene::scene;

    const DEAD: u128 = 3_000;
    const VALID: usize = 50;

    /// A chain of dead keys, and valid keys created with the last of them.
    fn chain() -> String {
        format!(
            "INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_key_id,
                 created_at, revoked_at, end_came_at, revoked_by_kind, revoked_reason)
             SELECT unhex(printf('%032x', number)), zeroblob(16), randomblob(32), 'kwp_…cccc', 'dead', '', 'dead',
                 unhex(printf('%032x', number - 1)), 0, 0, 0, 'administrator', 'administrator'
             FROM (WITH RECURSIVE series (number) AS (
                 SELECT 1 UNION ALL SELECT number + 1 FROM series WHERE number < {DEAD}
             ) SELECT number FROM series) ORDER BY number;
             INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_key_id,
                 created_at)
             SELECT randomblob(16), zeroblob(16), randomblob(32), 'kwp_…dddd', 'valid', '', 'valid',
                 unhex(printf('%032x', {DEAD})), 0
             FROM api_keys WHERE revoked_at IS NOT NULL LIMIT {VALID}"
        )
    }

    #[tokio::test]
    async fn keys_below_many_roots_are_traversed_once() {
        let directory = TempDir::new().unwrap();
        let store = scene(&directory).await;
        let roots: Vec<Uuid> = (1..=100).map(|number| Uuid::from_u128(number * 29)).collect();
        let found = store.change_blocking(move |connection| {
            connection.batch_execute(&chain())?;
            let steps = steps_to(connection, &[Uuid::nil()], &roots, DateTime::UNIX_EPOCH)?;
            let below = starts_below(&steps, &roots);
            Ok::<_, Abort<keyward_domain::ports::StorageError>>((steps.len(), below.len()))
        });
        let (steps, below) = found.await.unwrap();
        assert_eq!(below, VALID);
        // One shared walk, plus each key's start and its step to the walk.
        assert!(steps < 2 * VALID + 40, "{steps} steps");
    }
}
