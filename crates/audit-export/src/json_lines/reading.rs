//! Reads a line back.

use std::net::IpAddr;
use std::str::FromStr;

use chrono::DateTime;
use keyward_domain::audit::{Action, Actor, AuditEvent, InvalidReference, Outcome, RequestSource, Subject};
use keyward_domain::id::ApiKeyId;
use serde::Deserialize;

/// The most bytes of a line. The longest one of this version has less than a tenth of that.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// A line as a program writes it. Members that a newer version adds are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    id: String,
    at: String,
    organization: Option<Thing>,
    actor: Thing,
    action: String,
    subject: Thing,
    object: Option<Thing>,
    old_value: Option<String>,
    new_value: Option<String>,
    outcome: String,
    source_address: Option<IpAddr>,
    request_id: Option<String>,
}

#[derive(Deserialize)]
struct Thing {
    kind: String,
    id: Option<String>,
}

/// Why a line is no event.
#[derive(Debug, thiserror::Error)]
pub enum NotAnEvent {
    /// Longer than any event can be.
    #[error("longer than {MAX_LINE_BYTES} bytes")]
    TooLong,
    /// It is no JSON object, or a member is absent or of another type.
    // For serde_json, every line is the first.
    #[error("{}", .0.to_string().replace(" at line 1 column ", " at column "))]
    Json(serde_json::Error),
    /// A member has a value that no version writes.
    #[error("invalid {member} {value:?}")]
    Invalid {
        /// Its path in the line, such as `subject.id`.
        member: String,
        /// As the line has it; empty if it is absent.
        value: String,
    },
}

/// Reads an event from a line of [`of_page`](super::of_page) or [`of_followed`](super::of_followed). Only the
/// latter have the event's organization; in the others it is absent.
///
/// # Errors
/// See [`NotAnEvent`].
pub fn read_event(line: &[u8]) -> Result<AuditEvent, NotAnEvent> {
    if line.len() > MAX_LINE_BYTES {
        return Err(NotAnEvent::TooLong);
    }
    let line: Line = serde_json::from_slice(line).map_err(NotAnEvent::Json)?;
    let organization = line.organization.map(|it| it.id("organization"));
    Ok(AuditEvent {
        id: read("id", line.id, |id| id.parse().ok())?,
        at: read("at", line.at, |at| DateTime::parse_from_rfc3339(at).ok())?.to_utc(),
        organization_id: organization.transpose()?,
        actor: line.actor.actor()?,
        action: read("action", line.action, Action::from_word)?,
        subject: line.subject.subject("subject")?,
        object: line.object.map(|object| object.subject("object")).transpose()?,
        old_value: line.old_value,
        new_value: line.new_value,
        outcome: read("outcome", line.outcome, Outcome::from_word)?,
        source: RequestSource {
            address: line.source_address,
            request_id: line.request_id,
        },
    })
}

fn read<T>(member: &str, value: String, read: impl FnOnce(&str) -> Option<T>) -> Result<T, NotAnEvent> {
    let member = member.to_owned();
    read(&value).ok_or(NotAnEvent::Invalid { member, value })
}

impl Thing {
    fn id<T: FromStr>(self, member: &str) -> Result<T, NotAnEvent> {
        let id = self.id.unwrap_or_default();
        read(&format!("{member}.id"), id, |id| id.parse().ok())
    }

    fn actor(self) -> Result<Actor, NotAnEvent> {
        let id = self.id_of_any_kind().map(|id| id.as_uuid());
        Actor::from_kind(&self.kind, id).map_err(|error| self.invalid("actor", error))
    }

    fn subject(self, member: &str) -> Result<Subject, NotAnEvent> {
        let id = self.id_of_any_kind().map(|id| id.as_uuid());
        Subject::from_kind(&self.kind, id).map_err(|error| self.invalid(member, error))
    }

    /// Identifiers of all kinds have the same form.
    fn id_of_any_kind(&self) -> Option<ApiKeyId> {
        self.id.as_deref()?.parse().ok()
    }

    fn invalid(self, member: &str, error: InvalidReference) -> NotAnEvent {
        let (part, value) = match error {
            InvalidReference::UnknownKind => ("kind", self.kind),
            InvalidReference::MissingId => ("id", self.id.unwrap_or_default()),
        };
        NotAnEvent::Invalid {
            member: format!("{member}.{part}"),
            value,
        }
    }
}

#[cfg(test)]
mod tests;
