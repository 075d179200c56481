//! An export contains all tables and columns.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::database::Database;
use crate::transfer::everything::everything;

/// The tables of an export and the columns of each, in their order.
fn tables_of(export: &str) -> BTreeMap<String, Vec<String>> {
    let mut tables = BTreeMap::new();
    for line in export.lines() {
        let line = line.strip_prefix("{\"").expect(line);
        let (table, row) = line.split_once("\":").expect(line);
        if !matches!(table, "keyward_export" | "end") {
            tables.insert(table.to_owned(), members(row));
        }
    }
    tables
}

/// The names of an object's members as they are written. (A parsed object has them in the order of the
/// alphabet.)
fn members(object: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = object.strip_prefix('{').expect(object);
    while !rest.starts_with('}') {
        let (name, value) = rest.split_once("\":").expect(rest);
        names.push(name.trim_start_matches([',', '"']).to_owned());
        let mut values = serde_json::Deserializer::from_str(value).into_iter::<Value>();
        values.next().expect("a value").expect("JSON");
        rest = value.get(values.byte_offset()..).expect("the rest");
    }
    names
}

/// The tables of a database and the columns of each, in their order, but for what migrations say, for the
/// looks at this machine's clock, for the replicas and what they have to know, for the table that has a row
/// only within a transaction, and for what the database makes of the rest.
async fn tables_in(database: &Database) -> BTreeMap<String, Vec<String>> {
    let (tables, columns) = if database.is_postgres() {
        (
            "SELECT table_name::text AS text FROM information_schema.tables WHERE table_schema = 'public'",
            "SELECT column_name::text AS text FROM information_schema.columns
             WHERE table_schema = 'public' AND table_name = '{}'
                -- The database makes them of the consumer and of the last use, and numbers events as they come in.
                AND (table_name, column_name) NOT IN
                    (('api_keys', 'organization_id'), ('api_keys', 'idle_since_day'),
                     ('api_keys', 'used_on_day'), ('audit_events', 'position'))
             ORDER BY ordinal_position",
        )
    } else {
        (
            "SELECT name AS text FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'api_key_grams*'",
            "SELECT name AS text FROM pragma_table_info('{}')
             WHERE ('{}', name) <> ('api_keys', 'organization_id') ORDER BY cid",
        )
    };
    let mut found = BTreeMap::new();
    for table in database.texts(tables).await {
        if !matches!(
            table.as_str(),
            "__diesel_schema_migrations"
                | "schema_compatibility"
                | "retention_clock"
                | "access_counter"
                | "access_changes"
                | "replicas"
                | "audit_events_removal"
                | "audit_feed"
                | "audit_positions"
                | "api_key_search"
        ) {
            let columns = database.texts(&columns.replace("{}", &table)).await;
            found.insert(table, columns);
        }
    }
    found
}

#[tokio::test]
async fn export_has_every_column_of_every_table() {
    let everything = everything().await;
    for database in Database::both().await {
        database.import(everything.clone()).await.expect("an import");
        let export = database.export().await;
        assert_eq!(
            tables_of(&export),
            tables_in(&database).await,
            "what is kept must be moved: see `src/transfer.rs`, and give `everything.rs` a row of each table"
        );
    }
}

#[tokio::test]
async fn test_export_has_a_value_in_each_column() {
    let mut empty = tables_of(&everything().await);
    for line in everything().await.lines() {
        let line: BTreeMap<String, Value> = serde_json::from_str(line).expect(line);
        for (table, row) in &line {
            if let Some(columns) = empty.get_mut(table) {
                columns.retain(|column| row[column.as_str()].is_null());
            }
        }
    }
    // Two columns of the installation exclude the third: `setup_link_is_transferred` has them.
    let expected = vec!["setup_link_digest".to_owned(), "setup_link_expires_at".to_owned()];
    assert_eq!(empty.remove("installation"), Some(expected));
    for (table, columns) in empty {
        assert_eq!(columns, Vec::<String>::new(), "{table}");
    }
}

#[tokio::test]
async fn export_header_names_the_newest_migration_of_its_database() {
    for database in Database::both().await {
        let newest = "SELECT max(version) AS text FROM __diesel_schema_migrations";
        let newest = database.texts(newest).await.join("");
        let export = database.export().await;
        let first_line = export.lines().next().expect("a first line");
        assert!(
            first_line.contains(&format!("\"schema\":\"{newest}\"")),
            "{first_line}"
        );
    }
}
