//! What names the keys that may pass a filter, by an index.

use chrono::{DateTime, Utc};
use diesel::dsl::{exists, select};
use diesel::prelude::{
    ExpressionMethods, QueryDsl, QueryResult, QueryableByName, RunQueryDsl, SqliteConnection,
};
use diesel::sql_types::{BigInt, Binary, Text};
use keyward_domain::administration::ports::{HolderFilter, OrganizationKeyFilter};
use keyward_domain::id::OrganizationId;
use uuid::Uuid;

use crate::columns::StoredId;
use crate::limit::at_most;
use crate::narrowing::newest;
use crate::sqlite::schema::api_key_search;
use crate::sqlite::search::grams;

#[derive(QueryableByName)]
struct Candidate {
    #[diesel(sql_type = Binary)]
    id: StoredId,
}

/// Part of a filter that an index knows about.
pub(super) enum Source {
    /// Keys that contain the term, and all keys of holders who do.
    Term(String),
    /// Valid keys that were not used since this moment or, if they never were, not created since, and perhaps others.
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
    pub(super) fn candidates(
        &self,
        connection: &mut SqliteConnection,
        organization: OrganizationId,
        before: Uuid,
        limit: usize,
    ) -> QueryResult<Vec<Uuid>> {
        match self {
            Self::Term(term) => {
                let own = containing_term(connection, organization, term, before, limit)?;
                let holders = of_holders_with_term(connection, organization, term, before, limit)?;
                Ok(newest(own, holders, limit))
            }
            Self::UnusedSince(since) => unused(connection, organization, *since, before, limit),
            Self::FormerMembers => of_former_members(connection, organization, before, limit),
        }
    }
}

/// The keys of the organization whose own text likely contains the term. See the migration `key_search`: numbers over 0 rise
/// with the identifiers; the others, which are few, are all looked at.
pub(in crate::sqlite) fn containing_term(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    term: &str,
    before: Uuid,
    limit: usize,
) -> QueryResult<Vec<Uuid>> {
    let grams = grams(organization, term);
    let in_order: Vec<Candidate> = diesel::sql_query(
        "SELECT api_key_search.key_id AS id
         FROM api_key_grams CROSS JOIN api_key_search ON api_key_search.number = api_key_grams.rowid
         WHERE api_key_grams MATCH ? AND api_key_grams.rowid BETWEEN 1 AND (
                 SELECT number FROM api_key_search WHERE key_id < ? AND number > 0 ORDER BY key_id DESC LIMIT 1
             ) AND still_awaited(api_key_search.key_id)
         ORDER BY api_key_grams.rowid DESC
         LIMIT ?",
    )
    .bind::<Text, _>(&grams)
    .bind::<Binary, _>(StoredId(before))
    .bind::<BigInt, _>(at_most(limit))
    .load(connection)?;
    // Asked for a term of one letter, the index takes long even to find none of these.
    let numbers_below_0 = api_key_search::table.filter(api_key_search::number.lt(0));
    if !select(exists(numbers_below_0)).get_result::<bool>(connection)? {
        return Ok(ids(in_order));
    }
    let others: Vec<Candidate> = diesel::sql_query(
        "SELECT api_key_search.key_id AS id
         FROM api_key_grams CROSS JOIN api_key_search ON api_key_search.number = api_key_grams.rowid
         WHERE api_key_grams MATCH ? AND api_key_grams.rowid < 0 AND api_key_search.key_id < ?
             AND still_awaited(api_key_search.key_id)",
    )
    .bind::<Text, _>(&grams)
    .bind::<Binary, _>(StoredId(before))
    .load(connection)?;
    Ok(newest(ids(in_order), ids(others), limit))
}

fn of_holders_with_term(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    term: &str,
    before: Uuid,
    limit: usize,
) -> QueryResult<Vec<Uuid>> {
    let candidates: Vec<Candidate> = diesel::sql_query(
        "SELECT id FROM api_keys
         WHERE consumer_id IN (
                 SELECT memberships.id FROM memberships JOIN users ON users.id = memberships.user_id
                 WHERE memberships.organization_id = ? AND still_awaited(memberships.id)
                     AND instr(coalesce(users.search_text, users.username), ?) > 0
             ) AND id < ? AND still_awaited(id)
         ORDER BY +id DESC
         LIMIT ?",
    )
    .bind::<Binary, _>(StoredId(organization.as_uuid()))
    .bind::<Text, _>(term)
    .bind::<Binary, _>(StoredId(before))
    .bind::<BigInt, _>(at_most(limit))
    .load(connection)?;
    Ok(ids(candidates))
}

fn unused(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    since: DateTime<Utc>,
    before: Uuid,
    limit: usize,
) -> QueryResult<Vec<Uuid>> {
    // The `+` keeps SQLite from going through all valid keys by their identifiers. In the inner order, which SQLite leaves out
    // without a limit, most newer keys come first: then few are sorted in and taken out again.
    let candidates: Vec<Candidate> = diesel::sql_query(
        "SELECT id FROM (
             SELECT id FROM api_keys
             WHERE organization_id = ? AND revoked_at IS NULL AND coalesce(last_used_at, created_at) < ? AND +id < ?
                 AND still_awaited(id)
             ORDER BY coalesce(last_used_at, created_at) DESC
             LIMIT -1
         )
         ORDER BY +id DESC
         LIMIT ?",
    )
    .bind::<Binary, _>(StoredId(organization.as_uuid()))
    .bind::<BigInt, _>(since.timestamp_millis())
    .bind::<Binary, _>(StoredId(before))
    .bind::<BigInt, _>(at_most(limit))
    .load(connection)?;
    Ok(ids(candidates))
}

fn of_former_members(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    before: Uuid,
    limit: usize,
) -> QueryResult<Vec<Uuid>> {
    let candidates: Vec<Candidate> = diesel::sql_query(
        "SELECT id FROM api_keys
         WHERE consumer_id IN (SELECT id FROM memberships WHERE organization_id = ? AND ended_at IS NOT NULL)
            AND id < ? AND still_awaited(id)
         ORDER BY +id DESC
         LIMIT ?",
    )
    .bind::<Binary, _>(StoredId(organization.as_uuid()))
    .bind::<Binary, _>(StoredId(before))
    .bind::<BigInt, _>(at_most(limit))
    .load(connection)?;
    Ok(ids(candidates))
}

fn ids(candidates: Vec<Candidate>) -> Vec<Uuid> {
    candidates.into_iter().map(|candidate| candidate.id.0).collect()
}
