//! The filter of a list of events, and a position in it.

use chrono::{DateTime, Utc};

use super::{Action, Actor, AuditEvent, Subject};
use crate::id::AuditEventId;

/// The position of an event in the log, by its time, and among events of the same time by identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AuditPosition {
    /// The event's moment.
    pub at: DateTime<Utc>,
    /// Orders events of the same millisecond.
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

/// Selects events. An event MUST match all fields that are given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// The actor of the events.
    pub actor: Option<Actor>,
    /// The action that events must have.
    pub action: Option<Action>,
    /// The subject or the object of the events.
    pub subject: Option<Subject>,
    /// The earliest time, inclusive.
    pub from: Option<DateTime<Utc>>,
    /// Events at or after this time are excluded.
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
