//! The store of audit events.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::audit::{Action, Actor, AuditEvent, Subject};
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

    /// A page of the events that pass the filter, by falling [`AuditPosition`]: those of one organization, or with
    /// `None` those of no organization. Another organization's events MUST NOT be among them, whatever they are about.
    ///
    /// Every event of the organization that the filter [accepts](AuditFilter::accepts) MUST be on one of the pages, by
    /// what the event says of itself: the clocks of several servers differ, so a store MUST NOT tell an event's moment
    /// from its identifier.
    async fn list(
        &self,
        organization: Option<OrganizationId>,
        filter: AuditFilter,
        page: PageRequest<AuditPosition>,
    ) -> Result<Page<AuditEvent, AuditPosition>, StorageError>;
}

/// Where an event stands in the log: by its moment, and events of one moment by identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AuditPosition {
    /// The event's moment.
    pub at: DateTime<Utc>,
    /// Its identifier.
    pub id: AuditEventId,
}

impl From<&AuditEvent> for AuditPosition {
    fn from(event: &AuditEvent) -> Self {
        Self {
            at: event.at,
            id: event.id,
        }
    }
}

/// Which events a list shows. What is absent does not matter; what is given MUST all hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Who did it.
    pub actor: Option<Actor>,
    /// What they did.
    pub action: Option<Action>,
    /// To what, be it the event's subject or its object.
    pub subject: Option<Subject>,
    /// Not before this moment.
    pub from: Option<DateTime<Utc>>,
    /// Before this moment, and not at it.
    pub until: Option<DateTime<Utc>>,
}

impl AuditFilter {
    /// Whether the event passes.
    #[must_use]
    pub fn accepts(&self, event: &AuditEvent) -> bool {
        let concerns = |subject| event.subject == subject || event.object == Some(subject);
        self.actor.is_none_or(|actor| event.actor == actor)
            && self.action.is_none_or(|action| event.action == action)
            && self.subject.is_none_or(concerns)
            && self.from.is_none_or(|from| event.at >= from)
            && self.until.is_none_or(|until| event.at < until)
    }
}
