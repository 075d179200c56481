//! The audit log as JSON Lines: one JSON text on each line, for programs.

use std::collections::HashMap;

use chrono::SecondsFormat;
use keyward_domain::audit::{Actor, AuditEvent, Subject};
use serde::Serialize;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    id: String,
    at: String,
    actor: Thing<'a>,
    action: &'static str,
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
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// What it is called now; absent if it is gone or never had a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

/// One event as one line.
pub(super) fn line(
    event: &AuditEvent,
    names: &HashMap<Subject, String>,
) -> Result<String, serde_json::Error> {
    let line = Line {
        id: event.id.to_string(),
        at: event.at.to_rfc3339_opts(SecondsFormat::Millis, true),
        actor: actor(event.actor, names),
        action: event.action.as_str(),
        subject: thing(event.subject, names),
        object: event.object.map(|object| thing(object, names)),
        outcome: event.outcome.as_str(),
        source_address: event.source.address.map(|address| address.to_string()),
        request_id: event.source.request_id.as_deref(),
    };
    let mut line = serde_json::to_string(&line)?;
    line.push('\n');
    Ok(line)
}

fn actor(actor: Actor, names: &HashMap<Subject, String>) -> Thing<'_> {
    actor.as_subject().map_or(
        Thing {
            kind: actor.kind(),
            id: None,
            name: None,
        },
        |subject| thing(subject, names),
    )
}

fn thing(subject: Subject, names: &HashMap<Subject, String>) -> Thing<'_> {
    Thing {
        kind: subject.kind(),
        id: subject.id().map(|id| id.to_string()),
        name: names.get(&subject).map(String::as_str),
    }
}
