//! The audit log as JSON Lines: one JSON text on each line, for programs.

use chrono::SecondsFormat;
use keyward_domain::administration::AuditPage;
use keyward_domain::audit::{Actor, AuditEvent, Subject};
use keyward_domain::user::Username;
use serde::Serialize;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    id: String,
    at: String,
    actor: Thing<'a>,
    action: &'a str,
    subject: Thing<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<Thing<'a>>,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
}

#[derive(Serialize)]
struct Thing<'a> {
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// What it is called now; absent if it is gone or never had a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// What tells a person apart from others of that name.
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<&'a str>,
}

/// Events of the audit log as JSON Lines, as owners export them: one JSON object on each line, in the order of the page.
///
/// # Errors
/// None: every event can be written so.
pub fn audit_json_lines(page: &AuditPage) -> Result<String, serde_json::Error> {
    let mut lines = String::new();
    for event in &page.events.items {
        lines.push_str(&serde_json::to_string(&Line::of(event, page))?);
        lines.push('\n');
    }
    Ok(lines)
}

impl<'a> Line<'a> {
    fn of(event: &'a AuditEvent, page: &'a AuditPage) -> Self {
        Self {
            id: event.id.to_string(),
            at: event.at.to_rfc3339_opts(SecondsFormat::Millis, true),
            actor: Thing::acting(event.actor, page),
            action: event.action.as_str(),
            subject: Thing::of(&event.subject, page),
            object: event.object.as_ref().map(|object| Thing::of(object, page)),
            outcome: event.outcome.as_str(),
            source_address: event.source.address.map(|address| address.to_string()),
            request_id: event.source.request_id.as_deref(),
        }
    }
}

impl<'a> Thing<'a> {
    fn of(subject: &'a Subject, page: &'a AuditPage) -> Self {
        Self::of_kind(subject.kind(), Some(*subject), page)
    }

    fn acting(actor: Actor, page: &'a AuditPage) -> Self {
        Self::of_kind(actor.kind(), actor.as_subject(), page)
    }

    fn of_kind(kind: &'a str, subject: Option<Subject>, page: &'a AuditPage) -> Self {
        Self {
            kind,
            id: subject.and_then(Subject::id).map(|id| id.to_string()),
            name: subject
                .and_then(|subject| page.names.get(&subject))
                .map(String::as_str),
            username: subject
                .and_then(|subject| page.usernames.get(&subject))
                .map(Username::as_str),
        }
    }
}
