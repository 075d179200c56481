//! Pages of keys, fast even if few of very many contain the term: see [`crate::narrowing`].

use std::convert::Infallible;

use chrono::{DateTime, Utc};
use diesel::OptionalExtension;
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use keyward_domain::api_key::ApiKey;
use keyward_domain::id::{ApiKeyId, MembershipId, OrganizationId};
use keyward_domain::page::{Page, PageRequest, PageSize};
use keyward_domain::ports::{KeyFilter, StatusFilter, StorageError};
use uuid::Uuid;

use super::super::dialect::{
    Connection, Database, RunQueryDsl, cancellable, containing_term, contains, first_rows, listed, newest,
    newest_planned_once, planned_each_time,
};
use super::super::schema::{api_keys, memberships};
use super::super::validity::{key_expires_before, key_is_revoked, key_is_valid};
use super::row::KeyRow;
use crate::abort::Abort;
use crate::columns::{StoredId, StoredMoment};
use crate::limit::{at_most, one_more};
use crate::narrowing::{FIRST_BATCH, NEWEST_SCANNED, ScanScope};
use crate::search::is_in_no_text;

pub(super) async fn list(
    connection: &mut Connection,
    consumer: MembershipId,
    filter: KeyFilter,
    page: PageRequest<ApiKeyId>,
    now: DateTime<Utc>,
) -> Result<Page<ApiKey, ApiKeyId>, Abort<Infallible>> {
    let keys = if filter.term().is_some_and(is_in_no_text) {
        Vec::new()
    } else {
        let listing = Listing {
            consumer,
            filter,
            page,
            now: now.into(),
        };
        listing.keys(connection).await?
    };
    Ok(Page::from_one_more(keys, page.size, |key| key.id))
}

/// The request for a page.
struct Listing {
    consumer: MembershipId,
    filter: KeyFilter,
    page: PageRequest<ApiKeyId>,
    now: StoredMoment,
}

impl Listing {
    /// At least one key more than the page holds, if that many match.
    async fn keys(&self, connection: &mut Connection) -> Result<Vec<ApiKey>, Abort<Infallible>> {
        let Some(term) = self.filter.term() else {
            return self.matching_in(connection, ScanScope::All).await;
        };
        let Some(last) = self.last_of_the_newest(connection).await? else {
            return self.matching_in(connection, ScanScope::All).await;
        };
        let mut keys = self.matching_in(connection, ScanScope::NotBefore(last)).await?;
        if keys.len() > self.page.size.items() {
            return Ok(keys);
        }
        let organization: StoredId = memberships::table
            .filter(memberships::id.eq(StoredId(self.consumer.as_uuid())))
            .select(memberships::organization_id)
            .get_result(connection)
            .await?;
        let organization = OrganizationId::from_uuid(organization.0);
        let found = containing_term(connection, organization, term, last, FIRST_BATCH).await?;
        if !found.is_empty() {
            // Where more keys of the organization contain the term, a scan of this consumer's own is shorter.
            let older = if found.len() < FIRST_BATCH {
                ScanScope::These(found)
            } else {
                ScanScope::Before(last)
            };
            keys.extend(self.matching_in(connection, older).await?);
        }
        Ok(keys)
    }

    /// The last of the newest keys that are scanned; `None` if there are no older keys.
    async fn last_of_the_newest(
        &self,
        connection: &mut Connection,
    ) -> Result<Option<Uuid>, Abort<Infallible>> {
        let consumer = StoredId(self.consumer.as_uuid());
        let query = newest!(
            planned_each_time!(api_keys::table),
            api_keys::consumer_id,
            consumer
        )
        .offset(at_most(NEWEST_SCANNED))
        .limit(1)
        .select(api_keys::id)
        .into_boxed();
        let last: Option<StoredId> = self.narrowed(query).get_result(connection).await.optional()?;
        Ok(last.map(|last| last.0))
    }

    /// Narrows the query to keys after the previous page that have the status and expire in time.
    fn narrowed<'q, Row>(
        &self,
        mut query: api_keys::BoxedQuery<'q, Database, Row>,
    ) -> api_keys::BoxedQuery<'q, Database, Row> {
        query = match self.filter.status() {
            StatusFilter::Valid => query.filter(key_is_valid(self.now)),
            StatusFilter::Revoked => query.filter(key_is_revoked(self.now)),
            StatusFilter::All => query,
        };
        if let Some(after) = self.page.after {
            query = query.filter(api_keys::id.lt(StoredId(after.as_uuid())));
        }
        if let Some(time) = self.filter.expires_before() {
            query = query.filter(key_expires_before(time.into(), self.now));
        }
        query
    }

    /// The first keys in this scope that match the filter.
    async fn matching_in(
        &self,
        connection: &mut Connection,
        scope: ScanScope,
    ) -> Result<Vec<ApiKey>, Abort<Infallible>> {
        let consumer = StoredId(self.consumer.as_uuid());
        // Of keys with an end, any number may be in the way: that depends on the values.
        let is_planned_once = matches!(scope, ScanScope::All)
            && self.filter.term().is_none()
            && self.filter.hint().is_none()
            && self.filter.status() != StatusFilter::Revoked;
        let mut query = api_keys::table.select(KeyRow::as_select()).into_boxed();
        query = if is_planned_once {
            newest_planned_once!(query, api_keys::consumer_id, consumer)
        } else {
            newest!(planned_each_time!(query), api_keys::consumer_id, consumer)
        };
        query = match scope {
            ScanScope::All => query,
            ScanScope::NotBefore(last) => query.filter(api_keys::id.ge(StoredId(last))),
            ScanScope::Before(last) => query.filter(api_keys::id.lt(StoredId(last))),
            ScanScope::These(candidates) => query.filter(listed(candidates.into_iter())),
        };
        query = self.narrowed(query);
        if let Some(term) = self.filter.term() {
            query = cancellable!(query, api_keys::id).filter(contains!(api_keys::search_text, term));
        }
        if let Some(hint) = self.filter.hint() {
            query = query.filter(api_keys::hint.eq(hint.as_str()));
        }
        let wanted = one_more(self.page.size);
        // Clients choose other sizes: with each in its text, so many statements would stay prepared.
        let rows: Vec<KeyRow> = if self.page.size == PageSize::DEFAULT {
            first_rows(query, wanted).load(connection).await?
        } else {
            query.limit(wanted).load(connection).await?
        };
        let keys: Result<Vec<ApiKey>, StorageError> = rows.into_iter().map(ApiKey::try_from).collect();
        Ok(keys?)
    }
}
