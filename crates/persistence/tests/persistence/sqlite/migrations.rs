//! Bringing the schema up to date, and back.

use std::fs;
use std::path::{Path, PathBuf};

use diesel::connection::SimpleConnection;
use keyward_persistence::sqlite::{MigrateError, SqliteStore};
use keyward_persistence::{Migrated, SchemaState, UnusableSchema};

use crate::database::migrations;
use crate::sqlite::fixture::{DataDirectory, migrated_store};

/// The migrations of a version to come.
fn migrations_to_come() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/migrations_to_come/sqlite")
}

fn catalogue(directory: &DataDirectory) -> Vec<String> {
    directory.texts(
        "SELECT coalesce(sql, name) AS text FROM sqlite_schema WHERE tbl_name NOT LIKE '\\_\\_diesel%' ESCAPE '\\'
         ORDER BY 1",
    )
}

#[tokio::test]
async fn migrated_store_is_ready() {
    let directory = DataDirectory::new();
    let store = SqliteStore::open(directory.long_timeouts()).expect("a store");
    assert!(!store.is_ready().await.expect("the database answers"));
    store.migrate().await.expect("the first migration");
    assert!(store.is_ready().await.expect("the database answers"));
    store.migrate().await.expect("nothing to do");
    assert!(store.is_ready().await.expect("the database answers"));
}

#[tokio::test]
async fn newer_schema_is_served_if_additive_and_refused_if_breaking() {
    let directory = DataDirectory::new();
    let store = SqliteStore::open(directory.long_timeouts()).expect("a store");
    assert_eq!(store.inspect_schema().await.expect("a look"), SchemaState::Empty);
    store.migrate().await.expect("the schema");
    assert_eq!(
        store.inspect_schema().await.expect("a look"),
        SchemaState::Current
    );
    directory.execute("INSERT INTO __diesel_schema_migrations (version) VALUES ('20990101000000')");
    let newest = "20990101000000".to_owned();
    let state = SchemaState::NewerCompatible {
        newest: newest.clone(),
    };
    assert_eq!(store.inspect_schema().await.expect("a look"), state);
    assert_eq!(store.migrate().await.expect("nothing to do"), Migrated::Nothing);
    assert!(store.is_ready().await.expect("the database answers"));

    // As a breaking migration does.
    directory.execute("UPDATE schema_compatibility SET minimum_reader = '20990101000000'");
    assert_eq!(
        store.schema_state().await.expect("the database answers"),
        SchemaState::Unusable(UnusableSchema::Newer { newest })
    );
    let error = store.migrate().await.expect_err("a breaking migration");
    assert!(
        matches!(&error, MigrateError::Unusable(UnusableSchema::Newer { newest }) if newest == "20990101000000"),
        "{error:?}"
    );
    assert!(!store.is_ready().await.expect("the database answers"));
}

#[tokio::test]
async fn older_schema_is_unchanged_until_migrated() {
    let directory = DataDirectory::new();
    let open = || SqliteStore::open(directory.long_timeouts()).expect("a store");
    let (older, newer) = (open(), open().with_future_migrations(&migrations_to_come()));
    let Migrated::Made { to: from } = older.migrate().await.expect("the first migration") else {
        panic!("the database was empty");
    };
    let before = catalogue(&directory);
    let outdated = SchemaState::Outdated { newest: from.clone() };
    assert_eq!(newer.inspect_schema().await.expect("a look"), outdated);
    assert_eq!(newer.schema_state().await.expect("a look"), outdated);
    assert!(!newer.is_ready().await.expect("the database answers"));
    assert_eq!(catalogue(&directory), before);
    let to = "20990101000000".to_owned();
    let upgraded = Migrated::Upgraded { from, to: to.clone() };
    assert_eq!(newer.migrate().await.expect("up to date"), upgraded);
    assert_ne!(catalogue(&directory), before);
    assert_eq!(newer.migrate().await.expect("nothing to do"), Migrated::Nothing);
    assert!(newer.is_ready().await.expect("the database answers"));
    // The older version still works beside it.
    let compatible = SchemaState::NewerCompatible { newest: to };
    assert_eq!(older.inspect_schema().await.expect("a look"), compatible);
    assert!(older.is_ready().await.expect("the database answers"));
}

#[tokio::test]
async fn prerelease_database_is_refused_with_advice() {
    let directory = DataDirectory::new();
    let store = SqliteStore::open(directory.long_timeouts()).expect("a store");
    directory.execute(
        "CREATE TABLE __diesel_schema_migrations (version VARCHAR(50) PRIMARY KEY, run_on TIMESTAMP);
         INSERT INTO __diesel_schema_migrations (version) VALUES ('20261121090000'), ('20261122130000');
         CREATE TABLE schema_compatibility (only_row INTEGER, minimum_reader TEXT);
         INSERT INTO schema_compatibility VALUES (1, '20261122130000');",
    );
    let before = catalogue(&directory);
    let newest = "20261122130000".to_owned();
    assert_eq!(
        store.inspect_schema().await.expect("a look"),
        SchemaState::Unusable(UnusableSchema::TooOld { newest })
    );
    assert!(!store.is_ready().await.expect("the database answers"));
    assert_eq!(
        store.migrate().await.expect_err("no way").to_string(),
        "the database is from before Keyward's first release (its newest migration is 20261122130000) and cannot be \
         brought up to date or exported by this version: remove it and set Keyward up anew"
    );
    assert_eq!(catalogue(&directory), before);
}

#[tokio::test]
async fn failed_migration_leaves_nothing_behind() {
    let directory = DataDirectory::new();
    let store = SqliteStore::open(directory.long_timeouts()).expect("a store");
    // The last table that the migration makes.
    directory.execute("CREATE TABLE schema_compatibility (minimum_reader TEXT)");
    let before = catalogue(&directory);
    let error = store.migrate().await.expect_err("a table in the way");
    assert!(matches!(error, MigrateError::Failed(_)), "{error:?}");
    assert_eq!(catalogue(&directory), before);
    directory.execute("DROP TABLE schema_compatibility");
    store.migrate().await.expect("nothing in the way");
}

#[tokio::test]
async fn every_migration_can_be_reverted_and_reapplied() {
    let directory = DataDirectory::new();
    let store = migrated_store(directory.long_timeouts()).await;
    let migrated = catalogue(&directory);
    let mut connection = directory.connect();
    for migration in migrations("sqlite").iter().rev() {
        let down = fs::read_to_string(migration.join("down.sql")).expect("the way back");
        connection.batch_execute(&down).expect("down");
    }
    assert_eq!(catalogue(&directory), Vec::<String>::new());
    directory.execute("DELETE FROM __diesel_schema_migrations");
    store.migrate().await.expect("up again");
    assert_eq!(catalogue(&directory), migrated);
}
