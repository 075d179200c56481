//! A page of keys, however few of very many contain the term: see [`crate::narrowing`].

use std::convert::Infallible;

use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, RunQueryDsl, SelectableHelper, SqliteConnection};
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::{ApiKeyId, ConsumerId, OrganizationId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::{KeyFilter, StatusFilter, StorageError};
use uuid::Uuid;

use super::row::KeyRow;
use crate::abort::Abort;
use crate::columns::StoredId;
use crate::limit::{at_most, one_more};
use crate::narrowing::{FEW, MORE, NEWEST};
use crate::sqlite::organization_keys::selection::listed;
use crate::sqlite::organization_keys::sources::containing_term;
use crate::sqlite::schema::{api_keys, memberships};
use crate::sqlite::search::instr;
use crate::sqlite::still_awaited::still_awaited;

pub(super) fn list(
    connection: &mut SqliteConnection,
    consumer: ConsumerId,
    filter: KeyFilter,
    page: PageRequest<ApiKeyId>,
) -> Result<Page<ApiKey, ApiKeyId>, Abort<Infallible>> {
    let listing = Listing {
        consumer,
        filter,
        page,
    };
    let keys = listing.keys(connection)?;
    Ok(Page::from_one_more(keys, page.size, |key| key.id))
}

/// What is asked for.
struct Listing {
    consumer: ConsumerId,
    filter: KeyFilter,
    page: PageRequest<ApiKeyId>,
}

/// Which keys are looked at.
enum Among {
    All,
    NotBefore(Uuid),
    These(Vec<Uuid>),
}

impl Listing {
    /// One key more than the page holds, or more, if there are so many.
    fn keys(&self, connection: &mut SqliteConnection) -> Result<Vec<ApiKey>, Abort<Infallible>> {
        let Some(term) = self.filter.term() else {
            return self.passing(connection, Among::All);
        };
        let Some(last) = self.last_of_the_newest(connection)? else {
            return self.passing(connection, Among::All);
        };
        let mut keys = self.passing(connection, Among::NotBefore(last))?;
        if keys.len() > self.page.size.items() {
            return Ok(keys);
        }
        let organization: StoredId = memberships::table
            .filter(memberships::id.eq(StoredId(self.consumer.as_uuid())))
            .select(memberships::organization_id)
            .get_result(connection)?;
        let organization = OrganizationId::from_uuid(organization.0);
        let (mut before, mut limit) = (last, FEW);
        loop {
            let found = containing_term(connection, organization, term, before, limit)?;
            let next = found.last().copied().filter(|_| found.len() == limit);
            if !found.is_empty() {
                keys.extend(self.passing(connection, Among::These(found))?);
            }
            let is_full = keys.len() > self.page.size.items();
            match next.filter(|_| !is_full) {
                Some(next) => before = next,
                None => return Ok(keys),
            }
            limit = limit.saturating_mul(MORE);
        }
    }

    /// The last of as many keys as are looked at one after the other; nothing if there are no more.
    fn last_of_the_newest(
        &self,
        connection: &mut SqliteConnection,
    ) -> Result<Option<Uuid>, Abort<Infallible>> {
        let mut query = api_keys::table
            .filter(api_keys::consumer_id.eq(StoredId(self.consumer.as_uuid())))
            .order(api_keys::id.desc())
            .offset(at_most(NEWEST))
            .limit(1)
            .select(api_keys::id)
            .into_boxed();
        query = match self.filter.status() {
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
    ) -> Result<Vec<ApiKey>, Abort<Infallible>> {
        let mut query = api_keys::table
            .filter(api_keys::consumer_id.eq(StoredId(self.consumer.as_uuid())))
            .order(api_keys::id.desc())
            .limit(one_more(self.page.size))
            .select(KeyRow::as_select())
            .into_boxed();
        query = match among {
            Among::All => query,
            Among::NotBefore(last) => query.filter(api_keys::id.ge(StoredId(last))),
            Among::These(candidates) => query.filter(listed(candidates.into_iter())),
        };
        query = match self.filter.status() {
            StatusFilter::Valid => query.filter(api_keys::revoked_at.is_null()),
            StatusFilter::Revoked => query.filter(api_keys::revoked_at.is_not_null()),
            StatusFilter::All => query,
        };
        if let Some(after) = self.page.after {
            query = query.filter(api_keys::id.lt(StoredId(after.as_uuid())));
        }
        if let Some(term) = self.filter.term() {
            query = query
                .filter(still_awaited(api_keys::id))
                .filter(instr(api_keys::search_text, term).gt(0));
        }
        let rows: Vec<KeyRow> = query.load(connection)?;
        let keys: Result<Vec<ApiKey>, StorageError> = rows.into_iter().map(ApiKey::try_from).collect();
        Ok(keys?)
    }
}
