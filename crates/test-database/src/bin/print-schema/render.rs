//! The catalogue as diesel's macros.

use std::fmt::Write;

use crate::catalogue::{Column, ForeignKey, Table};

const HEADER: &str = "\
//! The tables as diesel sees them. Generated from the migrated database by `cargo xtask schema`: change a migration
//! and run it again.
";

/// The whole of `schema.rs`, the same for the same tables.
///
/// Fails on what diesel or this program cannot express, naming table and column.
pub(crate) fn schema(tables: &[Table]) -> Result<String, String> {
    let mut text = HEADER.to_owned();
    for table in tables {
        text.push('\n');
        text.push_str(&table_macro(table)?);
    }
    let joinable: Vec<String> = tables
        .iter()
        .flat_map(|table| joinable_macros(table, tables))
        .collect();
    if !joinable.is_empty() {
        text.push('\n');
        text.push_str(&joinable.concat());
    }
    if tables.len() > 1 {
        let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
        text.push_str(&format!(
            "\ndiesel::allow_tables_to_appear_in_same_query!({});\n",
            names.join(", ")
        ));
    }
    Ok(text)
}

fn table_macro(table: &Table) -> Result<String, String> {
    let name = identifier(&table.name, &table.name)?;
    if table.primary_key.is_empty() {
        return Err(format!("table {name} has no primary key, and diesel needs one"));
    }
    let mut text = format!(
        "diesel::table! {{\n    {name} ({}) {{\n",
        table.primary_key.join(", ")
    );
    for column in &table.columns {
        let place = format!("{name}.{}", column.name);
        let column_name = identifier(&column.name, &place)?;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "        {column_name} -> {},", sql_type(column, &place)?);
    }
    text.push_str("    }\n}\n");
    Ok(text)
}

fn sql_type(column: &Column, place: &str) -> Result<String, String> {
    let name = match column.type_name.as_str() {
        "bool" => "Bool",
        "bytea" => "Binary",
        "int2" => "Int2",
        "int4" => "Int4",
        "int8" => "Int8",
        "jsonb" => "Jsonb",
        "text" | "varchar" => "Text",
        "timestamptz" => "Timestamptz",
        "uuid" => "Uuid",
        unknown => {
            return Err(format!(
                "{place} is of type {unknown}, which `cargo xtask schema` does not know: teach it \
                 (crates/test-database/src/bin/print-schema/render.rs) or choose another type"
            ));
        }
    };
    Ok(if column.nullable {
        format!("Nullable<{name}>")
    } else {
        name.to_owned()
    })
}

/// diesel joins two tables by themselves only where one column refers to the other's primary key, and no other does.
fn joinable_macros(child: &Table, tables: &[Table]) -> Vec<String> {
    let mut macros: Vec<String> = child
        .foreign_keys
        .iter()
        .filter_map(|key| joinable_macro(child, key, tables))
        .collect();
    macros.sort();
    macros
}

fn joinable_macro(child: &Table, key: &ForeignKey, tables: &[Table]) -> Option<String> {
    let parent = tables.iter().find(|table| table.name == key.parent)?;
    let between_both = |one: &Table, other: &Table| {
        one.foreign_keys
            .iter()
            .filter(|foreign_key| foreign_key.parent == other.name)
            .count()
    };
    let [column] = key.columns.as_slice() else {
        return None;
    };
    let only_one = between_both(child, parent) + between_both(parent, child) == 1;
    let joinable = child.name != parent.name && key.parent_columns == parent.primary_key && only_one;
    joinable.then(|| {
        format!(
            "diesel::joinable!({} -> {} ({column}));\n",
            child.name, parent.name
        )
    })
}

/// Refuses what could not stand in Rust source as it is.
fn identifier<'name>(name: &'name str, place: &str) -> Result<&'name str, String> {
    let plain = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .chars()
            .all(|character| matches!(character, 'a'..='z' | '0'..='9' | '_'));
    if plain && !KEYWORDS.contains(&name) {
        Ok(name)
    } else {
        Err(format!(
            "{place} is no name for Rust code: choose one of a-z, 0-9 and _ that is no keyword"
        ))
    }
}

/// Rust's strict and reserved keywords that are lower case.
const KEYWORDS: [&str; 51] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, type_name: &str, nullable: bool) -> Column {
        Column {
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            nullable,
        }
    }

    fn table(name: &str, columns: Vec<Column>) -> Table {
        let primary_key = columns.iter().take(1).map(|column| column.name.clone()).collect();
        Table {
            name: name.to_owned(),
            columns,
            primary_key,
            foreign_keys: Vec::new(),
        }
    }

    fn reference(column: &str, parent: &str) -> ForeignKey {
        ForeignKey {
            columns: vec![column.to_owned()],
            parent: parent.to_owned(),
            parent_columns: vec!["id".to_owned()],
        }
    }

    #[test]
    fn tables_become_macros_with_their_joins() {
        let organizations = table(
            "organizations",
            vec![column("id", "uuid", false), column("name", "text", false)],
        );
        let mut keys = table(
            "keys",
            vec![
                column("id", "uuid", false),
                column("organization", "uuid", false),
                column("digest", "bytea", false),
                column("revoked_at", "timestamptz", true),
            ],
        );
        keys.foreign_keys.push(reference("organization", "organizations"));
        let expected = "
diesel::table! {
    keys (id) {
        id -> Uuid,
        organization -> Uuid,
        digest -> Binary,
        revoked_at -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    organizations (id) {
        id -> Uuid,
        name -> Text,
    }
}

diesel::joinable!(keys -> organizations (organization));

diesel::allow_tables_to_appear_in_same_query!(keys, organizations);
";
        assert_eq!(
            schema(&[keys, organizations]).unwrap(),
            format!("{HEADER}{expected}")
        );
    }

    #[test]
    fn two_references_to_one_table_and_a_reference_to_itself_are_not_joined_by_themselves() {
        let people = table("people", vec![column("id", "uuid", false)]);
        let mut keys = table("keys", vec![column("id", "uuid", false)]);
        keys.foreign_keys = vec![
            reference("owner", "people"),
            reference("revoker", "people"),
            reference("parent", "keys"),
        ];
        assert!(!schema(&[keys, people]).unwrap().contains("joinable!"));
    }

    #[test]
    fn a_type_that_is_not_known_is_an_error_that_names_the_column() {
        let message = schema(&[table("visits", vec![column("address", "inet", false)])]).unwrap_err();
        assert!(
            message.contains("visits.address") && message.contains("inet"),
            "{message}"
        );
    }

    #[test]
    fn a_table_without_a_primary_key_is_an_error() {
        let message = schema(&[table("visits", Vec::new())]).unwrap_err();
        assert!(message.contains("visits has no primary key"), "{message}");
    }

    #[test]
    fn a_name_that_rust_cannot_hold_is_an_error() {
        for name in ["type", "Mixed", "2fa", "with space", "per-cent"] {
            let message = schema(&[table("keys", vec![column(name, "text", false)])]).unwrap_err();
            assert!(message.contains(&format!("keys.{name}")), "{message}");
        }
    }
}
