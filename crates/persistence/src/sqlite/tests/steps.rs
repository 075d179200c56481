//! The cost of statements in SQLite's steps, whose number is the same on every machine.

use std::path::Path;

use chrono::{DateTime, Utc};
use rusqlite::StatementStatus;
use rusqlite::types::Value;
use tempfile::TempDir;
use uuid::Uuid;

use crate::sqlite::SqliteConfig;

/// The database as it is now, in another file beside it.
pub(in crate::sqlite) fn copy(directory: &TempDir) -> rusqlite::Connection {
    let copy = directory.path().join("copy.db");
    let file = SqliteConfig::in_directory(directory.path()).file();
    let connection = rusqlite::Connection::open(file).unwrap();
    connection.execute("VACUUM INTO ?", [text(&copy)]).unwrap();
    rusqlite::Connection::open(copy).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// How many steps a noted query takes there, with the values that it had.
pub(in crate::sqlite) fn of_query(database: &rusqlite::Connection, noted: &str) -> i32 {
    let (query, values) = noted.split_once(" -- binds: ").unwrap();
    let mut statement = database.prepare(query).unwrap();
    let values = values.trim_matches(['[', ']']).split(", ").map(value);
    for (place, value) in (1..).zip(values) {
        statement.raw_bind_parameter(place, value).unwrap();
    }
    let mut rows = statement.raw_query();
    while rows.next().unwrap().is_some() {}
    drop(rows);
    statement.get_status(StatementStatus::VmStep)
}

/// As diesel writes it where statements are noted.
fn value(noted: &str) -> Value {
    let of = |kind: &str| noted.strip_prefix(kind).and_then(|rest| rest.strip_suffix(')'));
    if let Some(id) = of("StoredId(") {
        return Value::Blob(id.parse::<Uuid>().unwrap().as_bytes().to_vec());
    }
    if let Some(moment) = of("StoredMoment(Ok(") {
        let moment: DateTime<Utc> = moment.trim_end_matches(')').parse().unwrap();
        return Value::Integer(moment.timestamp_millis());
    }
    Value::Integer(noted.parse().unwrap())
}
