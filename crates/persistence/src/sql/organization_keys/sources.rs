//! Index queries that yield the candidate keys of a filter.

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use keyward_domain::administration::ports::{HolderStatusFilter, OrganizationKeyFilter};
use keyward_domain::id::OrganizationId;
use uuid::Uuid;

use super::super::dialect::{Connection, sources};
use crate::columns::StoredMoment;
use crate::narrowing::newest;

/// A part of a filter that an index supports.
pub(super) enum Source {
    /// Keys that contain the term, and all keys of holders who do.
    Term(String),
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
            HolderStatusFilter::Anybody | HolderStatusFilter::Members => None,
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
        match self {
            Self::Term(term) => {
                let own = sources::containing_term(connection, organization, term, before, limit).await?;
                let holders =
                    sources::of_holders_with_term(connection, organization, term, before, limit).await?;
                Ok(newest(own, holders, limit))
            }
            Self::UnusedSince(since) => {
                sources::unused(connection, organization, *since, before, limit, now).await
            }
            Self::ExpiresBefore(time) => {
                sources::expiring(connection, organization, (*time).into(), before, limit, now).await
            }
            Self::FormerMembers => {
                sources::of_former_members(connection, organization, before, limit, now).await
            }
        }
    }
}
