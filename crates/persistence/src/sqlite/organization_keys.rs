//! Index queries that yield the candidate keys of a filter.

use chrono::{DateTime, Utc};
use diesel::dsl::{exists, select};
use diesel::prelude::{
    ExpressionMethods, QueryDsl, QueryResult, QueryableByName, RunQueryDsl, SqliteConnection,
};
use diesel::sql_types::{BigInt, Binary, Text};
use keyward_domain::id::OrganizationId;
use uuid::Uuid;

use crate::columns::{StoredId, StoredMoment};
use crate::limit::at_most;
use crate::narrowing::newest;
use crate::sqlite::found_keys::FoundKey;
use crate::sqlite::schema::api_key_search;
use crate::sqlite::search::grams;
use crate::sqlite::validity::not_over;

/// The end of each run of consecutive numbers; see the migration `key_search`.
#[derive(QueryableByName)]
struct Run {
    #[diesel(sql_type = BigInt)]
    last_number: i64,
}

/// The organization's keys whose own text probably contains the term. Reads up to the limit from each run, in
/// which numbers ascend with identifiers, and all of the very few keys outside runs.
pub(crate) async fn containing_term(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    term: &str,
    before: Uuid,
    limit: usize,
) -> QueryResult<Vec<Uuid>> {
    let grams = grams(organization, term);
    let runs: Vec<Run> = diesel::sql_query(
        "SELECT last_number FROM (
             SELECT (
                 SELECT number FROM api_key_search WHERE number >> 40 = run.value AND key_id < ?
                 ORDER BY key_id DESC LIMIT 1
             ) AS last_number
             FROM json_each('[0,1,2,3,4,5,6,7]') AS run
         ) WHERE last_number IS NOT NULL",
    )
    .bind::<Binary, _>(StoredId(before))
    .load(connection)?;
    let mut found = Vec::new();
    for Run { last_number } in runs {
        let of_run: Vec<FoundKey> = diesel::sql_query(
            "SELECT api_key_search.key_id AS id
             FROM api_key_grams CROSS JOIN api_key_search ON api_key_search.number = api_key_grams.rowid
             WHERE api_key_grams MATCH ? AND api_key_grams.rowid BETWEEN ? AND ? AND not_cancelled(api_key_search.key_id)
             ORDER BY api_key_grams.rowid DESC
             LIMIT ?",
        )
        .bind::<Text, _>(&grams)
        .bind::<BigInt, _>(last_number >> 40 << 40)
        .bind::<BigInt, _>(last_number)
        .bind::<BigInt, _>(at_most(limit))
        .load(connection)?;
        found = newest(found, FoundKey::ids(of_run), limit);
    }
    // For a one-letter term, the index is slow even when it finds none of these.
    let numbers_below_0 = api_key_search::table.filter(api_key_search::number.lt(0));
    if !select(exists(numbers_below_0)).get_result::<bool>(connection)? {
        return Ok(found);
    }
    let others: Vec<FoundKey> = diesel::sql_query(
        "SELECT api_key_search.key_id AS id
         FROM api_key_grams CROSS JOIN api_key_search ON api_key_search.number = api_key_grams.rowid
         WHERE api_key_grams MATCH ? AND api_key_grams.rowid < 0 AND api_key_search.key_id < ?
             AND not_cancelled(api_key_search.key_id)",
    )
    .bind::<Text, _>(&grams)
    .bind::<Binary, _>(StoredId(before))
    .load(connection)?;
    Ok(newest(found, FoundKey::ids(others), limit))
}

/// Valid keys not used since this time or, if never used, not created since.
///
/// The index has them by the day since which they are idle, and those of one day by identifier. The newest
/// keys of all are on the days with the newest keys. So few days are read, and little of each, however many
/// keys are idle.
pub(crate) async fn unused(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    since: DateTime<Utc>,
    before: Uuid,
    limit: usize,
    now: StoredMoment,
) -> QueryResult<Vec<Uuid>> {
    let valid = not_over("api_keys", "revoked_at", "?5");
    let idle_day = "coalesce(last_used_at, created_at) / 86400000";
    // A subquery in FROM cannot refer to the rows beside it, but the argument of json_each can.
    let candidates: Vec<FoundKey> = diesel::sql_query(format!(
        "WITH RECURSIVE days (day) AS (
             SELECT (
                 SELECT {idle_day} FROM api_keys
                 WHERE organization_id = ?1 AND end_came_at IS NULL AND {idle_day} < ?2 / 86400000
                 ORDER BY {idle_day} DESC LIMIT 1
             )
             UNION ALL
             SELECT (
                 SELECT {idle_day} FROM api_keys
                 WHERE organization_id = ?1 AND end_came_at IS NULL AND {idle_day} < days.day
                 ORDER BY {idle_day} DESC LIMIT 1
             )
             FROM days WHERE days.day IS NOT NULL
         ),
         newest (day, id) AS MATERIALIZED (
             SELECT day, (
                 SELECT id FROM api_keys
                 WHERE organization_id = ?1 AND {valid} AND {idle_day} = days.day AND id < ?3 AND not_cancelled(id)
                 ORDER BY id DESC LIMIT 1
             ) AS newest_id
             FROM days WHERE day IS NOT NULL
             ORDER BY newest_id DESC LIMIT ?4
         )
         SELECT unhex(of_day.value) AS id
         FROM newest CROSS JOIN json_each((
             SELECT json_group_array(hex(id)) FROM (
                 SELECT id FROM api_keys
                 WHERE organization_id = ?1 AND {valid} AND {idle_day} = newest.day AND id < ?3 AND not_cancelled(id)
                 ORDER BY id DESC LIMIT ?4
             )
         )) AS of_day
         WHERE newest.id IS NOT NULL
         UNION ALL
         SELECT id FROM api_keys
         WHERE organization_id = ?1 AND {valid} AND {idle_day} = ?2 / 86400000 AND id < ?3
             AND coalesce(last_used_at, created_at) < ?2 AND not_cancelled(id)
         ORDER BY id DESC LIMIT ?4"
    ))
    .bind::<Binary, _>(StoredId(organization.as_uuid()))
    .bind::<BigInt, _>(since.timestamp_millis())
    .bind::<Binary, _>(StoredId(before))
    .bind::<BigInt, _>(at_most(limit))
    .bind::<BigInt, _>(now)
    .load(connection)?;
    Ok(FoundKey::ids(candidates))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use diesel::connection::SimpleConnection;
    use keyward_domain::ports::StorageError;
    use tempfile::TempDir;

    use super::*;
    use crate::abort::Abort;
    use crate::sqlite::SqliteStore;
    use crate::sqlite::not_cancelled;
    use crate::sqlite::tests::scene::scene;

    const TERM: &str = "needle";

    async fn add_keys(store: &SqliteStore, ids: impl Iterator<Item = u128>) {
        let rows: Vec<String> = ids
            .map(|id| {
                format!(
                    "(x'{id:032x}', zeroblob(16), randomblob(32), 'kwp_…cccc', 'needle', '', 'needle', zeroblob(16), 0)"
                )
            })
            .collect();
        let added = store.change_blocking(move |connection| {
            for rows in rows.chunks(500) {
                connection.batch_execute(&format!(
                    "INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text,
                         created_by_user_id, created_at) VALUES {}",
                    rows.join(", ")
                ))?;
            }
            Ok::<_, Abort<StorageError>>(())
        });
        added.await.unwrap();
    }

    /// The keys that a search finds, and how many keys it looks at.
    async fn search(store: &SqliteStore, before: u128, limit: usize) -> (Vec<u128>, usize) {
        let found = store.read(move |connection| {
            Box::pin(async move {
                let looked_at = Arc::new(AtomicUsize::new(0));
                let counted = Arc::clone(&looked_at);
                not_cancelled::register(connection, move || {
                    counted.fetch_add(1, Ordering::Relaxed) < usize::MAX
                })?;
                let organization = OrganizationId::from_uuid(Uuid::nil());
                let found =
                    containing_term(connection, organization, TERM, Uuid::from_u128(before), limit).await?;
                let found = found.iter().map(Uuid::as_u128).collect();
                Ok((found, looked_at.load(Ordering::Relaxed)))
            })
        });
        found.await.unwrap()
    }

    #[tokio::test]
    async fn keys_from_a_fast_clock_do_not_slow_searches() {
        const LATER: u128 = 5_000;
        let directory = TempDir::new().unwrap();
        let store = scene(&directory).await;
        let ahead = 1_000_000..1_000_010;
        add_keys(&store, ahead.chain(1..=LATER)).await;
        let (found, looked_at) = search(&store, 1_000_000, 10).await;
        assert_eq!(found, (LATER - 9..=LATER).rev().collect::<Vec<_>>());
        assert!(looked_at <= 20, "{looked_at}");
        let (found, looked_at) = search(&store, u128::MAX, 15).await;
        let expected = (1_000_000..1_000_010).rev().chain((LATER - 4..=LATER).rev());
        assert_eq!(found, expected.collect::<Vec<_>>());
        assert!(looked_at <= 30, "{looked_at}");
    }

    #[tokio::test]
    async fn keys_are_found_newest_first_in_any_insertion_order() {
        let directory = TempDir::new().unwrap();
        let store = scene(&directory).await;
        // Falling, so that there are more than runs; and every residue once.
        let descending = (1..=20).rev().map(|id| id * 1_000);
        let mixed = (1..=400).map(|number| number * 7_919 % 30_011 + 30_000);
        let all: Vec<u128> = descending.chain(mixed).collect();
        add_keys(&store, all.iter().copied()).await;
        let mut sorted = all;
        sorted.sort_unstable_by(|one, other| other.cmp(one));
        for before in [u128::MAX, 45_000, 30_000, 5_500, 1] {
            let expected: Vec<u128> = sorted
                .iter()
                .copied()
                .filter(|id| *id < before)
                .take(50)
                .collect();
            assert_eq!(search(&store, before, 50).await.0, expected, "before {before}");
        }
    }
}
