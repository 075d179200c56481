//! Export of the audit log, page by page.

use crate::administration::{AuditPage, AuditTrail, Authority};
use crate::audit::{Act, Action, Actor, AuditEvent, RequestSource, Subject};
use crate::id::OrganizationId;
use crate::page::{PageRequest, PageSize};
use crate::ports::{AuditFilter, AuditPosition, StorageError};
use crate::rate::Throttled;

/// An export of all events that pass a filter, latest first. Holds at most one page in memory.
///
/// The export writes an audit event after reading the first page and before returning it, so that nothing is
/// exported without the event, and an export does not contain its own event.
pub struct AuditExport {
    trail: AuditTrail,
    organization: Option<OrganizationId>,
    /// The authority for whose limit of changes it counts.
    authority: Option<Authority>,
    filter: AuditFilter,
    next: NextPage,
    event: Option<AuditEvent>,
}

/// Why an export was refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum ExportAuditLogError {
    /// The owner has made too many changes. Only an export that has not begun is refused.
    #[error(transparent)]
    Throttled(#[from] Throttled),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

enum NextPage {
    First,
    After(AuditPosition),
    None,
}

impl AuditTrail {
    /// Exports the organization's events that pass the filter, which writes an audit event, and so counts as a
    /// change of an owner.
    #[must_use]
    pub fn export(&self, authority: &Authority, filter: AuditFilter, source: RequestSource) -> AuditExport {
        let organization = authority.organization_id();
        let act = authority.act(&self.sources, source);
        let export = AuditExport::new(self.clone(), act, Subject::Organization(organization), filter);
        AuditExport {
            authority: Some(*authority),
            ..export
        }
    }

    /// Exports the events of no organization, such as sign-ins; for administrators only.
    #[must_use]
    pub fn export_of_installation(&self, filter: AuditFilter) -> AuditExport {
        let act = self.sources.act(Actor::Administrator, RequestSource::default());
        AuditExport::new(self.clone(), act, Subject::Installation, filter)
    }
}

impl AuditExport {
    fn new(trail: AuditTrail, act: Act, subject: Subject, filter: AuditFilter) -> Self {
        Self {
            trail,
            organization: act.organization_id,
            authority: None,
            filter,
            next: NextPage::First,
            event: Some(act.event(Action::ExportAuditLog, subject)),
        }
    }

    /// The next page, or `None` after the last. Events written during the export are usually newer than its
    /// position and not included. But an event's time is taken before its commit, and servers' clocks differ,
    /// so an event older than the position is included.
    ///
    /// # Errors
    /// See [`ExportAuditLogError`]; the export stays where it was.
    pub async fn next(&mut self) -> Result<Option<AuditPage>, ExportAuditLogError> {
        let after = match self.next {
            NextPage::First => None,
            NextPage::After(position) => Some(position),
            NextPage::None => return Ok(None),
        };
        if let (Some(event), Some(authority)) = (&self.event, &self.authority) {
            self.trail
                .limit
                .count::<ExportAuditLogError>(authority, event.at)
                .await?;
        }
        let request = PageRequest {
            size: PageSize::EXPORT,
            after,
        };
        let page = self
            .trail
            .page(self.organization, self.filter.clone(), request)
            .await?;
        if let Some(event) = &self.event {
            self.trail.record(event.clone()).await?;
            self.event = None;
        }
        self.next = page.events.next.map_or(NextPage::None, NextPage::After);
        Ok(Some(page))
    }
}
