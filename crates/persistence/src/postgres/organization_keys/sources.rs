//! Index queries that yield the candidate keys of a filter.

use chrono::{DateTime, Utc};
use diesel::dsl::sql;
use diesel::prelude::{ExpressionMethods, QueryDsl, QueryResult, TextExpressionMethods};
use diesel::sql_types::{Bool, Text, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::id::OrganizationId;
use uuid::Uuid;

use crate::columns::StoredMoment;
use crate::limit::at_most;
use crate::postgres::schema::{api_key_search, api_keys, memberships, users};
use crate::postgres::search::{containing, grams};
use crate::postgres::validity::{key_is_valid, membership_is_over};
use crate::search::is_in_no_text;

diesel::define_sql_function! {
    /// SQL's `coalesce`. Applied to an identifier twice, it is the identifier, but hides that from the planner:
    /// PostgreSQL then sorts what the search index yields. Ordered by the identifier itself, it might scan all keys,
    /// newest first, when it expects to find enough matches soon.
    #[sql_name = "coalesce"]
    fn either(first: SqlUuid, second: SqlUuid) -> SqlUuid;
}

const SECONDS_OF_A_DAY: i64 = 86_400;

/// The organization's keys whose own text probably contains the term.
pub(crate) async fn containing_term(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    term: &str,
    before: Uuid,
    limit: usize,
) -> QueryResult<Vec<Uuid>> {
    let has_grams = sql::<Bool>("search_grams(organization_id, search_text) @@ CAST(")
        .bind::<Text, _>(grams(organization, term))
        .sql(" AS tsquery)");
    api_key_search::table
        .filter(has_grams)
        .filter(api_key_search::organization_id.eq(organization.as_uuid()))
        .filter(api_key_search::key_id.lt(before))
        .select(api_key_search::key_id)
        .order(either(api_key_search::key_id, api_key_search::key_id).desc())
        .limit(at_most(limit))
        .load(connection)
        .await
}

/// All keys of users whose name contains the term.
pub(crate) async fn of_holders_with_term(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    term: &str,
    before: Uuid,
    limit: usize,
) -> QueryResult<Vec<Uuid>> {
    if is_in_no_text(term) {
        return Ok(Vec::new());
    }
    let pattern = containing(term);
    let holders = memberships::table
        .inner_join(users::table)
        .filter(memberships::organization_id.eq(organization.as_uuid()))
        .filter(users::search_text.like(pattern))
        .select(memberships::id);
    api_keys::table
        .filter(api_keys::consumer_id.eq_any(holders))
        .filter(api_keys::id.lt(before))
        .select(api_keys::id)
        .order(either(api_keys::id, api_keys::id).desc())
        .limit(at_most(limit))
        .load(connection)
        .await
}

/// Valid keys that were neither created nor used after the day of `since`; may include others, which the filter
/// removes.
pub(crate) async fn unused(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    since: DateTime<Utc>,
    before: Uuid,
    limit: usize,
    now: StoredMoment,
) -> QueryResult<Vec<Uuid>> {
    // Keys of that day may or may not match.
    let day = since.timestamp().div_euclid(SECONDS_OF_A_DAY);
    api_keys::table
        .filter(api_keys::organization_id.eq(organization.as_uuid()))
        .filter(key_is_valid(now))
        .filter(api_keys::idle_since_day.le(i32::try_from(day).unwrap_or(i32::MAX)))
        .filter(api_keys::id.lt(before))
        .select(api_keys::id)
        .order(either(api_keys::id, api_keys::id).desc())
        .limit(at_most(limit))
        .load(connection)
        .await
}

/// Keys of former members.
pub(crate) async fn of_former_members(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    before: Uuid,
    limit: usize,
    now: StoredMoment,
) -> QueryResult<Vec<Uuid>> {
    let former_members = memberships::table
        .filter(memberships::organization_id.eq(organization.as_uuid()))
        .filter(membership_is_over(now))
        .select(memberships::id);
    api_keys::table
        .filter(api_keys::consumer_id.eq_any(former_members))
        .filter(api_keys::id.lt(before))
        .select(api_keys::id)
        .order(either(api_keys::id, api_keys::id).desc())
        .limit(at_most(limit))
        .load(connection)
        .await
}
