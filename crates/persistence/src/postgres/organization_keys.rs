//! Index queries that yield the candidate keys of a filter.

use chrono::{DateTime, Utc};
use diesel::prelude::{QueryResult, QueryableByName};
use diesel::sql_types::{Array, BigInt, Integer, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::id::OrganizationId;
use uuid::Uuid;

use crate::columns::StoredMoment;
use crate::limit::at_most;
use crate::postgres::found_keys::FoundKey;
use crate::postgres::search::grams;
use crate::postgres::validity::not_over;

const SECONDS_OF_A_DAY: i64 = 86_400;

#[derive(QueryableByName)]
struct Span {
    #[diesel(sql_type = Text)]
    digits: String,
}

/// The organization's keys whose own text probably contains the term.
///
/// The index has no order. So one span of time after the other is searched, the newest first, until enough
/// keys are found.
pub(crate) async fn containing_term(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    term: &str,
    before: Uuid,
    limit: usize,
) -> QueryResult<Vec<Uuid>> {
    let spans = spans_with_keys(connection, organization, before).await?;
    let of_spans = spans.iter().map(|span| grams(organization, &span.digits, term));
    let found: Vec<FoundKey> = diesel::sql_query(
        "WITH RECURSIVE searched (spans, keys, total) AS (
             SELECT 0, CAST('{}' AS uuid[]), 0
             UNION ALL
             SELECT searched.spans + 1, of_span.keys, searched.total + cardinality(of_span.keys)
             FROM searched
             CROSS JOIN LATERAL (
                 SELECT ARRAY(
                     SELECT key_id FROM api_key_search
                     WHERE search_grams(organization_id, key_id, search_text)
                             @@ CAST((CAST($1 AS text[]))[searched.spans + 1] AS tsquery)
                         AND organization_id = $2
                         -- With IS TRUE, PostgreSQL does not read the index of identifiers for each span, too.
                         AND (key_id < $3) IS TRUE
                 ) AS keys
                 -- Without OFFSET, the subquery would run once for each place where its result is used.
                 OFFSET 0
             ) AS of_span
             WHERE searched.spans < cardinality(CAST($1 AS text[])) AND searched.total < $4
         )
         SELECT unnest(keys) AS id FROM searched ORDER BY id DESC LIMIT $4",
    )
    .bind::<Array<Text>, _>(of_spans.collect::<Vec<_>>())
    .bind::<SqlUuid, _>(organization.as_uuid())
    .bind::<SqlUuid, _>(before)
    .bind::<BigInt, _>(at_most(limit))
    .load(connection)
    .await?;
    Ok(FoundKey::ids(found))
}

/// The spans of time with keys of the organization from before this one, the newest first: see `search_span`
/// in the first migration.
async fn spans_with_keys(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    before: Uuid,
) -> QueryResult<Vec<Span>> {
    diesel::sql_query(
        "WITH RECURSIVE newest (id) AS (
             SELECT (
                 SELECT id FROM api_keys WHERE organization_id = $1 AND id < $2
                 ORDER BY organization_id DESC, id DESC LIMIT 1
             )
             UNION ALL
             SELECT (
                 SELECT api_keys.id FROM api_keys
                 WHERE organization_id = $1
                     AND api_keys.id < CAST(search_span(newest.id) || '000-0000-0000-0000-000000000000' AS uuid)
                 ORDER BY organization_id DESC, api_keys.id DESC LIMIT 1
             )
             FROM newest WHERE newest.id IS NOT NULL
         )
         SELECT search_span(id) AS digits FROM newest WHERE id IS NOT NULL",
    )
    .bind::<SqlUuid, _>(organization.as_uuid())
    .bind::<SqlUuid, _>(before)
    .load(connection)
    .await
}

/// Valid keys that were not used since this moment or, if they never were, not created since.
///
/// The index has them by the day since when they have been idle, and those of one day by identifier. The
/// newest of all are on the days with the newest keys. So few days are read, and little of each, however many
/// keys are idle.
pub(crate) async fn unused(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    since: DateTime<Utc>,
    before: Uuid,
    limit: usize,
    now: StoredMoment,
) -> QueryResult<Vec<Uuid>> {
    let day = since.timestamp().div_euclid(SECONDS_OF_A_DAY);
    let valid = not_over("api_keys", "revoked_at", "$6");
    let found: Vec<FoundKey> = diesel::sql_query(format!(
        "WITH RECURSIVE days (day) AS (
             SELECT (
                 SELECT idle_since_day FROM api_keys
                 WHERE organization_id = $1 AND end_came_at IS NULL AND idle_since_day < $2
                 ORDER BY idle_since_day DESC LIMIT 1
             )
             UNION ALL
             SELECT (
                 SELECT idle_since_day FROM api_keys
                 WHERE organization_id = $1 AND end_came_at IS NULL AND idle_since_day < days.day
                 ORDER BY idle_since_day DESC LIMIT 1
             )
             FROM days WHERE days.day IS NOT NULL
         ),
         newest AS MATERIALIZED (
             SELECT days.day, of_day.id FROM days
             CROSS JOIN LATERAL (
                 SELECT id FROM api_keys
                 WHERE organization_id = $1 AND {valid} AND idle_since_day = days.day AND id < $3
                 ORDER BY id DESC LIMIT 1
             ) AS of_day
             ORDER BY of_day.id DESC LIMIT $4
         )
         SELECT id FROM (
             SELECT of_day.id FROM newest
             CROSS JOIN LATERAL (
                 SELECT id FROM api_keys
                 WHERE organization_id = $1 AND {valid} AND idle_since_day = newest.day AND id < $3
                 ORDER BY id DESC LIMIT $4
             ) AS of_day
             UNION ALL
             SELECT id FROM api_keys
             WHERE organization_id = $1 AND {valid} AND idle_since_day = $2 AND id < $3
                 AND coalesce(last_used_at, created_at) < $5
         ) AS unused
         ORDER BY id DESC LIMIT $4"
    ))
    .bind::<SqlUuid, _>(organization.as_uuid())
    .bind::<Integer, _>(i32::try_from(day).unwrap_or(i32::MAX))
    .bind::<SqlUuid, _>(before)
    .bind::<BigInt, _>(at_most(limit))
    .bind::<Timestamptz, _>(since)
    .bind::<Timestamptz, _>(now)
    .load(connection)
    .await?;
    Ok(FoundKey::ids(found))
}
