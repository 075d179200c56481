//! A page of keys, however few of very many the filter lets through: see [`crate::narrowing`].

use std::convert::Infallible;

use diesel::OptionalExtension;
use diesel::dsl::sql;
use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, QueryDsl, RunQueryDsl,
    SelectableHelper, SqliteConnection,
};
use diesel::sql_types::{Binary, Bool};
use keyward_domain::administration::ports::{HeldKey, HolderFilter, OrganizationKeyFilter};
use keyward_domain::id::{ApiKeyId, OrganizationId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::StatusFilter;
use uuid::Uuid;

use super::read::{HeldKeyRow, held};
use super::selection::listed;
use super::sources::Source;
use crate::abort::Abort;
use crate::columns::StoredId;
use crate::limit::{at_most, one_more};
use crate::narrowing::{FEW, MORE, NEWEST};
use crate::sqlite::schema::{api_keys, memberships, users};
use crate::sqlite::search::{coalesce, instr};
use crate::sqlite::still_awaited::still_awaited;

pub(super) fn list(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    filter: &OrganizationKeyFilter,
    page: PageRequest<ApiKeyId>,
) -> Result<Page<HeldKey, ApiKeyId>, Abort<Infallible>> {
    let listing = Listing {
        organization,
        filter,
        page,
    };
    let keys = listing.keys(connection)?;
    Ok(Page::from_one_more(keys, page.size, |key| key.id))
}

/// What is asked for.
struct Listing<'a> {
    organization: OrganizationId,
    filter: &'a OrganizationKeyFilter,
    page: PageRequest<ApiKeyId>,
}

/// What was found so far, and before which key the source goes on unless that fills the page or is all.
struct Step {
    keys: Vec<HeldKey>,
    next: Option<Uuid>,
}

/// Which keys are looked at.
enum Among {
    All,
    NotBefore(Uuid),
    These(Vec<Uuid>),
}

impl Listing<'_> {
    /// One key more than the page holds, or more, if there are so many.
    fn keys(&self, connection: &mut SqliteConnection) -> Result<Vec<HeldKey>, Abort<Infallible>> {
        let sources = Source::of(self.filter);
        if sources.is_empty() {
            return self.passing(connection, Among::All);
        }
        let Some(last) = self.last_of_the_newest(connection)? else {
            return self.passing(connection, Among::All);
        };
        let keys = self.passing(connection, Among::NotBefore(last))?;
        if keys.len() > self.page.size.items() {
            return Ok(keys);
        }
        let mut first_of_many = None;
        for source in sources {
            let step = self.step(connection, &source, last, FEW, keys.clone())?;
            let Some(next) = step.next else {
                return Ok(step.keys);
            };
            // Many keys pass this part of the filter, but few of these all of it. Another part may say which.
            first_of_many = first_of_many.or(Some((source, next, step.keys)));
        }
        match first_of_many {
            Some((source, next, keys)) => self.older(connection, &source, next, keys),
            None => Ok(keys),
        }
    }

    /// These keys and, until they are more than the page holds, those of the source's older candidates that pass.
    fn older(
        &self,
        connection: &mut SqliteConnection,
        source: &Source,
        mut before: Uuid,
        mut keys: Vec<HeldKey>,
    ) -> Result<Vec<HeldKey>, Abort<Infallible>> {
        let mut limit = FEW;
        loop {
            limit = limit.saturating_mul(MORE);
            let step = self.step(connection, source, before, limit, keys)?;
            match step.next {
                Some(next) => (before, keys) = (next, step.keys),
                None => return Ok(step.keys),
            }
        }
    }

    /// These keys, and those of so many of the source's candidates, all of which are older, that pass.
    fn step(
        &self,
        connection: &mut SqliteConnection,
        source: &Source,
        before: Uuid,
        limit: usize,
        mut keys: Vec<HeldKey>,
    ) -> Result<Step, Abort<Infallible>> {
        let found = source.candidates(connection, self.organization, before, limit)?;
        let next = found.last().copied().filter(|_| found.len() == limit);
        if !found.is_empty() {
            keys.extend(self.passing(connection, Among::These(found))?);
        }
        let is_full = keys.len() > self.page.size.items();
        Ok(Step {
            keys,
            next: next.filter(|_| !is_full),
        })
    }

    /// The last of as many keys as are looked at one after the other; nothing if there are no more.
    fn last_of_the_newest(
        &self,
        connection: &mut SqliteConnection,
    ) -> Result<Option<Uuid>, Abort<Infallible>> {
        let mut query = api_keys::table
            .order(api_keys::id.desc())
            .select(api_keys::id)
            .offset(at_most(NEWEST))
            .limit(1)
            .into_boxed();
        query = match self.filter.consumer {
            Some(consumer) => query.filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid()))),
            None => query.filter(api_keys::organization_id.eq(StoredId(self.organization.as_uuid()))),
        };
        query = match self.filter.status {
            StatusFilter::Valid => query.filter(api_keys::revoked_at.is_null()),
            StatusFilter::Revoked => query.filter(api_keys::revoked_at.is_not_null()),
            StatusFilter::All => query,
        };
        if let Some(after) = self.page.after {
            query = query.filter(api_keys::id.lt(StoredId(after.as_uuid())));
        }
        let last: Option<StoredId> = query.get_result(connection).optional()?;
        Ok(last.map(|last| last.0))
    }

    /// The first of these keys that pass.
    fn passing(
        &self,
        connection: &mut SqliteConnection,
        among: Among,
    ) -> Result<Vec<HeldKey>, Abort<Infallible>> {
        let (organization, filter) = (StoredId(self.organization.as_uuid()), self.filter);
        let mut query = api_keys::table
            .inner_join(memberships::table.inner_join(users::table))
            // However few of them a filter lets through.
            .filter(still_awaited(api_keys::id))
            .order(api_keys::id.desc())
            .limit(one_more(self.page.size))
            .select(<HeldKeyRow as SelectableHelper<_>>::as_select())
            .into_boxed();
        query = match filter.consumer {
            // The `+` keeps SQLite from going through all keys of the organization.
            Some(consumer) => query
                .filter(api_keys::consumer_id.eq(StoredId(consumer.as_uuid())))
                .filter(sql::<Bool>("+`api_keys`.`organization_id` = ").bind::<Binary, _>(organization)),
            None => query.filter(api_keys::organization_id.eq(organization)),
        };
        query = match among {
            Among::All => query,
            Among::NotBefore(last) => query.filter(api_keys::id.ge(StoredId(last))),
            Among::These(candidates) => query.filter(listed(candidates.into_iter())),
        };
        query = match filter.status {
            StatusFilter::Valid => query.filter(api_keys::revoked_at.is_null()),
            StatusFilter::Revoked => query.filter(api_keys::revoked_at.is_not_null()),
            StatusFilter::All => query,
        };
        query = match filter.holders {
            HolderFilter::Anybody => query,
            HolderFilter::Members => query.filter(memberships::ended_at.is_null()),
            HolderFilter::FormerMembers => query.filter(memberships::ended_at.is_not_null()),
        };
        if let Some(since) = filter.unused_since.map(|since| since.timestamp_millis()) {
            query = query
                .filter(api_keys::revoked_at.is_null())
                .filter(api_keys::created_at.lt(since))
                .filter(
                    api_keys::last_used_at
                        .is_null()
                        .or(api_keys::last_used_at.lt(since).assume_not_null()),
                );
        }
        if let Some(after) = self.page.after {
            query = query.filter(api_keys::id.lt(StoredId(after.as_uuid())));
        }
        if let Some(term) = filter.term() {
            query = query.filter(
                instr(api_keys::search_text, term).gt(0).or(instr(
                    coalesce(users::search_text, users::username),
                    term,
                )
                .gt(0)),
            );
        }
        Ok(held(query.load(connection)?)?)
    }
}
