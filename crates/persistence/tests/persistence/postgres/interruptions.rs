//! Callers that leave, connections that break: no half change, no lost connection.

use std::time::{Duration, Instant};

use keyward_domain::api_key::{KeyPrecondition, RevocationReason};
use keyward_domain::ports::{
    AddKeyError, ApiKeys, Credentials, DescendantKeys, RevokeKeyError, StorageError,
};
use tokio_postgres::Client;

use crate::postgres::fixture::{AddKey, Fixture, connect, count, slow_commit};

const DEADLINE: Duration = Duration::from_secs(20);

async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds().await {
        assert!(Instant::now() < deadline, "{what}: not within {DEADLINE:?}");
        tokio::task::yield_now().await;
    }
}

/// How many of the store's connections wait for a lock.
async fn waiting(client: &Client) -> i64 {
    count(
        client,
        "pg_stat_activity WHERE datname = current_database() AND application_name = 'keyward' \
         AND wait_event_type = 'Lock'",
    )
    .await
}

async fn is_stored(fixture: &Fixture, key: keyward_domain::id::ApiKeyId) -> bool {
    let consumer = fixture.holder().consumer().id;
    ApiKeys::find(&fixture.store, consumer, key)
        .await
        .expect("the database answers")
        .is_some()
}

#[tokio::test]
async fn change_commits_after_caller_cancellation() {
    let fixture = Fixture::new().await;
    let mut blocker = connect(fixture.database.url()).await;
    let transaction = blocker.transaction().await.expect("a transaction");
    transaction
        .batch_execute("SELECT FROM memberships FOR UPDATE")
        .await
        .expect("a lock");

    let new = fixture.new_key("abandoned", None);
    let act = fixture.act();
    let store = fixture.store.clone();
    let (id, key) = (new.key.id, new);
    let caller = tokio::spawn(async move { store.add_key(key, act).await });
    eventually("the change waits for the lock", async || {
        waiting(&fixture.client).await == 1
    })
    .await;
    caller.abort();
    assert!(caller.await.expect_err("the caller left").is_cancelled());
    assert!(!is_stored(&fixture, id).await);

    transaction.rollback().await.expect("the lock is let go");
    eventually("the abandoned change is committed", async || {
        is_stored(&fixture, id).await
    })
    .await;
}

#[tokio::test]
async fn cancelled_read_leaves_its_connection_usable() {
    let fixture = Fixture::with(|config| config.max_connections = 1).await;
    let pid = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'keyward'";
    let before: Vec<i32> = pids(&fixture.client, pid).await;
    let mut blocker = connect(fixture.database.url()).await;
    let transaction = blocker.transaction().await.expect("a transaction");
    transaction
        .batch_execute("LOCK TABLE users IN ACCESS EXCLUSIVE MODE")
        .await
        .expect("a lock");
    let (store, digest) = (fixture.store.clone(), fixture.key.digest);
    let caller = tokio::spawn(async move { Credentials::find(&store, &digest).await });
    eventually("the read waits for the lock", async || {
        waiting(&fixture.client).await == 1
    })
    .await;
    caller.abort();
    transaction.rollback().await.expect("the lock is let go");

    let found = Credentials::find(&fixture.store, &fixture.key.digest)
        .await
        .expect("the only connection works");
    assert!(found.is_some());
    assert_eq!(pids(&fixture.client, pid).await, before, "the same connection");
}

async fn pids(client: &Client, query: &str) -> Vec<i32> {
    let rows = client.query(query, &[]).await.expect("the connections");
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn killed_connections_are_replaced() {
    let fixture = Fixture::new().await;
    for _ in 0..3 {
        let killer = connect(fixture.database.url()).await;
        killer
            .execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE datname = current_database() AND application_name = 'keyward'",
                &[],
            )
            .await
            .expect("the store's connections are killed");
        eventually("the key is found again", async || {
            match Credentials::find(&fixture.store, &fixture.key.digest).await {
                Ok(found) => found.is_some(),
                Err(StorageError::Unavailable(_)) => false,
                Err(other) => panic!("{other:?}"),
            }
        })
        .await;
    }
}

#[tokio::test]
async fn read_on_a_killed_connection_is_retried_once() {
    let fixture = Fixture::new().await;
    let mut blocker = connect(fixture.database.url()).await;
    for kills in [1, 2] {
        let transaction = blocker.transaction().await.expect("a transaction");
        transaction
            .batch_execute("LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE")
            .await
            .expect("a lock");
        let (store, digest) = (fixture.store.clone(), fixture.key.digest);
        let read = tokio::spawn(async move { Credentials::find(&store, &digest).await });
        for _ in 0..kills {
            eventually("the read waits", async || waiting(&fixture.client).await == 1).await;
            fixture
                .execute(
                    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
                     WHERE datname = current_database() AND wait_event_type = 'Lock'",
                )
                .await;
        }
        transaction.rollback().await.expect("the end of the lock");
        let found = read.await.expect("no panic");
        match kills {
            1 => assert!(found.expect("an answer").is_some()),
            // A read is repeated only once.
            _ => assert!(matches!(found, Err(StorageError::Unavailable(_))), "{found:?}"),
        }
    }
}

#[tokio::test]
async fn change_on_a_connection_killed_before_commit_is_rolled_back() {
    let fixture = Fixture::new().await;
    let mut blocker = connect(fixture.database.url()).await;
    let transaction = blocker.transaction().await.expect("a transaction");
    transaction
        .batch_execute("LOCK TABLE audit_events IN ACCESS EXCLUSIVE MODE")
        .await
        .expect("a lock");
    let new = fixture.new_key("cut off", None);
    let act = fixture.act();
    let (store, id) = (fixture.store.clone(), new.key.id);
    let change = tokio::spawn(async move { store.add_key(new, act).await });
    eventually("the change waits for the log", async || {
        waiting(&fixture.client).await == 1
    })
    .await;
    fixture
        .execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = 'keyward' AND wait_event_type = 'Lock'",
        )
        .await;
    let outcome = change.await.expect("the task does not panic");
    assert!(
        matches!(outcome, Err(AddKeyError::Storage(StorageError::Unavailable(_)))),
        "{outcome:?}"
    );
    transaction.rollback().await.expect("the lock is let go");
    assert!(!is_stored(&fixture, id).await);
}

/// The error of adding a key when COMMIT is refused with this error, which rolls back; and whether a key is
/// stored.
async fn refused_at_commit(fixture: &Fixture, state: &str, message: &str) -> (Option<StorageError>, bool) {
    fixture
        .execute(&format!(
            "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN RAISE EXCEPTION '{message}' USING ERRCODE = '{state}'; END $$;
             DROP TRIGGER IF EXISTS refuse ON audit_events;
             CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON audit_events DEFERRABLE INITIALLY DEFERRED
                 FOR EACH ROW EXECUTE FUNCTION refuse()"
        ))
        .await;
    let new = fixture.new_key("refused", None);
    let id = new.key.id;
    let error = match fixture.add(new).await {
        Err(AddKeyError::Storage(error)) => Some(error),
        _ => None,
    };
    (error, is_stored(fixture, id).await)
}

#[tokio::test]
async fn error_in_answer_to_commit_means_nothing_changed() {
    let fixture = Fixture::new().await;
    for (state, message, may_pass) in [
        ("55P03", "canceling statement due to lock timeout", true),
        ("42501", "permission denied for table access_counter", true),
        ("40001", "could not serialize access", true),
        ("53100", "could not extend file: No space left on device", true),
        ("22012", "division by zero", false),
    ] {
        let (error, is_stored) = refused_at_commit(&fixture, state, message).await;
        let is_right = match &error {
            Some(StorageError::Unavailable(_)) => may_pass,
            Some(StorageError::Defect(_)) => !may_pass,
            _ => false,
        };
        assert!(is_right, "{state}: {error:?}");
        assert!(!is_stored, "{state}");
    }
}

#[tokio::test]
async fn poolers_answer_to_commit_leaves_the_outcome_unknown() {
    let fixture = Fixture::new().await;
    for (state, message) in [
        ("08P01", "server conn crashed?"),
        ("08006", "server closed the connection unexpectedly"),
        ("57P01", "terminating connection due to administrator command"),
    ] {
        let (error, _) = refused_at_commit(&fixture, state, message).await;
        assert!(
            matches!(error, Some(StorageError::OutcomeUnknown(_))),
            "{state}: {error:?}"
        );
    }
}

#[tokio::test]
async fn revocation_that_cannot_be_numbered_changes_nothing() {
    let fixture = Fixture::with(|config| config.step_timeout = Duration::from_millis(600)).await;
    let mut blocker = connect(fixture.database.url()).await;
    let transaction = blocker.transaction().await.expect("a transaction");
    transaction
        .batch_execute("SELECT FROM access_counter FOR UPDATE")
        .await
        .expect("a lock");
    let revoke = async || {
        let revoking = ApiKeys::revoke(
            &fixture.store,
            fixture.holder().consumer().id,
            fixture.key.key.id,
            RevocationReason::Holder.into(),
            DescendantKeys::Keep,
            KeyPrecondition::AnyVersion,
            fixture.act(),
        );
        revoking.await
    };
    let refused = revoke().await;
    assert!(
        matches!(
            refused,
            Err(RevokeKeyError::Storage(StorageError::Unavailable(_)))
        ),
        "{refused:?}"
    );
    transaction.rollback().await.expect("the lock is let go");
    assert_eq!(
        revoke().await.expect("revoked"),
        [fixture.key.key.id],
        "it was valid"
    );
}

#[tokio::test]
async fn connection_killed_during_commit_leaves_the_outcome_unknown() {
    let fixture = Fixture::new().await;
    fixture.execute(&slow_commit(60)).await;
    let new = fixture.new_key("who knows", None);
    let act = fixture.act();
    let store = fixture.store.clone();
    let change = tokio::spawn(async move { store.add_key(new, act).await });
    let committing = "pg_stat_activity WHERE datname = current_database() AND query = 'COMMIT' \
                      AND wait_event = 'PgSleep'";
    eventually("the change commits", async || {
        count(&fixture.client, committing).await == 1
    })
    .await;
    fixture
        .execute(&format!("SELECT pg_terminate_backend(pid) FROM {committing}"))
        .await;
    let outcome = change.await.expect("the task does not panic");
    assert!(
        matches!(
            outcome,
            Err(AddKeyError::Storage(StorageError::OutcomeUnknown(_)))
        ),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn late_commit_is_reported_unknown_and_continues() {
    let fixture = Fixture::with(|config| {
        config.answer_timeout = Duration::from_secs(3);
        config.outcome_timeout = Duration::from_millis(3_500);
    })
    .await;
    fixture.execute(&slow_commit(5)).await;
    let new = fixture.new_key("late", None);
    let id = new.key.id;
    let outcome = fixture.add(new).await;
    assert!(
        matches!(
            outcome,
            Err(AddKeyError::Storage(StorageError::OutcomeUnknown(_)))
        ),
        "{outcome:?}"
    );
    eventually("the change is committed after all", async || {
        is_stored(&fixture, id).await
    })
    .await;
}

#[tokio::test]
async fn change_not_committing_in_time_is_withdrawn() {
    let fixture = Fixture::with(|config| config.answer_timeout = Duration::from_secs(4)).await;
    let child = fixture.new_child(fixture.key.key.id, "child");
    fixture.add(child.clone()).await.expect("a child");
    // Each event alone is quick enough; both together are not.
    fixture
        .execute(
            "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN PERFORM pg_sleep(2.5); RETURN NULL; END $$;
             CREATE TRIGGER dawdle AFTER INSERT ON audit_events FOR EACH ROW EXECUTE FUNCTION dawdle();",
        )
        .await;
    let (consumer, id) = (fixture.holder().consumer().id, fixture.key.key.id);
    let outcome = fixture
        .store
        .revoke(
            consumer,
            id,
            RevocationReason::Holder.into(),
            DescendantKeys::Revoke,
            KeyPrecondition::AnyVersion,
            fixture.act(),
        )
        .await;
    assert!(
        matches!(
            outcome,
            Err(RevokeKeyError::Storage(StorageError::Unavailable(_)))
        ),
        "{outcome:?}"
    );
    eventually("the transaction has ended", async || {
        count(
            &fixture.client,
            "pg_stat_activity WHERE datname = current_database() AND application_name = 'keyward' \
             AND state <> 'idle'",
        )
        .await
            == 0
    })
    .await;
    assert_eq!(
        count(&fixture.client, "api_keys WHERE revoked_at IS NULL").await,
        2
    );
}
