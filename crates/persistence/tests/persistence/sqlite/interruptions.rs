//! Callers that leave, and others that hold the file.

use std::task::Poll;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use futures_util::future::poll_fn;
use keyward_domain::ports::{AddKeyError, Credentials, StorageError};

use crate::sqlite::fixture::{Fixture, add, eventually};

/// Starts a call and stops waiting for it, as a server does when its client hangs up.
async fn abandon<T>(call: impl Future<Output = T>) {
    let mut call = Box::pin(call);
    poll_fn(|context| {
        let _ = call.as_mut().poll(context);
        Poll::Ready(())
    })
    .await;
}

#[tokio::test]
async fn change_commits_after_caller_cancellation() {
    let fixture = Fixture::new().await;
    let mut blocker = fixture.directory.connect();
    blocker.batch_execute("BEGIN IMMEDIATE").expect("the write lock");
    let new = fixture.new_key("abandoned");
    let id = new.key.id;
    abandon(fixture.add(new)).await;
    assert!(!fixture.is_stored(id).await, "reads go on beside the blocker");

    blocker.batch_execute("ROLLBACK").expect("the lock is let go");
    eventually("the abandoned change is committed", async || {
        fixture.is_stored(id).await
    })
    .await;
}

#[tokio::test]
async fn cancelled_read_leaves_its_connection_usable() {
    let fixture = Fixture::with(|config| config.max_readers = 1).await;
    for _ in 0..20 {
        abandon(Credentials::find(&fixture.store, &fixture.key.digest)).await;
    }
    let found = Credentials::find(&fixture.store, &fixture.key.digest).await;
    assert!(found.expect("the only reader works").is_some());
}

#[tokio::test]
async fn change_blocked_by_another_process_is_abandoned_completely() {
    let fixture = Fixture::with(|config| config.answer_timeout = Duration::from_secs(1)).await;
    let mut blocker = fixture.directory.connect();
    blocker.batch_execute("BEGIN IMMEDIATE").expect("the write lock");
    let new = fixture.new_key("too late");
    let id = new.key.id;
    let outcome = fixture.add(new).await;
    assert!(
        matches!(outcome, Err(AddKeyError::Storage(StorageError::Unavailable(_)))),
        "{outcome:?}"
    );
    blocker.batch_execute("ROLLBACK").expect("the lock is let go");
    // Comes after the one that was abandoned, which may hold the writer for one more moment.
    eventually("the next change is made", async || {
        fixture.add(fixture.new_key("in time")).await.is_ok()
    })
    .await;
    assert!(!fixture.is_stored(id).await);
}

#[tokio::test]
async fn long_held_lock_is_named_in_the_error() {
    let fixture = Fixture::with(|config| config.busy_timeout = Duration::from_millis(50)).await;
    let mut blocker = fixture.directory.connect();
    blocker.batch_execute("BEGIN IMMEDIATE").expect("the write lock");
    match fixture.add(fixture.new_key("refused")).await {
        Err(AddKeyError::Storage(StorageError::Unavailable(source))) => {
            assert_eq!(source.to_string(), "database is locked");
        }
        other => panic!("{other:?}"),
    }
    blocker.batch_execute("ROLLBACK").expect("the lock is let go");
    let added = add(&fixture.store, fixture.act(), fixture.new_key("welcome")).await;
    added.expect("no lock is held");
}
