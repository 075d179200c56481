//! Compares a `schema.rs`, which is kept by hand, with the tables of a migrated database.

use std::iter;

/// One column of a table, as diesel names its type.
pub(crate) struct Column {
    pub(crate) table: String,
    /// The columns of the table's primary key, joined by `, `.
    pub(crate) primary_key: String,
    pub(crate) name: String,
    pub(crate) sql_type: String,
}

/// Panics at the first line of the file's `table!` macros that the columns contradict. They are ordered by
/// table and place.
#[track_caller]
pub(crate) fn assert_describes(source: &str, columns: &[Column]) {
    let expected: Vec<String> = columns
        .chunk_by(|one, next| one.table == next.table)
        .flat_map(table_macro)
        .collect();
    let start = source.find("diesel::table!").expect("tables");
    let end = source.find("diesel::joinable!").expect("joins");
    let written = source[start..end].lines().filter(|line| !line.is_empty());
    let mut table = "";
    for (written, expected) in written
        .map(Some)
        .chain(iter::repeat(None))
        .zip(expected.iter().map(|line| Some(line.as_str())).chain([None]))
    {
        if let Some(line) = expected.filter(|line| line.ends_with(") {")) {
            table = line.trim();
        }
        assert_eq!(
            written, expected,
            "schema.rs (left) and the migrations (right) differ in `{table}`"
        );
    }
}

/// Panics unless the file's `joinable!` macros are these, of all foreign keys: of each the table, the one
/// that it refers to, and the column. They are ordered by these.
#[track_caller]
pub(crate) fn assert_joins(source: &str, foreign_keys: &[[String; 3]]) {
    let macros = foreign_keys
        .iter()
        .map(|[table, parent, column]| format!("diesel::joinable!({table} -> {parent} ({column}));"));
    let written = source
        .lines()
        .filter(|line| line.starts_with("diesel::joinable!"));
    assert_eq!(
        written.collect::<Vec<_>>(),
        macros.collect::<Vec<_>>(),
        "schema.rs (left) and the foreign keys (right) differ"
    );
}

fn table_macro(columns: &[Column]) -> Vec<String> {
    let Column {
        table, primary_key, ..
    } = &columns[0];
    let mut lines = vec![
        "diesel::table! {".to_owned(),
        format!("    {table} ({primary_key}) {{"),
    ];
    lines.extend(
        columns
            .iter()
            .map(|Column { name, sql_type, .. }| format!("        {name} -> {sql_type},")),
    );
    lines.extend(["    }".to_owned(), "}".to_owned()]);
    lines
}
