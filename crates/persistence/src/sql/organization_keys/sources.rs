//! Index queries that yield the candidate keys of a filter.

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use keyward_domain::administration::ports::{HolderFilter, OrganizationKeyFilter};
use keyward_domain::id::OrganizationId;
use uuid::Uuid;

use super::super::dialect::{Connection, sources};
use crate::columns::StoredMoment;
use crate::narrowing::newest;

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
            Self::FormerMembers => {
                sources::of_former_members(connection, organization, before, limit, now).await
            }
        }
    }
}
