//! Pages of keys, fast even if few of very many pass the filter: see [`crate::narrowing`].

use std::convert::Infallible;

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, QueryDsl, SelectableHelper,
};
use keyward_domain::administration::ports::{HeldKey, HolderStatusFilter, OrganizationKeyFilter};
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::{ApiKeyId, OrganizationId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::StatusFilter;
use uuid::Uuid;

use super::super::dialect::{
    Connection, RunQueryDsl, cancellable, contains, first_rows, listed, named, newest, newest_planned_once,
    of_organization, planned_each_time,
};
use super::super::schema::{api_keys, memberships, users};
use super::super::validity::{
    key_expires_before, key_has_end, key_is_revoked, key_is_valid, key_outlives, membership_is_live,
    membership_is_over,
};
use super::read::{HeldKeyRow, held};
use super::sources::Source;
use crate::abort::Abort;
use crate::columns::{StoredId, StoredMoment};
use crate::limit::{at_most, one_more};
use crate::narrowing::{BATCH_GROWTH, FIRST_BATCH, NEWEST_SCANNED, ScanScope};
use crate::search::is_in_no_text;

pub(super) async fn list(
    connection: &mut Connection,
    organization: OrganizationId,
    filter: OrganizationKeyFilter,
    page: PageRequest<ApiKeyId>,
    now: DateTime<Utc>,
) -> Result<Page<HeldKey, ApiKeyId>, Abort<Infallible>> {
    if filter.term().or(filter.name()).is_some_and(is_in_no_text) {
        return Ok(Page::from_one_more(Vec::new(), page.size, |key: &HeldKey| key.id));
    }
    let listing = Listing {
        organization,
        filter,
        page,
        now: now.into(),
        after_notice: (now + ApiKey::EXPIRES_SOON).into(),
    };
    let (keys, next) = match listing.filter.name() {
        Some(name) => listing.named(connection, name).await?,
        None => (listing.keys(connection).await?, None),
    };
    let page = Page::from_one_more(keys, page.size, |key| key.id);
    Ok(Page {
        next: page.next.or(next),
        ..page
    })
}

/// The request for a page.
struct Listing {
    organization: OrganizationId,
    filter: OrganizationKeyFilter,
    page: PageRequest<ApiKeyId>,
    now: StoredMoment,
    /// When a longest life that is applied now ends keys at the earliest.
    after_notice: StoredMoment,
}

/// The keys found so far, and the key before which the source continues, unless the page is full or the
/// source exhausted.
struct Step {
    keys: Vec<HeldKey>,
    next: Option<Uuid>,
}

impl Listing {
    /// At least one key more than the page holds, if that many match.
    async fn keys(&self, connection: &mut Connection) -> Result<Vec<HeldKey>, Abort<Infallible>> {
        let sources = Source::of(&self.filter);
        if sources.is_empty() {
            return self.matching_in(connection, ScanScope::All).await;
        }
        if let [source @ Source::UnusedSince(_)] = sources.as_slice() {
            // Nearly all of its candidates pass, and the newest keys do not.
            let before = self.page.after.map_or(Uuid::max(), |after| after.as_uuid());
            let limit = 2 * (self.page.size.items() + 1);
            return self.older(connection, source, before, limit, Vec::new()).await;
        }
        let Some(last) = self.last_of_the_newest(connection).await? else {
            return self.matching_in(connection, ScanScope::All).await;
        };
        let mut keys = self.matching_in(connection, ScanScope::NotBefore(last)).await?;
        if keys.len() > self.page.size.items() {
            return Ok(keys);
        }
        let mut first_of_many = None;
        for source in sources {
            let step = self
                .step(connection, &source, last, FIRST_BATCH, keys.clone())
                .await?;
            let Some(next) = step.next else {
                return Ok(step.keys);
            };
            // Many keys pass this part of the filter, but few pass all of it. Another part may be more
            // selective.
            first_of_many = first_of_many.or(Some((source, next, step.keys)));
        }
        if self.filter.consumer.is_some() {
            // More keys of the organization contain the term: a scan of this consumer's own is shorter.
            keys.extend(self.matching_in(connection, ScanScope::Before(last)).await?);
            return Ok(keys);
        }
        match first_of_many {
            Some((source, next, keys)) => {
                let limit = FIRST_BATCH.saturating_mul(BATCH_GROWTH);
                self.older(connection, &source, next, limit, keys).await
            }
            None => Ok(keys),
        }
    }

    /// The keys with this name among the newest candidates, and where to continue if there are other candidates:
    /// the index does not know where in a text a line is.
    async fn named(
        &self,
        connection: &mut Connection,
        name: &str,
    ) -> Result<(Vec<HeldKey>, Option<ApiKeyId>), Abort<Infallible>> {
        let source = Source::Name(name.to_owned());
        let before = self.page.after.map_or(Uuid::max(), |after| after.as_uuid());
        let step = self
            .step(connection, &source, before, NEWEST_SCANNED, Vec::new())
            .await?;
        Ok((step.keys, step.next.map(ApiKeyId::from_uuid)))
    }

    /// These keys and, until they are more than the page holds, those of the source's older candidates that
    /// pass.
    async fn older(
        &self,
        connection: &mut Connection,
        source: &Source,
        mut before: Uuid,
        mut limit: usize,
        mut keys: Vec<HeldKey>,
    ) -> Result<Vec<HeldKey>, Abort<Infallible>> {
        loop {
            let step = self.step(connection, source, before, limit, keys).await?;
            match step.next {
                Some(next) => (before, keys) = (next, step.keys),
                None => return Ok(step.keys),
            }
            limit = limit.saturating_mul(BATCH_GROWTH);
        }
    }

    /// These keys, and those of so many of the source's candidates, all of which are older, that pass.
    async fn step(
        &self,
        connection: &mut Connection,
        source: &Source,
        before: Uuid,
        limit: usize,
        mut keys: Vec<HeldKey>,
    ) -> Result<Step, Abort<Infallible>> {
        let found = source
            .candidates(connection, self.organization, before, limit, self.now)
            .await?;
        let next = found.last().copied().filter(|_| found.len() == limit);
        if !found.is_empty() {
            keys.extend(self.matching_in(connection, ScanScope::These(found)).await?);
        }
        let is_full = keys.len() > self.page.size.items();
        Ok(Step {
            keys,
            next: next.filter(|_| !is_full),
        })
    }

    /// The last of the newest keys that are scanned; `None` if there are no older keys.
    async fn last_of_the_newest(
        &self,
        connection: &mut Connection,
    ) -> Result<Option<Uuid>, Abort<Infallible>> {
        let mut query = planned_each_time!(api_keys::table)
            .select(api_keys::id)
            .offset(at_most(NEWEST_SCANNED))
            .limit(1)
            .into_boxed();
        query = match self.filter.consumer {
            Some(consumer) => newest!(query, api_keys::consumer_id, StoredId(consumer.as_uuid())),
            None => newest!(
                query,
                api_keys::organization_id,
                StoredId(self.organization.as_uuid())
            ),
        };
        query = match self.filter.status {
            StatusFilter::Valid => query.filter(key_is_valid(self.now)),
            StatusFilter::Revoked => query.filter(key_is_revoked(self.now)),
            StatusFilter::All => query,
        };
        if self.filter.status == StatusFilter::Revoked && self.filter.consumer.is_none() {
            query = query.filter(key_has_end());
        }
        if let Some(after) = self.page.after {
            query = query.filter(api_keys::id.lt(StoredId(after.as_uuid())));
        }
        let last: Option<StoredId> = query.get_result(connection).await.optional()?;
        Ok(last.map(|last| last.0))
    }

    /// The first keys in this scope that match the filter.
    async fn matching_in(
        &self,
        connection: &mut Connection,
        scope: ScanScope,
    ) -> Result<Vec<HeldKey>, Abort<Infallible>> {
        let (organization, filter) = (StoredId(self.organization.as_uuid()), &self.filter);
        // Of keys with an end, and of those with a late one, any number may be in the way: that depends on the values.
        let is_planned_once = matches!(scope, ScanScope::All)
            && filter.term().is_none()
            && filter.status != StatusFilter::Revoked
            && filter.shortened_by.is_none();
        let keys = api_keys::table.inner_join(memberships::table.inner_join(users::table));
        // Cancellable, because few of the scanned keys may pass the filter.
        let mut query = cancellable!(keys, api_keys::id)
            .select(<HeldKeyRow as SelectableHelper<_>>::as_select())
            .into_boxed();
        query = match filter.consumer {
            Some(consumer) => newest!(query, api_keys::consumer_id, StoredId(consumer.as_uuid()))
                .filter(of_organization!(organization)),
            None if is_planned_once => newest_planned_once!(query, api_keys::organization_id, organization),
            None => newest!(query, api_keys::organization_id, organization),
        };
        if !is_planned_once {
            query = planned_each_time!(query);
        }
        query = match scope {
            ScanScope::All => query,
            ScanScope::NotBefore(last) => query.filter(api_keys::id.ge(StoredId(last))),
            ScanScope::Before(last) => query.filter(api_keys::id.lt(StoredId(last))),
            ScanScope::These(candidates) => query.filter(listed(candidates.into_iter())),
        };
        query = match filter.status {
            StatusFilter::Valid => query.filter(key_is_valid(self.now)),
            StatusFilter::Revoked => query.filter(key_is_revoked(self.now)),
            StatusFilter::All => query,
        };
        if filter.status == StatusFilter::Revoked && filter.consumer.is_none() {
            query = query.filter(key_has_end());
        }
        query = match filter.holders {
            HolderStatusFilter::All => query,
            HolderStatusFilter::Members => query.filter(membership_is_live(self.now)),
            HolderStatusFilter::FormerMembers => query.filter(membership_is_over(self.now)),
        };
        if let Some(since) = filter.unused_since.map(StoredMoment::from) {
            query = query
                .filter(key_is_valid(self.now))
                .filter(api_keys::created_at.lt(since))
                .filter(
                    api_keys::last_used_at
                        .is_null()
                        .or(api_keys::last_used_at.lt(since).assume_not_null()),
                );
        }
        if let Some(time) = filter.expires_before {
            query = query.filter(key_expires_before(time.into(), self.now));
        }
        if let Some(longest) = filter.shortened_by {
            query = query
                .filter(key_is_valid(self.after_notice))
                .filter(key_outlives(longest))
                .filter(membership_is_live(self.now));
        }
        if let Some(after) = self.page.after {
            query = query.filter(api_keys::id.lt(StoredId(after.as_uuid())));
        }
        if let Some(term) = filter.term() {
            query =
                query.filter(contains!(api_keys::search_text, term).or(contains!(users::search_text, term)));
        }
        if let Some(name) = filter.name() {
            query = query.filter(named!(api_keys::search_text, name));
        }
        if let Some(hint) = filter.hint() {
            query = query.filter(api_keys::hint.eq(hint.as_str()));
        }
        let rows = first_rows(query, one_more(self.page.size))
            .load(connection)
            .await?;
        Ok(held(rows)?)
    }
}
