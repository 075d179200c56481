//! The audit log as a whole, piece by piece.

use crate::administration::{AuditPage, AuditTrail, Authority};
use crate::audit::{Act, Action, Actor, AuditEvent, RequestSource, Subject};
use crate::id::OrganizationId;
use crate::page::{PageRequest, PageSize};
use crate::ports::{AuditFilter, AuditPosition, StorageError};

/// All events that pass a filter, latest first. It holds no more than one page of them at a time.
///
/// That they were exported is an event itself. It is written between the reading of the first page and its return, so
/// that nothing is exported without the event, and no export has its own event in it.
pub struct AuditExport {
    trail: AuditTrail,
    organization: Option<OrganizationId>,
    filter: AuditFilter,
    next: NextPage,
    event: Option<AuditEvent>,
}

enum NextPage {
    First,
    After(AuditPosition),
    None,
}

impl AuditTrail {
    /// All events of the organization that pass the filter, to be read piece by piece. That they were exported is an event
    /// itself.
    #[must_use]
    pub fn export(&self, authority: &Authority, filter: AuditFilter, source: RequestSource) -> AuditExport {
        let organization = authority.organization_id();
        let act = authority.act(&self.sources, source);
        AuditExport::new(self.clone(), act, Subject::Organization(organization), filter)
    }

    /// Likewise those of no organization, such as sign-ins: for whoever runs the server, and nobody else.
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
            filter,
            next: NextPage::First,
            event: Some(act.event(Action::ExportAuditLog, subject)),
        }
    }

    /// The next events, or nothing after the last. What is written meanwhile is mostly newer than what was read, and then
    /// not among them. But an event's moment is taken before it is committed, and the clocks of servers differ: one that
    /// is older than where the export stands will be among them.
    ///
    /// # Errors
    /// Only if the store fails; the export stays where it was.
    pub async fn next(&mut self) -> Result<Option<AuditPage>, StorageError> {
        let after = match self.next {
            NextPage::First => None,
            NextPage::After(position) => Some(position),
            NextPage::None => return Ok(None),
        };
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
