//! The audit log as CSV (RFC 4180), for spreadsheets.

use chrono::SecondsFormat;
use keyward_domain::administration::AuditPage;
use keyward_domain::audit::{Actor, AuditEvent, Subject};

/// The first line: what is in each column.
pub const HEADER: &str = "id,at,actor_kind,actor_id,actor_name,actor_username,action,\
                                 subject_kind,subject_id,subject_name,subject_username,\
                                 object_kind,object_id,object_name,object_username,\
                                 outcome,source_address,request_id,old_value,new_value\r\n";

/// The events of a page, one in each record.
#[must_use]
pub fn records(page: &AuditPage) -> String {
    let events = page.events.items.iter();
    events.map(|event| record(event, page)).collect()
}

fn record(event: &AuditEvent, page: &AuditPage) -> String {
    let actor = Thing::of(event.actor.as_subject(), page);
    let subject = Thing::of(Some(event.subject), page);
    let object = Thing::of(event.object, page);
    let fields = [
        event.id.to_string(),
        event.at.to_rfc3339_opts(SecondsFormat::Millis, true),
        Actor::kind(event.actor).to_owned(),
        actor.id,
        actor.name,
        actor.username,
        event.action.as_str().to_owned(),
        event.subject.kind().to_owned(),
        subject.id,
        subject.name,
        subject.username,
        event
            .object
            .as_ref()
            .map(Subject::kind)
            .unwrap_or_default()
            .to_owned(),
        object.id,
        object.name,
        object.username,
        event.outcome.as_str().to_owned(),
        event
            .source
            .address
            .map(|address| address.to_string())
            .unwrap_or_default(),
        event.source.request_id.clone().unwrap_or_default(),
        event.old_value.clone().unwrap_or_default(),
        event.new_value.clone().unwrap_or_default(),
    ];
    let mut record = fields.map(|field| escaped(&field)).join(",");
    record.push_str("\r\n");
    record
}

struct Thing {
    id: String,
    name: String,
    username: String,
}

impl Thing {
    fn of(subject: Option<Subject>, page: &AuditPage) -> Self {
        let id = subject.and_then(Subject::id).map(|id| id.to_string());
        let named = subject.and_then(|subject| page.names.get(&subject));
        let username = named.and_then(|named| named.username.as_ref());
        Self {
            id: id.unwrap_or_default(),
            name: named.map(|named| named.name.clone()).unwrap_or_default(),
            username: username.map(ToString::to_string).unwrap_or_default(),
        }
    }
}

/// A field that reads back as it is, and that no spreadsheet runs (OWASP, *CSV Injection*): an apostrophe
/// comes before whatever begins like a formula.
fn escaped(field: &str) -> String {
    let guarded = without_formulas(field);
    if guarded.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", guarded.replace('"', "\"\""))
    } else {
        guarded
    }
}

/// Where the comma is the decimal sign, spreadsheets split lines at semicolons instead, some at tabs or bars.
/// Our quotes then stand inside of a cell and hold nothing together, not even lines. So a cell may begin
/// after each of these.
fn without_formulas(field: &str) -> String {
    const ENDS_A_CELL: [char; 5] = [';', '|', '\t', '\r', '\n'];
    let mut guarded = String::with_capacity(field.len());
    let mut rest = field;
    while !rest.is_empty() {
        if begins_a_formula(rest) {
            guarded.push('\'');
        }
        let (cell, after) = rest.split_at(rest.find(ENDS_A_CELL).map_or(rest.len(), |end| end + 1));
        guarded.push_str(cell);
        rest = after;
    }
    guarded
}

fn begins_a_formula(text: &str) -> bool {
    text.trim_start_matches(|c: char| c.is_whitespace() || c == '"')
        .starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
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
    fn csv_field_starting_like_a_formula_is_escaped() {
        for (field, expected) in [
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t'=1"),
            (" =1", "' =1"),
            ("＝1", "'＝1"),
            ("=A1,\"x\"", "\"'=A1,\"\"x\"\"\""),
            ("1=1", "1=1"),
            ("x-y @home; 1=1 | a+b", "x-y @home; 1=1 | a+b"),
        ] {
            assert_eq!(escaped(field), expected, "{field:?}");
        }
    }

    #[test]
    fn formula_after_other_separators_within_csv_field_is_escaped() {
        for (field, expected) in [
            ("x;=HYPERLINK(1);y", "x;'=HYPERLINK(1);y"),
            ("x; =1", "x;' =1"),
            ("x;;-1", "x;;'-1"),
            ("x|@1", "x|'@1"),
            ("x\t+1", "x\t'+1"),
            ("x\r\n=1", "\"x\r'\n'=1\""),
            ("x;\"=1\"", "\"x;'\"\"=1\"\"\""),
            ("ü;＝1", "ü;'＝1"),
        ] {
            assert_eq!(escaped(field), expected, "{field:?}");
        }
    }
}
