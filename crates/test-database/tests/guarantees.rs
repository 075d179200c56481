//! The guarantees that tests rely on, with every backend.
#![expect(clippy::unwrap_used, reason = "a failed expectation is a failed test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use keyward_test_database::{Error, TestDatabase};
use tokio_postgres::{Client, NoTls};

async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

async fn make_table(url: String) -> Result<(), tokio_postgres::Error> {
    connect(&url)
        .await?
        .batch_execute("CREATE TABLE thing (name text)")
        .await
}

async fn things(client: &Client) -> i64 {
    client
        .query_one("SELECT count(*) FROM thing", &[])
        .await
        .unwrap()
        .get(0)
}

/// A key of this test run's own, so that the template is made here and not found.
fn key_of(test: &str) -> String {
    format!("{test} {} {:?}", std::process::id(), std::thread::current().id())
}

#[tokio::test]
async fn tests_do_not_see_each_others_writes() {
    let key = key_of("isolation");
    let one = TestDatabase::migrated(&key, make_table).await.unwrap();
    let other = TestDatabase::migrated(&key, make_table).await.unwrap();
    let (one_client, other_client) = (
        connect(one.url()).await.unwrap(),
        connect(other.url()).await.unwrap(),
    );
    one_client
        .batch_execute("INSERT INTO thing VALUES ('mine')")
        .await
        .unwrap();
    assert_eq!((things(&one_client).await, things(&other_client).await), (1, 0));
}

#[tokio::test]
async fn template_is_migrated_once_for_concurrent_callers() {
    let key = key_of("once");
    let migrations = Arc::new(AtomicU32::new(0));
    let ask = || {
        let migrations = Arc::clone(&migrations);
        TestDatabase::migrated(&key, async move |url: String| {
            migrations.fetch_add(1, Ordering::SeqCst);
            make_table(url).await
        })
    };
    let (first, second, third) = tokio::join!(ask(), ask(), ask());
    for database in [first.unwrap(), second.unwrap(), third.unwrap()] {
        assert_eq!(things(&connect(database.url()).await.unwrap()).await, 0);
    }
    assert_eq!(migrations.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn open_connection_left_by_migration_does_not_block_the_copy() {
    let (keep, kept) = std::sync::mpsc::channel();
    let database = TestDatabase::migrated(&key_of("left open"), async move |url: String| {
        let client = connect(&url).await?;
        client.batch_execute("CREATE TABLE thing (name text)").await?;
        keep.send(client).unwrap();
        Ok::<(), tokio_postgres::Error>(())
    })
    .await
    .unwrap();
    assert_eq!(things(&connect(database.url()).await.unwrap()).await, 0);
    drop(kept);
}

#[tokio::test]
async fn failed_migration_is_reported_and_leaves_no_template() {
    let key = key_of("failing");
    let failed = TestDatabase::migrated(&key, async |_url| Err("the third migration is wrong"))
        .await
        .unwrap_err();
    assert!(matches!(failed, Error::Migration { .. }), "{failed}");
    assert!(
        failed.to_string().contains("the third migration is wrong"),
        "{failed}"
    );

    let database = TestDatabase::migrated(&key, make_table).await.unwrap();
    assert_eq!(things(&connect(database.url()).await.unwrap()).await, 0);
}

#[tokio::test]
async fn panicking_migration_is_an_error_instead_of_a_hang() {
    let failed = TestDatabase::migrated(&key_of("panicking"), async |_url| {
        assert_eq!(1, 2, "as a migration may");
        Ok::<(), Error>(())
    })
    .await
    .unwrap_err();
    assert!(failed.to_string().contains("as a migration may"), "{failed}");
}

#[tokio::test]
async fn connected_database_can_be_dropped() {
    let witness = TestDatabase::empty().await.unwrap();
    let database = TestDatabase::empty().await.unwrap();
    let (url, name) = (database.url().to_owned(), database.name().to_owned());
    let connected = connect(&url).await.unwrap();
    drop(database);
    assert!(connected.simple_query("SELECT 1").await.is_err());
    let found = connect(witness.url()).await.unwrap();
    let found = found
        .query_opt("SELECT 1 FROM pg_database WHERE datname = $1", &[&name])
        .await
        .unwrap();
    assert!(found.is_none());
}

#[tokio::test]
async fn terminated_connections_break_and_new_ones_are_accepted() {
    let database = TestDatabase::empty().await.unwrap();
    let before = connect(database.url()).await.unwrap();
    database.terminate_connections().await.unwrap();
    assert!(before.simple_query("SELECT 1").await.is_err());
    connect(database.url())
        .await
        .unwrap()
        .simple_query("SELECT 1")
        .await
        .unwrap();
}

#[tokio::test]
async fn database_can_be_unavailable_and_return() {
    let database = TestDatabase::empty().await.unwrap();
    let before = connect(database.url()).await.unwrap();
    database.refuse_connections().await.unwrap();
    assert!(before.simple_query("SELECT 1").await.is_err());
    assert!(connect(database.url()).await.is_err());
    database.accept_connections().await.unwrap();
    connect(database.url()).await.unwrap();
}

#[tokio::test]
async fn every_server_has_the_same_collation_and_encoding() {
    let database = TestDatabase::empty().await.unwrap();
    let client = connect(database.url()).await.unwrap();
    let row = client
        .query_one("SELECT pg_encoding_to_char(encoding), datcollate FROM pg_database WHERE datname = current_database()", &[])
        .await
        .unwrap();
    assert_eq!(
        (row.get::<_, String>(0), row.get::<_, String>(1)),
        ("UTF8".to_owned(), "C".to_owned())
    );
}

#[test]
fn synchronous_test_keeps_its_database_after_its_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let database = runtime.block_on(TestDatabase::empty()).unwrap();
    drop(runtime);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        connect(database.url())
            .await
            .unwrap()
            .simple_query("SELECT 1")
            .await
            .unwrap()
    });
}
