//! The audit log as JSON Lines: one JSON text on each line, for programs.

mod reading;

use std::collections::HashMap;

use chrono::SecondsFormat;
use keyward_domain::administration::ports::Named;
use keyward_domain::administration::{AuditPage, FollowedEvents};
use keyward_domain::audit::{Actor, AuditEvent, Subject};
use keyward_domain::user::Username;
use serde::Serialize;

pub use reading::{MAX_LINE_BYTES, NotAnEvent, read_event};

type Names = HashMap<Subject, Named>;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Line<'a> {
    pub(crate) id: String,
    pub(crate) at: String,
    pub(crate) actor: Thing<'a>,
    pub(crate) action: &'a str,
    pub(crate) subject: Thing<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) object: Option<Thing<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old_value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) new_value: Option<&'a str>,
    pub(crate) outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source_address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<&'a str>,
}

/// A line with the position after which to continue, and the organization of its event.
#[derive(Serialize)]
struct FollowedLine<'a> {
    position: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    organization: Option<Thing<'a>>,
    #[serde(flatten)]
    line: Line<'a>,
}

#[derive(Serialize)]
pub(crate) struct Thing<'a> {
    pub(crate) kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    /// The current name; absent if the object was removed or never had a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<&'a str>,
    /// The username, which distinguishes a person from others of that name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) username: Option<&'a str>,
}

/// Events of the audit log as JSON Lines, as owners export them: one JSON object on each line, in the order
/// of the page.
///
/// # Errors
/// None: every event can be written so.
pub fn of_page(page: &AuditPage) -> Result<String, serde_json::Error> {
    let events = page.events.items.iter();
    json_lines(events.map(|event| Line::of(event, &page.names)))
}

/// Writes events in the order of commits, each with its position and its organization.
///
/// # Errors
/// None: every event can be written so.
pub fn of_followed(followed: &FollowedEvents) -> Result<String, serde_json::Error> {
    let names = &followed.names;
    let lines = followed.events.iter().map(|(position, event)| FollowedLine {
        position: position.to_string(),
        organization: event
            .organization_id
            .map(|id| Thing::of_kind("organization", Some(Subject::Organization(id)), names)),
        line: Line::of(event, names),
    });
    json_lines(lines)
}

fn json_lines(values: impl Iterator<Item = impl Serialize>) -> Result<String, serde_json::Error> {
    let mut lines = String::new();
    for value in values {
        lines.push_str(&serde_json::to_string(&value)?);
        lines.push('\n');
    }
    Ok(lines)
}

impl<'a> Line<'a> {
    pub(crate) fn of(event: &'a AuditEvent, names: &'a Names) -> Self {
        Self {
            id: event.id.to_string(),
            at: event.at.to_rfc3339_opts(SecondsFormat::Millis, true),
            actor: Thing::acting(event.actor, names),
            action: event.action.as_str(),
            subject: Thing::of(&event.subject, names),
            object: event.object.as_ref().map(|object| Thing::of(object, names)),
            old_value: event.old_value.as_deref(),
            new_value: event.new_value.as_deref(),
            outcome: event.outcome.as_str(),
            source_address: event.source.address.map(|address| address.to_string()),
            request_id: event.source.request_id.as_deref(),
        }
    }
}

impl<'a> Thing<'a> {
    fn of(subject: &'a Subject, names: &'a Names) -> Self {
        Self::of_kind(subject.kind(), Some(*subject), names)
    }

    fn acting(actor: Actor, names: &'a Names) -> Self {
        Self::of_kind(actor.kind(), actor.as_subject(), names)
    }

    fn of_kind(kind: &'a str, subject: Option<Subject>, names: &'a Names) -> Self {
        let named = subject.and_then(|subject| names.get(&subject));
        Self {
            kind,
            id: subject.and_then(Subject::id).map(|id| id.to_string()),
            name: named.map(|named| named.name.as_str()),
            username: named
                .and_then(|named| named.username.as_ref())
                .map(Username::as_str),
        }
    }
}
