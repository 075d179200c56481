//! What names the keys that may pass a filter, by an index.

use chrono::{DateTime, Utc};
use diesel::dsl::sql;
use diesel::prelude::{ExpressionMethods, QueryDsl, QueryResult, TextExpressionMethods};
use diesel::sql_types::{Bool, Text, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::administration::ports::{HolderFilter, OrganizationKeyFilter};
use keyward_domain::id::OrganizationId;
use uuid::Uuid;

use super::selection::organization_of_key;
use crate::limit::at_most;
use crate::narrowing::newest;
use crate::postgres::schema::{api_key_search, api_keys, memberships, users};
use crate::postgres::search::{coalesce, containing, grams};
use crate::search::is_in_no_text;

diesel::define_sql_function! {
    /// The first of the two that is there. Of an identifier and itself that is the identifier, but PostgreSQL does not know:
    /// ordered by it, what an index names is sorted. Ordered by the identifier alone, PostgreSQL would go through all keys,
    /// newest first, where it expects to meet enough of these soon.
    #[sql_name = "coalesce"]
    fn either(first: SqlUuid, second: SqlUuid) -> SqlUuid;
}

const SECONDS_OF_A_DAY: i64 = 86_400;

/// Part of a filter that an index knows about.
pub(super) enum Source {
    /// Keys that contain the term, and all keys of holders who do.
    Term(String),
    /// Valid keys that were neither created nor used after the day of this moment, and perhaps others.
    UnusedSince(DateTime<Utc>),
    /// Keys of those whose membership has ended.
    FormerMembers,
}

impl Source {
    /// All that the filter has, those first that likely let the fewest keys through.
    pub(super) fn of(filter: &OrganizationKeyFilter) -> Vec<Self> {
        let term = filter.term().map(|term| Self::Term(term.to_owned()));
        if filter.consumer.is_some() {
            // Few keys of one consumer are valid, and its membership has ended or has not.
            return term.into_iter().collect();
        }
        let unused = filter.unused_since.map(Self::UnusedSince);
        let holders = match filter.holders {
            // Nearly all keys are those of members.
            HolderFilter::Anybody | HolderFilter::Members => None,
            HolderFilter::FormerMembers => Some(Self::FormerMembers),
        };
        [term, unused, holders].into_iter().flatten().collect()
    }

    /// So many of the organization's keys from before this one that may pass, the newest first. Fewer only if there are no
    /// more.
    pub(super) async fn candidates(
        &self,
        connection: &mut AsyncPgConnection,
        organization: OrganizationId,
        before: Uuid,
        limit: usize,
    ) -> QueryResult<Vec<Uuid>> {
        match self {
            Self::Term(term) => {
                let own = containing_term(connection, organization, term, before, limit).await?;
                let holders = of_holders_with_term(connection, organization, term, before, limit).await?;
                Ok(newest(own, holders, limit))
            }
            Self::UnusedSince(since) => unused(connection, organization, *since, before, limit).await,
            Self::FormerMembers => of_former_members(connection, organization, before, limit).await,
        }
    }
}

/// The keys of the organization whose own text likely contains the term.
pub(in crate::postgres) async fn containing_term(
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

async fn of_holders_with_term(
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
        .filter(coalesce(users::search_text, users::username).like(pattern))
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

async fn unused(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    since: DateTime<Utc>,
    before: Uuid,
    limit: usize,
) -> QueryResult<Vec<Uuid>> {
    // Of that day only some may pass.
    let day = since.timestamp().div_euclid(SECONDS_OF_A_DAY);
    api_keys::table
        .filter(organization_of_key().eq(organization.as_uuid()))
        .filter(api_keys::revoked_at.is_null())
        .filter(api_keys::idle_since_day.le(i32::try_from(day).unwrap_or(i32::MAX)))
        .filter(api_keys::id.lt(before))
        .select(api_keys::id)
        .order(either(api_keys::id, api_keys::id).desc())
        .limit(at_most(limit))
        .load(connection)
        .await
}

async fn of_former_members(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    before: Uuid,
    limit: usize,
) -> QueryResult<Vec<Uuid>> {
    let former_members = memberships::table
        .filter(memberships::organization_id.eq(organization.as_uuid()))
        .filter(memberships::ended_at.is_not_null())
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
