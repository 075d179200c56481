//! Bringing the schema up to date, and back.

use std::fs;
use std::path::{Path, PathBuf};

use diesel::connection::SimpleConnection;
use keyward_domain::administration::ports::{FamilySize, OrganizationKeyStore};
use keyward_persistence::sqlite::{MigrateError, SqliteStore};
use keyward_persistence::{Migrated, SchemaState};

use crate::sqlite::fixture::{DataDirectory, Fixture, blob, migrated_store};

/// The folders of all migrations, oldest first.
pub(crate) fn migrations() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/sqlite");
    let mut migrations: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the migrations")
        .map(|entry| entry.expect("a migration").path())
        .collect();
    migrations.sort();
    migrations
}

fn catalogue(directory: &DataDirectory) -> Vec<String> {
    directory.texts(
        "SELECT coalesce(sql, name) AS text FROM sqlite_schema WHERE tbl_name NOT LIKE '\\_\\_diesel%' ESCAPE '\\'
         ORDER BY 1",
    )
}

#[tokio::test]
async fn a_store_is_ready_once_it_is_migrated() {
    let directory = DataDirectory::new();
    let store = SqliteStore::open(directory.patient()).expect("a store");
    assert!(!store.is_ready().await.expect("the database answers"));
    store.migrate().await.expect("the first migration");
    assert!(store.is_ready().await.expect("the database answers"));
    store.migrate().await.expect("nothing to do");
    assert!(store.is_ready().await.expect("the database answers"));
}

#[tokio::test]
async fn newer_tables_are_served_if_they_only_add_and_refused_if_they_break() {
    let directory = DataDirectory::new();
    let store = SqliteStore::open(directory.patient()).expect("a store");
    assert_eq!(store.look().await.expect("a look"), SchemaState::Empty);
    store.migrate().await.expect("the schema");
    assert_eq!(store.look().await.expect("a look"), SchemaState::Current);
    directory.execute("INSERT INTO __diesel_schema_migrations (version) VALUES ('20990101000000')");
    let newest = "20990101000000".to_owned();
    let state = SchemaState::NewerCompatible {
        newest: newest.clone(),
    };
    assert_eq!(store.look().await.expect("a look"), state);
    assert_eq!(store.migrate().await.expect("nothing to do"), Migrated::Nothing);
    assert!(store.is_ready().await.expect("the database answers"));

    // As a breaking migration does.
    directory.execute("UPDATE schema_compatibility SET minimum_reader = '20990101000000'");
    assert_eq!(
        store.schema_state().await.expect("the database answers"),
        SchemaState::NewerIncompatible { newest }
    );
    let error = store.migrate().await.expect_err("a breaking migration");
    assert!(
        matches!(&error, MigrateError::NewerSchema { version } if version == "20990101000000"),
        "{error:?}"
    );
    assert!(!store.is_ready().await.expect("the database answers"));
}

#[tokio::test]
async fn an_older_database_stays_as_it_is_until_it_is_migrated() {
    let directory = DataDirectory::new();
    let store = migrated_store(directory.patient()).await;
    let mut migrations = migrations();
    let newest = migrations.pop().expect("the newest migration");
    let version_of = |migration: &Path| {
        let name = migration.file_name().expect("a name").to_string_lossy();
        name.chars()
            .filter(char::is_ascii_digit)
            .take(14)
            .collect::<String>()
    };
    let (from, to) = (
        version_of(migrations.last().expect("the one before")),
        version_of(&newest),
    );
    directory.execute(&fs::read_to_string(newest.join("down.sql")).expect("the way back"));
    directory.execute(&format!(
        "DELETE FROM __diesel_schema_migrations WHERE version = '{to}'"
    ));
    let before = catalogue(&directory);
    let older = SchemaState::Outdated { newest: from.clone() };
    assert_eq!(store.look().await.expect("a look"), older);
    assert_eq!(store.schema_state().await.expect("a look"), older);
    assert!(!store.is_ready().await.expect("the database answers"));
    assert_eq!(catalogue(&directory), before);
    assert_eq!(
        store.migrate().await.expect("up to date"),
        Migrated::Upgraded { from, to }
    );
    assert_eq!(store.migrate().await.expect("nothing to do"), Migrated::Nothing);
}

#[tokio::test]
async fn a_migration_that_fails_leaves_nothing_behind() {
    let directory = DataDirectory::new();
    let store = SqliteStore::open(directory.patient()).expect("a store");
    // The last table that the migration makes.
    directory.execute("CREATE TABLE installation (other INTEGER)");
    let before = catalogue(&directory);
    let error = store.migrate().await.expect_err("a table in the way");
    assert!(matches!(error, MigrateError::Failed(_)), "{error:?}");
    assert_eq!(catalogue(&directory), before);
    directory.execute("DROP TABLE installation");
    store.migrate().await.expect("nothing in the way");
}

#[tokio::test]
async fn every_migration_can_be_taken_back_and_made_again() {
    let directory = DataDirectory::new();
    let store = migrated_store(directory.patient()).await;
    let migrated = catalogue(&directory);
    let mut connection = directory.connect();
    for migration in migrations().iter().rev() {
        let down = fs::read_to_string(migration.join("down.sql")).expect("the way back");
        connection.batch_execute(&down).expect("down");
    }
    assert_eq!(catalogue(&directory), Vec::<String>::new());
    directory.execute("DELETE FROM __diesel_schema_migrations");
    store.migrate().await.expect("up again");
    assert_eq!(catalogue(&directory), migrated);
}

#[tokio::test]
async fn what_users_of_the_version_before_lack_is_filled_in() {
    let fixture = Fixture::new().await;
    // More than go in one transaction; and one whom nobody can read.
    fixture.directory.execute(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 250)
         INSERT INTO users (id, username, display_name, password_hash, created_at)
         SELECT randomblob(16), 'user' || n, 'ÉLODIE ' || n, 'x', 0 FROM numbers;
         INSERT INTO users (id, username, display_name, password_hash, created_at)
         VALUES (randomblob(16), 'NO USERNAME', 'x', 'x', 0)",
    );
    let filled_in =
        "users WHERE search_text = username || char(10) || replace(display_name, 'ÉLODIE', 'élodie')";
    assert_eq!(
        fixture.directory.count(filled_in),
        1,
        "who was added by this version"
    );

    let (first, second) = tokio::join!(fixture.store.migrate(), fixture.store.migrate());
    first.and(second).expect("filled in");
    assert_eq!(fixture.directory.count(filled_in), 251);
    assert_eq!(
        fixture.directory.count("users WHERE search_text IS NULL"),
        1,
        "who cannot be read is in nobody's way"
    );
    fixture.store.migrate().await.expect("nothing to do");
    assert_eq!(fixture.directory.count(filled_in), 251);
}

/// Takes back this migration and all that came after it.
fn take_back(fixture: &Fixture, first: &str) {
    for migration in migrations().iter().rev() {
        let name = migration.file_name().expect("a folder").to_string_lossy();
        if &*name >= first {
            let down = fs::read_to_string(migration.join("down.sql")).expect("the way back");
            fixture.directory.execute(&down);
        }
    }
    let version = first.replace('-', "");
    fixture.directory.execute(&format!(
        "DELETE FROM __diesel_schema_migrations WHERE version >= '{version}'"
    ));
}

#[tokio::test]
async fn events_of_the_version_before_are_numbered_by_their_moment() {
    let fixture = Fixture::new().await;
    take_back(&fixture, "2026-11-22-150000");
    fixture.directory.execute(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100)
         INSERT INTO audit_events (id, occurred_at, actor_kind, action, subject_kind, outcome)
         SELECT randomblob(16), n % 17, 'administrator', 'setup_link.create', 'installation', 'success' FROM numbers",
    );
    fixture.store.migrate().await.expect("brought up to date");
    let events = fixture.directory.count("audit_events");
    let in_order = "(SELECT position, row_number() OVER (ORDER BY occurred_at, id) AS expected
                     FROM audit_positions JOIN audit_events ON id = event_id) WHERE position = expected";
    assert_eq!(fixture.directory.count(in_order), events);
}

#[tokio::test]
async fn keys_of_the_version_before_get_their_place_in_their_line() {
    let fixture = Fixture::new().await;
    let first = blob(fixture.key.key.id.as_uuid());
    // A line of 300 keys, another that leaves it in its middle, and one of which the first key is kept no longer.
    fixture.directory.execute(&format!(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 450)
         INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_key_id,
                               created_at)
         SELECT unhex(printf('%032x', n)), consumer_id, randomblob(32), hint, name, description, search_text,
             CASE n WHEN 1 THEN id WHEN 301 THEN unhex(printf('%032x', 130)) WHEN 400 THEN randomblob(16)
                 ELSE unhex(printf('%032x', n - 1)) END, created_at
         FROM numbers, api_keys WHERE id = {first} ORDER BY n"
    ));
    let placed = || {
        fixture.directory.texts(
            "SELECT hex(id) || ' ' || tree_depth || ' ' || coalesce(hex(skip_key_id), '') AS text FROM api_keys ORDER BY id",
        )
    };
    let made_by_the_trigger = placed();
    assert!(
        made_by_the_trigger.iter().any(|place| place.contains(" 300 ")),
        "{made_by_the_trigger:?}"
    );
    take_back(&fixture, "2026-11-22-090000");
    fixture.store.migrate().await.expect("brought up to date");
    assert_eq!(placed(), made_by_the_trigger);
}

#[tokio::test]
async fn what_the_version_before_wrote_is_kept_as_it_was_when_retention_comes() {
    let fixture = Fixture::new().await;
    take_back(&fixture, "2026-11-21-170000");
    let parent = fixture.key.key.id;
    fixture.directory.execute(&format!(
        "INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_key_id,
                               created_at)
         SELECT randomblob(16), consumer_id, randomblob(32), hint, name, description, search_text, id, created_at
         FROM api_keys WHERE id = {}",
        blob(parent.as_uuid())
    ));
    let refused = || {
        let refused = fixture
            .directory
            .connect()
            .batch_execute("DELETE FROM audit_events");
        refused.is_err()
    };
    assert!(refused(), "the version before removes no events");

    fixture.store.migrate().await.expect("brought up to date");
    assert!(fixture.store.is_ready().await.expect("the database answers"));
    let organization = fixture.owner.organization.id;
    let family = fixture
        .store
        .family(organization, parent, FamilySize::DEFAULT)
        .await
        .expect("a family");
    assert_eq!(family.keys.len(), 2);
    assert!(refused());
    assert_eq!(fixture.directory.count("audit_events"), 2);
}
