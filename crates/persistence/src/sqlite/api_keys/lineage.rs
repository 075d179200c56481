//! Which keys were created from which, directly or not, also through keys that are kept no longer.
//!
//! A consumer has few valid keys, but there is no end to those that it creates and revokes. So whatever is asked is worked
//! out from the valid ones upwards, in steps that pass over most of what is between (`api_keys.skip_key_id`), or has a
//! limit. Each step leads to a smaller depth, so each search ends, even if rows pointed at each other in a circle.

use std::convert::Infallible;

use diesel::QueryResult;
use diesel::prelude::{
    ExpressionMethods, QueryDsl, QueryableByName, RunQueryDsl, SelectableHelper, SqliteConnection,
};
use diesel::sql_types::{BigInt, Binary, Text};
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::{ApiKeyId, ConsumerId};
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use super::row::KeyRow;
use crate::abort::Abort;
use crate::limit;
use crate::lineage::{InLine, upwards};
use crate::sqlite::columns::StoredId;
use crate::sqlite::organization_keys::selection::{as_json, listed};
use crate::sqlite::schema::api_keys;

pub(super) fn valid_descendants(
    connection: &mut SqliteConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
) -> Result<Vec<ApiKey>, Abort<Infallible>> {
    let found = valid_from(connection, &[StoredId(consumer.as_uuid())], &[id.as_uuid()])?;
    let rows: Vec<KeyRow> = api_keys::table
        .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
        .filter(api_keys::revoked_at.is_null())
        .filter(api_keys::id.ne(StoredId(id.as_uuid())))
        .filter(listed(found.into_iter()))
        .order(api_keys::id.desc())
        .select(KeyRow::as_select())
        .load(connection)?;
    let keys: Result<Vec<ApiKey>, StorageError> = rows.into_iter().map(ApiKey::try_from).collect();
    Ok(keys?)
}

/// One climb for each key and depth to look for: to the key of that depth which it came from. The step is the longer one of
/// two that does not lead past it, and no step leads to another consumer's key.
const CLIMB: &str = "
    SELECT climb.start, climb.goal, above.id, coalesce(above.adopted_by_key_id, above.created_by_key_id),
        above.skip_key_id, above.tree_depth, above.consumer_id
    FROM climb CROSS JOIN api_keys above ON above.id = (
        SELECT step.id FROM api_keys step
        WHERE step.id IN (climb.skip_key_id, climb.next_above) AND +step.consumer_id = climb.consumer_id
            AND step.tree_depth >= climb.goal AND step.tree_depth < climb.tree_depth
        ORDER BY step.tree_depth LIMIT 1
    )";

/// The valid ones among these keys of these consumers and what came from them, by rising identifier.
pub(in crate::sqlite) fn valid_from(
    connection: &mut SqliteConnection,
    consumers: &[StoredId],
    roots: &[Uuid],
) -> QueryResult<Vec<Uuid>> {
    let found: Vec<FoundId> = diesel::sql_query(format!(
        "WITH RECURSIVE roots (id) AS MATERIALIZED (
             SELECT unhex(value) FROM json_each(?)
         ), goals AS MATERIALIZED (
             SELECT DISTINCT root.consumer_id, root.tree_depth FROM roots CROSS JOIN api_keys root ON root.id = roots.id
             WHERE +root.consumer_id IN (SELECT unhex(value) FROM json_each(?))
         ), climb (start, goal, id, next_above, skip_key_id, tree_depth, consumer_id) AS (
             SELECT key.id, goals.tree_depth, key.id, coalesce(key.adopted_by_key_id, key.created_by_key_id),
                 key.skip_key_id, key.tree_depth, key.consumer_id
             FROM goals CROSS JOIN api_keys key ON key.consumer_id = goals.consumer_id AND key.revoked_at IS NULL
                 AND key.tree_depth >= goals.tree_depth
             WHERE still_awaited(key.id)
             UNION ALL {CLIMB}
         )
         SELECT DISTINCT start AS id FROM climb WHERE id IN (SELECT id FROM roots) ORDER BY start"
    ))
    .bind::<Text, _>(as_json(roots.iter().copied()))
    .bind::<Text, _>(as_json(consumers.iter().map(|consumer| consumer.0)))
    .load(connection)?;
    Ok(found.into_iter().map(|row| row.id.0).collect())
}

/// How many keys of the line that ends with this one are valid.
pub(super) fn valid_in_line(
    connection: &mut SqliteConnection,
    consumer: ConsumerId,
    id: ApiKeyId,
) -> QueryResult<i64> {
    let consumer = StoredId(consumer.as_uuid());
    let counted: Counted = diesel::sql_query(format!(
        "WITH RECURSIVE goals AS MATERIALIZED (
             SELECT DISTINCT tree_depth FROM api_keys WHERE consumer_id = ? AND revoked_at IS NULL
         ), climb (start, goal, id, next_above, skip_key_id, tree_depth, consumer_id) AS (
             SELECT key.id, goals.tree_depth, key.id, coalesce(key.adopted_by_key_id, key.created_by_key_id),
                 key.skip_key_id, key.tree_depth, key.consumer_id
             FROM api_keys key CROSS JOIN goals ON goals.tree_depth <= key.tree_depth
             WHERE key.id = ? AND +key.consumer_id = ?
             UNION ALL {CLIMB}
         )
         SELECT count(*) AS count FROM api_keys
         WHERE id IN (SELECT id FROM climb WHERE tree_depth = goal) AND +consumer_id = ? AND revoked_at IS NULL"
    ))
    .bind::<Binary, _>(consumer)
    .bind::<Binary, _>(StoredId(id.as_uuid()))
    .bind::<Binary, _>(consumer)
    .bind::<Binary, _>(consumer)
    .get_result(connection)?;
    Ok(counted.count)
}

/// A consumer's key and what it came from, so many keys at most, the key itself first.
pub(in crate::sqlite) fn line_above(
    connection: &mut SqliteConnection,
    consumer: StoredId,
    id: Uuid,
    at_most: usize,
) -> QueryResult<Vec<InLine>> {
    let line: Vec<FoundInLine> = diesel::sql_query(
        "WITH RECURSIVE line (id, next_above, tree_depth, consumer_id) AS (
             SELECT id, coalesce(adopted_by_key_id, created_by_key_id), tree_depth, consumer_id
             FROM api_keys WHERE id = ? AND +consumer_id = ?
             UNION ALL
             SELECT above.id, coalesce(above.adopted_by_key_id, above.created_by_key_id), above.tree_depth,
                 above.consumer_id
             FROM line CROSS JOIN api_keys above ON above.id = line.next_above AND +above.consumer_id = line.consumer_id
                 AND above.tree_depth < line.tree_depth
             LIMIT ?
         )
         SELECT id, tree_depth AS depth FROM line",
    )
    .bind::<Binary, _>(StoredId(id))
    .bind::<Binary, _>(consumer)
    .bind::<BigInt, _>(limit::at_most(at_most))
    .load(connection)?;
    Ok(upwards(
        line.into_iter().map(|row| (row.id.0, row.depth)).collect(),
    ))
}

/// What is between these keys of a consumer and one of that depth, so many keys at most, the nearest first.
pub(in crate::sqlite) fn some_between(
    connection: &mut SqliteConnection,
    consumer: StoredId,
    keys: &[Uuid],
    depth: i64,
    at_most: usize,
) -> QueryResult<Vec<Uuid>> {
    let found: Vec<FoundId> = diesel::sql_query(
        "WITH RECURSIVE line (id, next_above, tree_depth, consumer_id) AS (
             SELECT id, coalesce(adopted_by_key_id, created_by_key_id), tree_depth, consumer_id
             FROM api_keys WHERE id IN (SELECT unhex(value) FROM json_each(?)) AND +consumer_id = ?
             UNION
             SELECT above.id, coalesce(above.adopted_by_key_id, above.created_by_key_id), above.tree_depth,
                 above.consumer_id
             FROM line CROSS JOIN api_keys above ON above.id = line.next_above AND +above.consumer_id = line.consumer_id
                 AND above.tree_depth > ? AND above.tree_depth < line.tree_depth
             LIMIT ?
         )
         SELECT id FROM line",
    )
    .bind::<Text, _>(as_json(keys.iter().copied()))
    .bind::<Binary, _>(consumer)
    .bind::<BigInt, _>(depth)
    .bind::<BigInt, _>(limit::at_most(at_most))
    .load(connection)?;
    Ok(found.into_iter().map(|row| row.id.0).collect())
}

/// A consumer's key and some of what came from it, so many keys at most. SQLite looks for no more than that.
pub(in crate::sqlite) fn some_below(
    connection: &mut SqliteConnection,
    consumer: StoredId,
    id: Uuid,
    at_most: usize,
) -> QueryResult<Vec<Uuid>> {
    let found: Vec<FoundId> = diesel::sql_query(
        "WITH RECURSIVE below AS (
             SELECT id, consumer_id FROM api_keys WHERE id = ? AND consumer_id = ?
             UNION
             SELECT child.id, child.consumer_id
             FROM below CROSS JOIN api_keys child
                 ON coalesce(child.adopted_by_key_id, child.created_by_key_id) = below.id
                 AND +child.consumer_id = below.consumer_id
             LIMIT ?
         )
         SELECT id FROM below",
    )
    .bind::<Binary, _>(StoredId(id))
    .bind::<Binary, _>(consumer)
    .bind::<BigInt, _>(limit::at_most(at_most))
    .load(connection)?;
    Ok(found.into_iter().map(|row| row.id.0).collect())
}

#[derive(QueryableByName)]
struct FoundInLine {
    #[diesel(sql_type = Binary)]
    id: StoredId,
    #[diesel(sql_type = BigInt)]
    depth: i64,
}

#[derive(QueryableByName)]
struct FoundId {
    #[diesel(sql_type = Binary)]
    id: StoredId,
}

#[derive(QueryableByName)]
struct Counted {
    #[diesel(sql_type = BigInt)]
    count: i64,
}
