//! The audit log as CSV (RFC 4180), for spreadsheets.

use keyward_domain::administration::AuditPage;
use keyward_domain::audit::AuditEvent;

use crate::json_lines::{Line, Thing};

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
    let line = Line::of(event, &page.names);
    let fields = [
        &[line.id.as_str(), &line.at][..],
        &columns(Some(&line.actor)),
        &[line.action],
        &columns(Some(&line.subject)),
        &columns(line.object.as_ref()),
        &[
            line.outcome,
            line.source_address.as_deref().unwrap_or_default(),
            line.request_id.unwrap_or_default(),
            line.old_value.unwrap_or_default(),
            line.new_value.unwrap_or_default(),
        ],
    ];
    let fields: Vec<String> = fields.concat().into_iter().map(escaped).collect();
    fields.join(",") + "\r\n"
}

fn columns<'a>(thing: Option<&'a Thing<'_>>) -> [&'a str; 4] {
    thing.map_or([""; 4], |thing| {
        [
            thing.kind,
            thing.id.as_deref().unwrap_or_default(),
            thing.name.unwrap_or_default(),
            thing.username.unwrap_or_default(),
        ]
    })
}

/// A field of a CSV file, quoted if it would not read back otherwise. An apostrophe before texts that begin like
/// a formula keeps spreadsheets from running them (OWASP, *CSV Injection*).
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
