//! Bringing the schema up to date, from several processes, and back.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use keyward_persistence::postgres::MigrateError;
use keyward_persistence::{Migrated, SchemaState, UnusableSchema};
use keyward_test_database::TestDatabase;
use tokio_postgres::Client;

use crate::database::{MIGRATIONS_KEY, migrations};
use crate::postgres::fixture::{Fixture, connect, count, long_timeouts, store};

async fn empty_database() -> TestDatabase {
    TestDatabase::empty().await.expect("an empty database")
}

/// The migrations of a version to come.
fn migrations_to_come() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/migrations_to_come/postgres")
}

fn text(migration: &Path, file: &str) -> String {
    fs::read_to_string(migration.join(file)).expect("both directions of a migration")
}

/// Tables, columns, constraints, indexes, triggers and functions of the schema.
async fn catalogue(client: &Client) -> Vec<String> {
    let rows = client
        .query(
            "SELECT format('column %s.%s %s %s %s', table_name, column_name, data_type, is_nullable, column_default)
             FROM information_schema.columns WHERE table_schema = 'public' AND table_name !~ '^__diesel'
             UNION ALL
             SELECT format('constraint %s %s', conname, pg_get_constraintdef(pg_constraint.oid)) FROM pg_constraint
             JOIN pg_class ON pg_class.oid = conrelid
             WHERE connamespace = 'public'::regnamespace AND relname !~ '^__diesel'
             UNION ALL
             SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename !~ '^__diesel'
             UNION ALL
             SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
             UNION ALL
             SELECT format('function %s', proname) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
             ORDER BY 1",
            &[],
        )
        .await
        .expect("the catalogue");
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn five_processes_starting_concurrently_migrate_once() {
    let database = empty_database().await;
    let starts = (0..5).map(|_| {
        let store = store(long_timeouts(database.url()));
        tokio::spawn(async move { store.migrate().await })
    });
    for start in starts.collect::<Vec<_>>() {
        start
            .await
            .expect("the task does not panic")
            .expect("every process finds a migrated database");
    }
    let client = connect(database.url()).await;
    let applied = count(&client, "__diesel_schema_migrations").await;
    assert_eq!(usize::try_from(applied), Ok(migrations("postgres").len()));
    assert_eq!(count(&client, "installation").await, 1);
}

#[tokio::test]
async fn migrated_store_is_ready() {
    let database = empty_database().await;
    let store = store(long_timeouts(database.url()));
    assert!(!store.is_ready().await.expect("the database answers"));
    store.migrate().await.expect("the first migration");
    assert!(store.is_ready().await.expect("the database answers"));
    store.migrate().await.expect("nothing to do");
    assert!(store.is_ready().await.expect("the database answers"));
    database
        .refuse_connections()
        .await
        .expect("a database that is away");
    store.is_ready().await.expect_err("the server does not answer");
}

#[tokio::test]
async fn newer_schema_is_served_if_additive_and_refused_if_breaking() {
    let database = empty_database().await;
    let store = store(long_timeouts(database.url()));
    assert_eq!(store.inspect_schema().await.expect("a look"), SchemaState::Empty);
    store.migrate().await.expect("the first migration");
    assert_eq!(
        store.inspect_schema().await.expect("a look"),
        SchemaState::Current
    );
    let client = connect(database.url()).await;
    let run = async |statement| client.batch_execute(statement).await.expect(statement);
    run("INSERT INTO __diesel_schema_migrations (version) VALUES ('20990101000000')").await;
    let newest = "20990101000000".to_owned();
    let state = SchemaState::NewerCompatible {
        newest: newest.clone(),
    };
    assert_eq!(store.inspect_schema().await.expect("a look"), state);
    assert_eq!(store.migrate().await.expect("nothing to do"), Migrated::Nothing);
    assert!(store.is_ready().await.expect("the database answers"));

    // As a breaking migration does.
    run("UPDATE schema_compatibility SET minimum_reader = '20990101000000'").await;
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
    let database = empty_database().await;
    let older = store(long_timeouts(database.url()));
    let newer = store(long_timeouts(database.url())).with_future_migrations(&migrations_to_come());
    let Migrated::Made { to: from } = older.migrate().await.expect("the first migration") else {
        panic!("the database was empty");
    };
    let client = connect(database.url()).await;
    let before = catalogue(&client).await;
    let outdated = SchemaState::Outdated { newest: from.clone() };
    assert_eq!(newer.inspect_schema().await.expect("a look"), outdated);
    assert_eq!(newer.schema_state().await.expect("a look"), outdated);
    assert!(!newer.is_ready().await.expect("the database answers"));
    assert_eq!(catalogue(&client).await, before);
    let to = "20990101000000".to_owned();
    let upgraded = Migrated::Upgraded { from, to: to.clone() };
    assert_eq!(newer.migrate().await.expect("up to date"), upgraded);
    assert_ne!(catalogue(&client).await, before);
    assert_eq!(newer.migrate().await.expect("nothing to do"), Migrated::Nothing);
    assert!(newer.is_ready().await.expect("the database answers"));
    // The older version still works beside it.
    let compatible = SchemaState::NewerCompatible { newest: to };
    assert_eq!(older.inspect_schema().await.expect("a look"), compatible);
    assert!(older.is_ready().await.expect("the database answers"));
}

#[tokio::test]
async fn prerelease_database_is_refused_with_advice() {
    let database = empty_database().await;
    let store = store(long_timeouts(database.url()));
    let client = connect(database.url()).await;
    let tables =
        "CREATE TABLE __diesel_schema_migrations (version varchar(50) PRIMARY KEY, run_on timestamp);
                  INSERT INTO __diesel_schema_migrations VALUES ('20261121090000'), ('20261122130000');
                  CREATE TABLE schema_compatibility (only_row boolean, minimum_reader text);
                  INSERT INTO schema_compatibility VALUES (true, '20261122130000');";
    client.batch_execute(tables).await.expect("old tables");
    let before = catalogue(&client).await;
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
    assert_eq!(catalogue(&client).await, before);
}

#[tokio::test]
async fn blocked_migration_fails_fast_and_succeeds_later() {
    let database = empty_database().await;
    let mut client = connect(database.url()).await;
    let transaction = client.transaction().await.expect("a transaction");
    // Another transaction that creates the same table waits for the end of this one.
    transaction
        .batch_execute("CREATE TABLE organizations ()")
        .await
        .expect("a long transaction");

    let store = store(long_timeouts(database.url()));
    let begun = Instant::now();
    let error = store.migrate().await.expect_err("a blocked migration");
    assert!(matches!(error, MigrateError::Blocked), "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());

    transaction.rollback().await.expect("the end of the transaction");
    store.migrate().await.expect("nothing in the way");
}

#[tokio::test]
async fn unreachable_database_and_failed_migration_have_different_errors() {
    let error = store(long_timeouts("postgres://me:s3cret@127.0.0.1:1/db"))
        .migrate()
        .await
        .expect_err("nothing listens there");
    assert!(matches!(error, MigrateError::Unavailable(_)), "{error:?}");
    assert!(!error.to_string().contains("s3cret"), "{error}");
    assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
}

#[tokio::test]
async fn every_migration_can_be_reverted_and_reapplied() {
    let database = empty_database().await;
    let store = store(long_timeouts(database.url()));
    let client = connect(database.url()).await;
    let empty = catalogue(&client).await;
    store.migrate().await.expect("up");
    let migrated = catalogue(&client).await;
    assert_ne!(migrated, empty);

    for migration in migrations("postgres").iter().rev() {
        client
            .batch_execute(&text(migration, "down.sql"))
            .await
            .expect("down");
    }
    assert_eq!(catalogue(&client).await, empty);
    client
        .batch_execute("DELETE FROM __diesel_schema_migrations")
        .await
        .expect("nothing applied");

    store.migrate().await.expect("up again");
    assert_eq!(catalogue(&client).await, migrated);
}

#[test]
fn migrations_key_equals_the_text_of_all_migrations() {
    let all: String = migrations("postgres")
        .iter()
        .map(|migration| text(migration, "up.sql"))
        .collect();
    assert_eq!(MIGRATIONS_KEY, all);
}

#[tokio::test]
async fn database_with_unsuitable_encoding_is_refused_before_migration() {
    let database = empty_database().await;
    let client = connect(database.url()).await;
    for encoding in ["LATIN1", "SQL_ASCII"] {
        let name = format!("{}_{}", database.name(), encoding.to_lowercase());
        client
            .batch_execute(&format!(
                "CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0"
            ))
            .await
            .expect("a database in another encoding");
        let url = database.url().replace(database.name(), &name);
        let refused = store(long_timeouts(&url)).migrate().await;
        let tables = count(&connect(&url).await, "pg_tables WHERE schemaname = 'public'").await;
        client
            .batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)"))
            .await
            .expect("a database that can go");
        let refused = refused.expect_err("a database in another encoding");
        assert!(
            matches!(&refused, MigrateError::Encoding { encoding: said } if said == encoding),
            "{refused:?}"
        );
        assert_eq!(tables, 0, "{encoding}");
    }
}

#[tokio::test]
async fn english_server_messages_cause_no_warning() {
    let fixture = Fixture::new().await;
    let other = fixture.store.non_english_messages().await;
    assert_eq!(other.expect("an answer"), None);
}
