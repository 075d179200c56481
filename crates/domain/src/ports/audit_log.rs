//! The store of audit events.

use async_trait::async_trait;

use crate::audit::AuditEvent;
use crate::audit::filter::{AuditFilter, AuditPosition};
use crate::id::OrganizationId;
use crate::page::{Page, PageRequest};
use crate::ports::StorageError;

/// The audit log. Events of changes are written by the methods that make the change.
///
/// Events are only ever added: an event whose identifier is taken MUST be refused with a
/// [`StorageError`], and so MUST its change.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait AuditLog: Send + Sync {
    /// Writes an event without a change, such as a refused sign-in.
    async fn record(&self, event: AuditEvent) -> Result<(), StorageError>;

    /// A page of the events that pass the filter, by descending [`AuditPosition`]: those of one organization,
    /// or with `None` those of no organization. Another organization's events MUST NOT be among them, even if
    /// they are about this one.
    ///
    /// Every event of the organization that the filter [accepts](AuditFilter::accepts) MUST be on one of the
    /// pages, by the event's own fields: the clocks of several servers differ, so a store MUST NOT derive an
    /// event's time from its identifier.
    ///
    /// If the filter has more than one of actor, action and subject, or with `None` any of them, a store MAY
    /// stop a search before the page is full, so that no page takes long. [`Page::next`] is then the last
    /// position that it searched, and MUST NOT be absent.
    async fn list(
        &self,
        organization: Option<OrganizationId>,
        filter: AuditFilter,
        page: PageRequest<AuditPosition>,
    ) -> Result<Page<AuditEvent, AuditPosition>, StorageError>;
}
