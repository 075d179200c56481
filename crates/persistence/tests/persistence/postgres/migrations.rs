//! Bringing the schema up to date, from several processes, and back.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use keyward_domain::administration::ports::{FamilySize, OrganizationKeyStore};
use keyward_persistence::postgres::{MIGRATIONS_KEY, MigrateError};
use keyward_persistence::{Migrated, SchemaState};
use keyward_test_database::TestDatabase;
use tokio_postgres::Client;

use crate::postgres::fixture::{Fixture, connect, count, patient, store};

async fn empty_database() -> TestDatabase {
    TestDatabase::empty().await.expect("an empty database")
}

/// The folders of all migrations, oldest first.
fn migrations() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/postgres");
    let mut migrations: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the migrations")
        .map(|entry| entry.expect("a migration").path())
        .collect();
    migrations.sort();
    migrations
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
async fn five_processes_that_start_at_once_migrate_once() {
    let database = empty_database().await;
    let starts = (0..5).map(|_| {
        let store = store(patient(database.url()));
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
    assert_eq!(usize::try_from(applied), Ok(migrations().len()));
    assert_eq!(count(&client, "installation").await, 1);
}

#[tokio::test]
async fn a_store_is_ready_once_it_is_migrated() {
    let database = empty_database().await;
    let store = store(patient(database.url()));
    assert!(!store.is_ready().await.expect("the database answers"));
    store.migrate().await.expect("the first migration");
    assert!(store.is_ready().await.expect("the database answers"));
    store.migrate().await.expect("nothing to do");
    assert!(store.is_ready().await.expect("the database answers"));
    database
        .refuse_connections()
        .await
        .expect("a database that is away");
    store.is_ready().await.expect_err("nobody answers");
}

#[tokio::test]
async fn newer_tables_are_served_if_they_only_add_and_refused_if_they_break() {
    let database = empty_database().await;
    let store = store(patient(database.url()));
    assert_eq!(store.look().await.expect("a look"), SchemaState::Empty);
    store.migrate().await.expect("the first migration");
    assert_eq!(store.look().await.expect("a look"), SchemaState::Current);
    let client = connect(database.url()).await;
    let run = async |statement| client.batch_execute(statement).await.expect(statement);
    run("INSERT INTO __diesel_schema_migrations (version) VALUES ('20990101000000')").await;
    let newest = "20990101000000".to_owned();
    let state = SchemaState::NewerCompatible {
        newest: newest.clone(),
    };
    assert_eq!(store.look().await.expect("a look"), state);
    assert_eq!(store.migrate().await.expect("nothing to do"), Migrated::Nothing);
    assert!(store.is_ready().await.expect("the database answers"));

    // As a breaking migration does.
    run("UPDATE schema_compatibility SET minimum_reader = '20990101000000'").await;
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
    let database = empty_database().await;
    let store = store(patient(database.url()));
    store.migrate().await.expect("up to date");
    let client = connect(database.url()).await;
    let (from, to) = take_back_the_newest(&client).await;
    let before = catalogue(&client).await;
    let older = SchemaState::Outdated { newest: from.clone() };
    assert_eq!(store.look().await.expect("a look"), older);
    assert_eq!(store.schema_state().await.expect("a look"), older);
    assert!(!store.is_ready().await.expect("the database answers"));
    assert_eq!(catalogue(&client).await, before);
    assert_eq!(
        store.migrate().await.expect("up to date"),
        Migrated::Upgraded { from, to }
    );
    assert_eq!(store.migrate().await.expect("nothing to do"), Migrated::Nothing);
}

/// Makes the tables those of the version before; the newest migrations of that version and of this one.
async fn take_back_the_newest(client: &Client) -> (String, String) {
    let mut migrations = migrations();
    let newest = migrations.pop().expect("the newest migration");
    let version_of = |migration: &Path| {
        let name = migration.file_name().expect("a name").to_string_lossy();
        name.chars()
            .filter(char::is_ascii_digit)
            .take(14)
            .collect::<String>()
    };
    let to = version_of(&newest);
    let statements = format!(
        "{}; DELETE FROM __diesel_schema_migrations WHERE version = '{to}'",
        text(&newest, "down.sql")
    );
    client
        .batch_execute(&statements)
        .await
        .expect("the version before");
    (version_of(migrations.last().expect("the one before")), to)
}

#[tokio::test]
async fn a_migration_that_is_blocked_gives_up_quickly_and_works_later() {
    let database = empty_database().await;
    let mut client = connect(database.url()).await;
    let transaction = client.transaction().await.expect("a transaction");
    // Whoever creates the same table waits for the end of this transaction.
    transaction
        .batch_execute("CREATE TABLE organizations ()")
        .await
        .expect("a long transaction");

    let store = store(patient(database.url()));
    let begun = Instant::now();
    let error = store.migrate().await.expect_err("a blocked migration");
    assert!(matches!(error, MigrateError::Blocked), "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());

    transaction.rollback().await.expect("the end of the transaction");
    store.migrate().await.expect("nothing in the way");
}

#[tokio::test]
async fn an_unreachable_database_is_told_from_a_failed_migration() {
    let error = store(patient("postgres://me:s3cret@127.0.0.1:1/db"))
        .migrate()
        .await
        .expect_err("nobody listens there");
    assert!(matches!(error, MigrateError::Unavailable(_)), "{error:?}");
    assert!(!error.to_string().contains("s3cret"), "{error}");
    assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
}

#[tokio::test]
async fn every_migration_can_be_taken_back_and_made_again() {
    let database = empty_database().await;
    let store = store(patient(database.url()));
    let client = connect(database.url()).await;
    let empty = catalogue(&client).await;
    store.migrate().await.expect("up");
    let migrated = catalogue(&client).await;
    assert_ne!(migrated, empty);

    for migration in migrations().iter().rev() {
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

#[tokio::test]
async fn what_users_of_the_version_before_lack_is_filled_in() {
    let fixture = Fixture::new().await;
    // More than go in one transaction; and one whom nobody can read.
    fixture
        .execute(
            "INSERT INTO users (id, username, display_name, password_hash, created_at)
             SELECT gen_random_uuid(), 'user' || n, 'ÉLODIE ' || n, 'x', now() FROM generate_series(1, 250) n;
             INSERT INTO users (id, username, display_name, password_hash, created_at)
             VALUES (gen_random_uuid(), 'NO USERNAME', 'x', 'x', now());",
        )
        .await;
    let filled_in =
        "users WHERE search_text = username || E'\\n' || replace(display_name, 'ÉLODIE', 'élodie')";
    assert_eq!(
        count(&fixture.client, filled_in).await,
        1,
        "who was added by this version"
    );

    let (first, second) = tokio::join!(fixture.store.migrate(), fixture.store.migrate());
    first.and(second).expect("filled in");
    assert_eq!(count(&fixture.client, filled_in).await, 251);
    assert_eq!(
        count(&fixture.client, "users WHERE search_text IS NULL").await,
        1,
        "who cannot be read is in nobody's way"
    );

    let versions = "SELECT string_agg(xmin::text || ctid::text, ' ' ORDER BY id) FROM users";
    let before: String = fixture
        .client
        .query_one(versions, &[])
        .await
        .expect("rows")
        .get(0);
    fixture.store.migrate().await.expect("nothing to do");
    let after: String = fixture
        .client
        .query_one(versions, &[])
        .await
        .expect("rows")
        .get(0);
    assert_eq!(after, before);
}

#[test]
fn the_key_of_the_migrations_is_their_text() {
    let all: String = migrations()
        .iter()
        .map(|migration| text(migration, "up.sql"))
        .collect();
    assert_eq!(MIGRATIONS_KEY, all);
}

#[tokio::test]
async fn keys_of_the_version_before_get_their_organization() {
    let fixture = Fixture::new().await;
    let key = fixture.key.key.id;
    // More than one part of the work.
    fixture
        .client
        .batch_execute(&format!(
            "ALTER TABLE api_keys DISABLE TRIGGER api_keys_organization, DISABLE TRIGGER api_keys_search;
             UPDATE api_keys SET organization_id = NULL;
             INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_key_id,
                                   created_at)
             SELECT gen_random_uuid(), consumer_id, sha256(number::text::bytea), hint, name, description, search_text,
                    id, created_at
             FROM api_keys, generate_series(1, 4500) number WHERE id = '{key}';
             ALTER TABLE api_keys ENABLE TRIGGER api_keys_organization, ENABLE TRIGGER api_keys_search;"
        ))
        .await
        .expect("keys as the version before left them");
    let without = "api_keys WHERE organization_id IS NULL";
    assert_eq!(count(&fixture.client, without).await, 4_501);
    for _ in 0..2 {
        fixture.store.migrate().await.expect("brought up to date");
        assert_eq!(count(&fixture.client, without).await, 0);
    }
    let organization = fixture.owner.organization.id;
    let here = format!("api_keys WHERE organization_id = '{organization}'");
    assert_eq!(count(&fixture.client, &here).await, 4_501);
}

/// Takes back this migration and all that came after it.
async fn take_back(fixture: &Fixture, first: &str) {
    for migration in migrations().iter().rev() {
        let name = migration.file_name().expect("a folder").to_string_lossy();
        if &*name >= first {
            fixture.execute(&text(migration, "down.sql")).await;
        }
    }
    let version = first.replace('-', "");
    fixture
        .execute(&format!(
            "DELETE FROM __diesel_schema_migrations WHERE version >= '{version}'"
        ))
        .await;
}

#[tokio::test]
async fn keys_of_the_version_before_get_their_place_in_their_line() {
    let fixture = Fixture::new().await;
    let first = fixture.key.key.id;
    // A line of 300 keys, another that leaves it in its middle, and one of which the first key is kept no longer.
    fixture
        .execute(&format!(
            "INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_key_id,
                                   created_at)
             SELECT lpad(to_hex(n), 32, '0')::uuid, consumer_id, sha256(n::text::bytea), hint, name, description,
                    search_text, CASE n WHEN 1 THEN id WHEN 301 THEN lpad(to_hex(130), 32, '0')::uuid
                        WHEN 400 THEN gen_random_uuid() ELSE lpad(to_hex(n - 1), 32, '0')::uuid END, created_at
             FROM generate_series(1, 450) n, api_keys WHERE id = '{first}' ORDER BY n"
        ))
        .await;
    let places =
        "SELECT string_agg(concat_ws(' ', id, tree_depth, skip_key_id), ',' ORDER BY id) FROM api_keys";
    let placed = async || {
        let row = fixture.client.query_one(places, &[]).await.expect("places");
        row.get::<_, String>(0)
    };
    let made_by_the_trigger = placed().await;
    assert!(made_by_the_trigger.contains(" 300 "), "{made_by_the_trigger}");
    take_back(&fixture, "2026-11-22-090000").await;
    fixture.store.migrate().await.expect("brought up to date");
    assert_eq!(placed().await, made_by_the_trigger);
}

#[tokio::test]
async fn what_the_version_before_wrote_is_kept_as_it_was_when_retention_comes() {
    let fixture = Fixture::new().await;
    take_back(&fixture, "2026-11-21-170000").await;
    let parent = fixture.key.key.id;
    let child = "INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_key_id,
                                       created_at)
                 SELECT gen_random_uuid(), consumer_id, sha256(gen_random_uuid()::text::bytea), hint, name, description,
                        search_text, id, created_at FROM api_keys WHERE id = ";
    fixture.execute(&format!("{child} '{parent}'")).await;
    let refused = async || {
        fixture
            .client
            .batch_execute("DELETE FROM audit_events")
            .await
            .is_err()
    };
    assert!(refused().await, "the version before removes no events");

    fixture.store.migrate().await.expect("brought up to date");
    assert!(fixture.store.is_ready().await.expect("the database answers"));
    // The version before goes on beside it.
    fixture.execute(&format!("{child} '{parent}'")).await;
    let organization = fixture.owner.organization.id;
    let family = fixture
        .store
        .family(organization, parent, FamilySize::DEFAULT)
        .await
        .expect("a family");
    assert_eq!(family.keys.len(), 3);
    assert!(refused().await);
    assert_eq!(count(&fixture.client, "audit_events").await, 2);
}

#[tokio::test]
async fn events_of_the_version_before_are_numbered_by_their_moment() {
    let fixture = Fixture::new().await;
    take_back(&fixture, "2026-11-22-150000").await;
    let event = "INSERT INTO audit_events (id, occurred_at, actor_kind, action, subject_kind, outcome)
                 SELECT gen_random_uuid(), now() - n % 17 * interval '1 minute', 'administrator',
                        'setup_link.create', 'installation', 'success' FROM generate_series(1, 100) n";
    fixture.execute(event).await;
    fixture.store.migrate().await.expect("brought up to date");
    let out_of_order =
        "(SELECT position, row_number() OVER (ORDER BY occurred_at, id) AS expected FROM audit_events) x
                        WHERE position <> expected";
    assert_eq!(count(&fixture.client, out_of_order).await, 0);
    let before = count(&fixture.client, "audit_events").await;
    // The version before goes on beside it, and changes no event.
    fixture.execute(event).await;
    let after = format!("audit_events WHERE position > {before}");
    assert_eq!(count(&fixture.client, &after).await, 100);
    for refused in [
        "UPDATE audit_events SET position = DEFAULT",
        "DELETE FROM audit_events",
    ] {
        let outcome = fixture.client.batch_execute(refused).await;
        outcome.expect_err("append-only");
    }
}

#[tokio::test]
async fn a_database_that_cannot_keep_every_name_is_refused_before_anything_is_made() {
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
        let refused = store(patient(&url)).migrate().await;
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
