//! Connections are shared among the clients that wait for one.

use std::net::IpAddr;

use futures_util::future::join_all;
use keyward_domain::clock::Clock;
use keyward_domain::id::UserId;
use keyward_domain::sign_in::ports::{AttemptKind, Throttle};
use keyward_domain::sign_in::throttle::ThrottleBucket;
use keyward_persistence::on_behalf_of;

use crate::postgres::fixture::{AddKey, Fixture, connect, count, read};

const STALLED: &str = "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

fn client(last: u8) -> Option<IpAddr> {
    Some([192, 0, 2, last].into())
}

#[tokio::test]
async fn stalled_reads_of_one_client_leave_connections_to_others() {
    let fixture = Fixture::with(|config| config.max_connections = 4).await;
    let mut blocker = connect(fixture.database.url()).await;
    let lock = blocker.transaction().await.expect("a transaction");
    lock.batch_execute("LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE")
        .await
        .expect("a lock");
    let reads: Vec<_> = (0..8)
        .map(|_| {
            let store = fixture.store.clone();
            tokio::spawn(on_behalf_of(client(1), async move { read(&store).await }))
        })
        .collect();
    while count(&fixture.client, STALLED).await < 3 {}

    let ready = on_behalf_of(client(2), fixture.store.is_ready()).await;
    assert!(ready.is_ok(), "{ready:?}");
    assert_eq!(count(&fixture.client, STALLED).await, 3);
    lock.rollback().await.expect("the lock is let go");
    for read in join_all(reads).await {
        read.expect("no panic").expect("a read");
    }
}

#[tokio::test]
async fn stalled_sign_ins_of_strangers_leave_connections_to_others() {
    let fixture = Fixture::with(|config| config.max_connections = 4).await;
    let mut blocker = connect(fixture.database.url()).await;
    let lock = blocker.transaction().await.expect("a transaction");
    lock.batch_execute("LOCK TABLE sign_in_throttle IN EXCLUSIVE MODE")
        .await
        .expect("a lock");
    let attempts: Vec<_> = (0..8)
        .map(|number| {
            let (store, user): (_, UserId) = (fixture.store.clone(), fixture.make.ids.next());
            let bucket = ThrottleBucket::password_change(user);
            let now = fixture.make.clock.now();
            tokio::spawn(on_behalf_of(client(number), async move {
                let kind = AttemptKind::StrangersSignIn;
                store.count_attempt(kind, vec![bucket], now).await
            }))
        })
        .collect();
    while count(&fixture.client, STALLED).await < 3 {}

    let ready = on_behalf_of(client(200), fixture.store.is_ready()).await;
    assert!(ready.is_ok(), "{ready:?}");
    assert_eq!(count(&fixture.client, STALLED).await, 3);
    lock.rollback().await.expect("the lock is let go");
    for attempt in join_all(attempts).await {
        attempt.expect("no panic").expect("an answer");
    }
}

#[tokio::test]
async fn stalled_changes_of_one_consumer_leave_connections_to_others() {
    let fixture = Fixture::with(|config| config.max_connections = 16).await;
    let mut blocker = connect(fixture.database.url()).await;
    let lock = blocker.transaction().await.expect("a transaction");
    lock.batch_execute("SELECT FROM memberships FOR UPDATE")
        .await
        .expect("a lock");
    let changes: Vec<_> = (0..20)
        .map(|number| {
            let (store, new) = (
                fixture.store.clone(),
                fixture.new_key(&format!("key {number}"), None),
            );
            let act = fixture.act();
            tokio::spawn(on_behalf_of(client(number), async move {
                store.add_key(new, act).await
            }))
        })
        .collect();
    while count(&fixture.client, STALLED).await < 3 {}

    on_behalf_of(client(200), read(&fixture.store))
        .await
        .expect("a read");
    assert_eq!(count(&fixture.client, STALLED).await, 3);
    lock.rollback().await.expect("the lock is let go");
    for change in join_all(changes).await {
        change.expect("no panic").expect("a key is added");
    }
}
