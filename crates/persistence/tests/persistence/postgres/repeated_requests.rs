//! Requests that clients send again to another server while the first is being handled.

use std::time::Duration;

use keyward_domain::keys::{ChosenKey, RequestDigest};
use keyward_domain::ports::{AddKeyError, ApiKeys, NewRotation, RotateKeyError, RotationDraft};
use tokio::time::timeout;

use crate::postgres::fixture::{AMPLE, AddKey, Fixture, connect, count, long_timeouts, store};

const WAITS_FOR_LOCK: &str = "pg_stat_activity WHERE datname = current_database() \
                              AND application_name = 'keyward' AND wait_event_type = 'Lock'";

#[tokio::test]
async fn request_that_another_server_handles_is_in_progress() {
    let fixture = Fixture::new().await;
    let other_server = store(long_timeouts(fixture.database.url()));
    let chosen = ChosenKey::parse("retry").expect("a key");
    let request = chosen.for_request(RequestDigest::of("createApiKey", &["nightly"]));
    let new = || fixture.new_key("nightly", Some(request));
    let rotation = || {
        let successor = new();
        NewRotation {
            successor: successor.key.id,
            old_key: fixture.key.key.id,
            consumer_id: successor.key.consumer_id,
            idempotency_key: successor.idempotency_key,
            digest: successor.digest,
            hint: successor.key.hint,
            draft: RotationDraft::default(),
        }
    };
    let mut blocker = connect(fixture.database.url()).await;
    let held = blocker.transaction().await.expect("a transaction");
    let lock = "SELECT FROM memberships FOR UPDATE";
    held.batch_execute(lock).await.expect("a lock");

    let (first, act, server) = (new(), fixture.act(), fixture.store.clone());
    let created = first.key.id;
    let adding = tokio::spawn(async move { server.add_key(first, act).await });
    while count(&fixture.client, WAITS_FOR_LOCK).await == 0 {
        assert!(!adding.is_finished(), "it waits for the consumer");
    }
    let at_once = Duration::from_secs(10);
    let repeated = timeout(at_once, other_server.add_key(new(), fixture.act())).await;
    let repeated = repeated.expect("no wait for a lock");
    assert!(matches!(repeated, Err(AddKeyError::InProgress)), "{repeated:?}");
    let rotated = other_server.rotate(rotation(), AMPLE.changes, fixture.act());
    let rotated = timeout(at_once, rotated).await.expect("no wait for a lock");
    assert!(matches!(rotated, Err(RotateKeyError::InProgress)), "{rotated:?}");

    held.rollback().await.expect("the lock is released");
    adding.await.expect("no panic").expect("a key");
    let again = other_server.add_key(new(), fixture.act()).await;
    assert!(
        matches!(again, Err(AddKeyError::AlreadyCreated(id)) if id == created),
        "{again:?}"
    );
    assert_eq!(count(&fixture.client, "api_keys WHERE name = 'nightly'").await, 1);
}
