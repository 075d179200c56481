//! Searches of the audit log. Actor, action and subject each have an index that continues with the order of
//! the list: a page of a search by one of them costs only its own size, however large the log is and however
//! old the page. Days narrow the search in any of these indexes. On SQLite, a cancelled search ends.
//!
//! A search by two of them may have to scan a whole index: many events by one user and many of one action,
//! with none in common. An index for the most common pair would help only that pair, and slow down every
//! write. So the index of the most selective criterion is scanned, and at most [`SCAN_LIMIT`] of its events
//! for one page. If the page is not full then, the next page continues where the scan ended. Searches of the
//! installation's log for an actor or an action work likewise.

mod criterion;

use std::cmp::Reverse;
use std::convert::Infallible;

use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper,
};
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::{AuditEventId, OrganizationId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::{AuditFilter, AuditPosition, StorageError};

use super::super::dialect::{Connection, RunQueryDsl, cancellable};
use super::super::events::EventRow;
use super::super::schema::audit_events;
use crate::abort::Abort;
use crate::columns::{StoredId, StoredMoment};
use crate::limit::one_more;
use crate::stored_row::StoredRow;
use criterion::{Criterion, Index, Query};

/// How many events of an index are read for one page if it does not serve all of the filter.
const SCAN_LIMIT: i64 = 5_000;

pub(super) async fn list(
    connection: &mut Connection,
    organization: Option<OrganizationId>,
    filter: AuditFilter,
    page: PageRequest<AuditPosition>,
) -> Result<Page<AuditEvent, AuditPosition>, Abort<Infallible>> {
    let search = Search {
        organization,
        filter,
        page,
    };
    let (mut rows, end) = search.rows(connection).await?;
    rows.sort_by_key(|row| Reverse((row.occurred_at, row.id)));
    rows.dedup_by_key(|row| row.id);
    rows.truncate(page.size.items() + 1);
    let events: Result<Vec<AuditEvent>, StorageError> = rows.into_iter().map(AuditEvent::try_from).collect();
    let mut found = Page::from_one_more(events?, page.size, |event| event.into());
    if let (None, Some(end)) = (found.next, end) {
        found.next = Some(end.position()?);
    }
    Ok(found)
}

/// A filter and a page of an organization's events.
struct Search {
    organization: Option<OrganizationId>,
    filter: AuditFilter,
    page: PageRequest<AuditPosition>,
}

/// The indexes that find the events of one criterion (its number), or all events.
struct Scan {
    criterion: Option<usize>,
    indexes: Vec<Index>,
}

/// The last event that the scan of an index reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ScanEnd {
    at: StoredMoment,
    id: StoredId,
}

impl ScanEnd {
    fn position(self) -> Result<AuditPosition, StorageError> {
        let stored = StoredRow::new("audit_events", self.id.0);
        Ok(AuditPosition {
            at: stored.moment("occurred_at", self.at)?,
            id: AuditEventId::from_uuid(self.id.0),
        })
    }
}

impl Search {
    /// The rows of the page and one more. If they are fewer: those down to the end of the scan, if it ended
    /// before the last event.
    async fn rows(
        &self,
        connection: &mut Connection,
    ) -> Result<(Vec<EventRow>, Option<ScanEnd>), Abort<Infallible>> {
        let mut criteria = Criterion::of(&self.filter);
        let mut scans = self.possible_scans(&criteria);
        let (chosen, end) = match (scans.as_slice(), criteria.as_slice()) {
            ([_], []) => (0, None),
            ([only], [_]) if only.criterion.is_some() => (0, None),
            (several, _) => self.most_selective(connection, several).await?,
        };
        let Scan { criterion, indexes } = scans.swap_remove(chosen);
        if let Some(criterion) = criterion {
            criteria.remove(criterion);
        }
        let mut rows = Vec::new();
        for index in indexes {
            let mut query = index.filter(self.since(end));
            for criterion in &criteria {
                query = criterion.filter_without_index(query);
            }
            let found: Vec<EventRow> = query
                .limit(one_more(self.page.size))
                .select(EventRow::as_select())
                .load(connection)
                .await?;
            rows.extend(found);
        }
        Ok((rows, end))
    }

    /// The installation's log, where little happens, has no index of actors and actions.
    fn possible_scans(&self, criteria: &[Criterion]) -> Vec<Scan> {
        let is_indexed = |criterion: &Criterion| self.organization.is_some() || criterion.is_about_one();
        let criteria = criteria.iter().enumerate();
        let mut scans: Vec<Scan> = criteria
            .filter(|(_, criterion)| is_indexed(criterion))
            .map(|(number, criterion)| Scan {
                criterion: Some(number),
                indexes: criterion.indexes(),
            })
            .collect();
        if scans.is_empty() {
            scans.push(Scan {
                criterion: None,
                indexes: vec![Index::Time],
            });
        }
        scans
    }

    /// The scan whose [`SCAN_LIMIT`] events go back furthest, and the last of these; no end if it has fewer
    /// events.
    async fn most_selective(
        &self,
        connection: &mut Connection,
        scans: &[Scan],
    ) -> Result<(usize, Option<ScanEnd>), Abort<Infallible>> {
        let mut chosen = (0, None);
        for (number, scan) in scans.iter().enumerate() {
            let mut end = None;
            for index in &scan.indexes {
                end = end.max(self.scan_end(connection, *index).await?);
            }
            if end.is_none() {
                return Ok((number, None));
            }
            if chosen.1.is_none() || end < chosen.1 {
                chosen = (number, end);
            }
        }
        Ok(chosen)
    }

    async fn scan_end(
        &self,
        connection: &mut Connection,
        index: Index,
    ) -> Result<Option<ScanEnd>, Abort<Infallible>> {
        let end: Option<(StoredMoment, StoredId)> = index
            .enter(self.since(None))
            .offset(SCAN_LIMIT - 1)
            .limit(1)
            .select((audit_events::occurred_at, audit_events::id))
            .get_result(connection)
            .await
            .optional()?;
        Ok(end.map(|(at, id)| ScanEnd { at, id }))
    }

    /// The organization's events of the filter's days, from this page to the end of the scan, latest first.
    fn since(&self, end: Option<ScanEnd>) -> Query {
        let mut query = cancellable!(audit_events::table.into_boxed(), audit_events::id)
            .order((audit_events::occurred_at.desc(), audit_events::id.desc()));
        query = match self.organization {
            Some(organization) => {
                query.filter(audit_events::organization_id.eq(StoredId(organization.as_uuid())))
            }
            None => query.filter(audit_events::organization_id.is_null()),
        };
        if let Some(from) = self.filter.from {
            query = query.filter(audit_events::occurred_at.ge(StoredMoment::from(from)));
        }
        if let Some(until) = self.filter.until {
            query = query.filter(audit_events::occurred_at.lt(StoredMoment::from(until)));
        }
        // The first of each two conditions bounds the scan of the index.
        if let Some(after) = self.page.after {
            query = query
                .filter(audit_events::occurred_at.le(StoredMoment::from(after.at)))
                .filter(
                    audit_events::occurred_at
                        .lt(StoredMoment::from(after.at))
                        .or(audit_events::id.lt(StoredId(after.id.as_uuid()))),
                );
        }
        if let Some(ScanEnd { at, id }) = end {
            query = query
                .filter(audit_events::occurred_at.ge(at))
                .filter(audit_events::occurred_at.gt(at).or(audit_events::id.ge(id)));
        }
        query
    }
}
