//! Connections are shared among the clients that wait for one.

use std::net::IpAddr;

use futures_util::future::join_all;
use keyward_domain::ports::Credentials;
use keyward_domain::token::TokenDigest;
use keyward_persistence::on_behalf_of;

use crate::postgres::fixture::{AddKey, Fixture, connect, count};

#[tokio::test]
async fn stalled_changes_of_one_client_leave_connections_to_others() {
    let fixture = Fixture::with(|config| config.max_connections = 4).await;
    let mut blocker = connect(fixture.database.url()).await;
    let lock = blocker.transaction().await.expect("a transaction");
    lock.batch_execute("SELECT FROM memberships FOR UPDATE")
        .await
        .expect("a lock");
    let client = |address: &str| -> Option<IpAddr> { Some(address.parse().expect("an address")) };
    let changes: Vec<_> = (0..8)
        .map(|number| {
            let (store, new) = (
                fixture.store.clone(),
                fixture.new_key(&format!("key {number}"), None),
            );
            let (client, act) = (client("192.0.2.1"), fixture.act());
            tokio::spawn(on_behalf_of(client, async move { store.add_key(new, act).await }))
        })
        .collect();
    let stalled = "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while count(&fixture.client, stalled).await < 3 {}

    let digest = TokenDigest::from_bytes([7; 32]);
    let read = on_behalf_of(client("192.0.2.2"), Credentials::find(&fixture.store, &digest)).await;
    assert!(matches!(read, Ok(None)), "{read:?}");
    assert_eq!(count(&fixture.client, stalled).await, 3);
    lock.rollback().await.expect("the lock is let go");
    for change in join_all(changes).await {
        change.expect("no panic").expect("a key is added");
    }
}
