//! The audit log as CSV (RFC 4180), for spreadsheets.

use std::collections::HashMap;

use chrono::SecondsFormat;
use keyward_domain::audit::{Actor, AuditEvent, Subject};

/// The first line: what is in each column.
pub(super) const HEADER: &str = "id,at,actor_kind,actor_id,actor_name,action,subject_kind,subject_id,subject_name,\
                                 object_kind,object_id,object_name,outcome,source_address,request_id\r\n";

/// One event as one record.
pub(super) fn record(event: &AuditEvent, names: &HashMap<Subject, String>) -> String {
    let actor = thing(event.actor.as_subject(), names);
    let subject = thing(Some(event.subject), names);
    let object = thing(event.object, names);
    let fields = [
        event.id.to_string(),
        event.at.to_rfc3339_opts(SecondsFormat::Millis, true),
        Actor::kind(event.actor).to_owned(),
        actor.id,
        actor.name,
        event.action.as_str().to_owned(),
        event.subject.kind().to_owned(),
        subject.id,
        subject.name,
        event.object.map(Subject::kind).unwrap_or_default().to_owned(),
        object.id,
        object.name,
        event.outcome.as_str().to_owned(),
        event
            .source
            .address
            .map(|address| address.to_string())
            .unwrap_or_default(),
        event.source.request_id.clone().unwrap_or_default(),
    ];
    let mut record = fields.map(|field| escaped(&field)).join(",");
    record.push_str("\r\n");
    record
}

struct Thing {
    id: String,
    name: String,
}

fn thing(subject: Option<Subject>, names: &HashMap<Subject, String>) -> Thing {
    let id = subject.and_then(Subject::id).map(|id| id.to_string());
    let name = subject.and_then(|subject| names.get(&subject)).cloned();
    Thing {
        id: id.unwrap_or_default(),
        name: name.unwrap_or_default(),
    }
}

/// A field that reads back as it is, and that no spreadsheet runs: one that begins like a formula gets an apostrophe
/// before it (OWASP, *CSV Injection*).
fn escaped(field: &str) -> String {
    let begins_a_formula =
        |c: char| matches!(c, '=' | '+' | '-' | '@' | '\t' | '\r' | '＝' | '＋' | '－' | '＠');
    let guarded = if field.trim_start().starts_with(begins_a_formula) {
        format!("'{field}")
    } else {
        field.to_owned()
    };
    if guarded.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", guarded.replace('"', "\"\""))
    } else {
        guarded
    }
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn quotes_commas_and_line_breaks_are_quoted() {
        for (field, expected) in [
            ("plain", "plain"),
            ("نظام القياس", "نظام القياس"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\r\nlines", "\"two\r\nlines\""),
            ("", ""),
        ] {
            assert_eq!(escaped(field), expected);
        }
    }

    #[test]
    fn nothing_begins_like_a_formula() {
        for (field, expected) in [
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            (" =1", "' =1"),
            ("＝1", "'＝1"),
            ("=A1,\"x\"", "\"'=A1,\"\"x\"\"\""),
            ("1=1", "1=1"),
        ] {
            assert_eq!(escaped(field), expected, "{field:?}");
        }
    }
}
