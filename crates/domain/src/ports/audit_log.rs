//! The store of audit events.

use async_trait::async_trait;

use crate::audit::AuditEvent;
use crate::id::{AuditEventId, OrganizationId};
use crate::page::{Page, PageRequest};
use crate::ports::StorageError;

/// Keeps what happened. Events of changes are written by the methods that make the change.
///
/// Events are only ever added: an event whose identifier is taken MUST be refused with a
/// [`StorageError`], and so MUST the change that it tells of.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait AuditLog: Send + Sync {
    /// Writes an event that tells of no change, such as a refused sign-in.
    async fn record(&self, event: AuditEvent) -> Result<(), StorageError>;

    /// A page of events, by falling identifier: those of one organization, or with `None` those of no organization.
    async fn list(
        &self,
        organization: Option<OrganizationId>,
        page: PageRequest<AuditEventId>,
    ) -> Result<Page<AuditEvent, AuditEventId>, StorageError>;
}
