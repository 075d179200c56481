//! A file that is removed or replaced while a store has it open. The store's connections still reach the old
//! one, but their writes would be lost at the next start, and their reads may be stale.

use std::fmt::Debug;
use std::fs;
use std::os::unix::fs::symlink;

use keyward_domain::ports::{AddKeyError, Credentials, StorageError};
use keyward_persistence::sqlite::SqliteStore;
use tempfile::TempDir;

use crate::sqlite::fixture::{Fixture, add, long_timeouts};

#[track_caller]
fn assert_moved<T: Debug>(answer: Result<T, StorageError>) {
    assert_unavailable(answer, "moved, replaced or removed");
}

#[track_caller]
fn assert_unavailable<T: Debug>(answer: Result<T, StorageError>, reason: &str) {
    match answer {
        Err(StorageError::Unavailable(source)) => {
            assert!(source.to_string().contains(reason), "{source}");
        }
        other => panic!("{other:?}"),
    }
}

async fn assert_that_changes_fail(fixture: &Fixture, reason: &str) {
    match fixture.add(fixture.new_key("lost")).await {
        Err(AddKeyError::Storage(error)) => assert_unavailable::<()>(Err(error), reason),
        other => panic!("{other:?}"),
    }
}

async fn assert_that_nothing_is_answered(fixture: &Fixture) {
    // More often than there are connections, so that new ones are asked for, too.
    for _ in 0..6 {
        let readers = (0..3).map(|_| {
            let (store, digest) = (fixture.store.clone(), fixture.key.digest);
            tokio::spawn(async move { Credentials::find(&store, &digest).await })
        });
        for reading in readers.collect::<Vec<_>>() {
            assert_moved(reading.await.expect("an answer"));
        }
        assert_that_changes_fail(fixture, "moved, replaced or removed").await;
        assert_moved(fixture.store.is_ready().await);
    }
}

#[tokio::test]
async fn missing_database_file_fails_every_request() {
    let fixture = Fixture::new().await;
    let away = fixture.directory.path().join("away.db");
    fs::rename(fixture.directory.file(), &away).expect("moved away");
    assert_that_nothing_is_answered(&fixture).await;
    assert!(
        !fixture.directory.file().exists(),
        "no empty file takes its place"
    );

    fs::rename(&away, fixture.directory.file()).expect("moved back");
    let found = Credentials::find(&fixture.store, &fixture.key.digest).await;
    assert!(found.expect("an answer").is_some());
    fixture.add(fixture.new_key("kept")).await.expect("added");
    assert_eq!(fixture.directory.count("api_keys"), 2);
}

#[tokio::test]
async fn replaced_database_file_fails_every_request() {
    let fixture = Fixture::new().await;
    let copy = fixture.directory.path().join("copy.db");
    fs::copy(fixture.directory.file(), &copy).expect("a copy");
    fs::rename(&copy, fixture.directory.file()).expect("replaced");
    assert_that_nothing_is_answered(&fixture).await;
}

#[tokio::test]
async fn missing_or_empty_log_fails_changes_until_it_returns() {
    let fixture = Fixture::new().await;
    let log = fixture.directory.path().join("keyward.db-wal");
    let away = fixture.directory.path().join("away");
    fixture.add(fixture.new_key("first")).await.expect("added");
    fs::rename(&log, &away).expect("moved away");
    for replacement in [None, Some("")] {
        if let Some(content) = replacement {
            fs::write(&log, content).expect("replaced");
        }
        assert_that_changes_fail(&fixture, "moved or removed: put it back").await;
    }
    fs::rename(&away, &log).expect("moved back");
    let found = Credentials::find(&fixture.store, &fixture.key.digest).await;
    assert!(found.expect("an answer").is_some());
    fixture.add(fixture.new_key("kept")).await.expect("added");
    assert_eq!(fixture.directory.count("api_keys"), 3);
}

/// Another process begins a log of its own if everything in the old one is in the database file.
#[tokio::test]
async fn store_with_replaced_log_answers_nothing_and_closes_without_damage() {
    let fixture = Fixture::new().await;
    let log = fixture.directory.path().join("keyward.db-wal");
    for name in ["second", "third", "fourth"] {
        fixture.add(fixture.new_key(name)).await.expect("added");
    }
    fixture.directory.execute("PRAGMA wal_checkpoint");
    let own = fixture.directory.path().join("own");
    fs::rename(&log, &own).expect("moved away");
    let another = SqliteStore::open(fixture.directory.long_timeouts()).expect("a store");
    let added = add(&another, fixture.act(), fixture.new_key("later")).await;
    added.expect("added");
    drop(another);

    let found = Credentials::find(&fixture.store, &fixture.key.digest).await;
    assert!(matches!(found, Err(StorageError::Unavailable(_))), "{found:?}");
    assert_that_changes_fail(&fixture, "replaced by another log").await;

    // The other log has a change that the store's own lacks.
    let other = fixture.directory.path().join("other");
    fs::rename(&log, &other).expect("moved away");
    fs::rename(&own, &log).expect("moved back");
    let found = Credentials::find(&fixture.store, &fixture.key.digest).await;
    assert!(matches!(found, Err(StorageError::Unavailable(_))), "{found:?}");
    assert_that_changes_fail(&fixture, "replaced by another log").await;
    fs::rename(&other, &log).expect("moved back");
    let Fixture { store, directory, .. } = fixture;
    drop(store);
    assert_eq!(
        directory.texts("SELECT integrity_check AS text FROM pragma_integrity_check"),
        ["ok"]
    );
    assert_eq!(directory.count("api_keys"), 5);
}

#[tokio::test]
async fn database_file_behind_a_link_accepts_changes() {
    let fixture = Fixture::new().await;
    let elsewhere = TempDir::new().expect("a directory");
    symlink(fixture.directory.file(), elsewhere.path().join("keyward.db")).expect("a link");
    let store = SqliteStore::open(long_timeouts(elsewhere.path())).expect("a store");
    for name in ["first", "second"] {
        let added = add(&store, fixture.act(), fixture.new_key(name)).await;
        added.expect("added");
    }
}
