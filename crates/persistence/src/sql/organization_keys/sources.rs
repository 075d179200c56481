//! Index queries that yield the candidate keys of a filter.

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use keyward_domain::administration::ports::{HolderStatusFilter, OrganizationKeyFilter};
use keyward_domain::id::OrganizationId;
use keyward_domain::token::TokenHint;
use uuid::Uuid;

use super::super::dialect::{
    Connection, Database, RunQueryDsl, cancellable, containing_term, contains, indexed_end,
    organization_keys, sorted_newest,
};
use super::super::schema::{api_keys, memberships, users};
use super::super::validity::{key_expires_before, membership_is_over};
use crate::columns::{StoredId, StoredMoment};
use crate::limit::at_most;
use crate::narrowing::newest;

/// A part of a filter that an index supports.
pub(super) enum Source {
    /// Keys that contain the term, and all keys of holders who do.
    Term(String),
    /// Keys whose own text has the name at the beginning or end of a line, and perhaps others.
    Name(String),
    /// Valid keys that were not used since this moment or, if they never were, not created since, and perhaps
    /// others.
    UnusedSince(DateTime<Utc>),
    /// Valid keys whose planned end is before this moment.
    ExpiresBefore(DateTime<Utc>),
    /// Keys of those whose membership has ended.
    FormerMembers,
}

impl Source {
    /// All indexed parts of the filter, the most selective first.
    pub(super) fn of(filter: &OrganizationKeyFilter) -> Vec<Self> {
        let term = filter.term().map(|term| Self::Term(term.to_owned()));
        if filter.consumer.is_some() {
            // For one consumer, other parts do not help: few of its keys are valid, and its membership has a
            // single state.
            return term.into_iter().collect();
        }
        let unused = filter.unused_since.map(Self::UnusedSince);
        let expiring = filter.expires_before.map(Self::ExpiresBefore);
        let holders = match filter.holders {
            // Not selective: nearly all keys belong to members.
            HolderStatusFilter::All | HolderStatusFilter::Members => None,
            HolderStatusFilter::FormerMembers => Some(Self::FormerMembers),
        };
        [term, expiring, unused, holders].into_iter().flatten().collect()
    }

    /// Up to `limit` candidates older than this key, newest first; fewer only if there are no more.
    pub(super) async fn candidates(
        &self,
        connection: &mut Connection,
        organization: OrganizationId,
        before: Uuid,
        limit: usize,
        now: StoredMoment,
    ) -> QueryResult<Vec<Uuid>> {
        let own = StoredId(organization.as_uuid());
        match self {
            Self::Term(term) => {
                let named = containing_term(connection, organization, term, before, limit).await?;
                let of_holders = of_holders_with_term(connection, own, term, before, limit).await?;
                Ok(newest(named, of_holders, limit))
            }
            Self::Name(name) => {
                let line = format!("{name}\n");
                let named = containing_term(connection, organization, &line, before, limit).await?;
                if name.len() != TokenHint::SHOWN {
                    return Ok(named);
                }
                let line = format!("\n{name}");
                let with_hint = containing_term(connection, organization, &line, before, limit).await?;
                Ok(newest(named, with_hint, limit))
            }
            Self::UnusedSince(since) => {
                organization_keys::unused(connection, organization, *since, before, limit, now).await
            }
            Self::ExpiresBefore(time) => {
                let expiring = indexed_end!(api_keys::table.into_boxed())
                    .filter(api_keys::organization_id.eq(own))
                    .filter(key_expires_before((*time).into(), now));
                newest_of(connection, expiring, before, limit).await
            }
            Self::FormerMembers => {
                let former_members = memberships::table
                    .filter(memberships::organization_id.eq(own))
                    .filter(membership_is_over(now))
                    .select(memberships::id);
                let held = api_keys::table
                    .into_boxed()
                    .filter(api_keys::consumer_id.eq_any(former_members));
                newest_of(connection, held, before, limit).await
            }
        }
    }
}

/// All keys of users whose name contains the term.
async fn of_holders_with_term(
    connection: &mut Connection,
    organization: StoredId,
    term: &str,
    before: Uuid,
    limit: usize,
) -> QueryResult<Vec<Uuid>> {
    let holders = cancellable!(memberships::table.inner_join(users::table), memberships::id)
        .filter(memberships::organization_id.eq(organization))
        .filter(contains!(users::search_text, term))
        .select(memberships::id);
    let held = api_keys::table
        .into_boxed()
        .filter(api_keys::consumer_id.eq_any(holders));
    newest_of(connection, held, before, limit).await
}

/// Up to `limit` of these keys that are older than this one, the newest first.
async fn newest_of(
    connection: &mut Connection,
    keys: api_keys::BoxedQuery<'_, Database>,
    before: Uuid,
    limit: usize,
) -> QueryResult<Vec<Uuid>> {
    let keys = cancellable!(keys, api_keys::id).filter(api_keys::id.lt(StoredId(before)));
    let found: Vec<StoredId> = sorted_newest!(keys)
        .limit(at_most(limit))
        .select(api_keys::id)
        .load(connection)
        .await?;
    Ok(found.into_iter().map(|id| id.0).collect())
}
