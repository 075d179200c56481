//! A slow statement does not close a connection on which the server still answers: where the server is far,
//! another one takes long to make.

use std::time::Duration;

use futures_util::future::try_join_all;
use keyward_domain::api_key::{KeyPrecondition, RevocationReason};
use keyward_domain::ports::{ApiKeys, DescendantKeys, RevokeKeyError, StorageError};
use keyward_persistence::postgres::PostgresStore;

use crate::postgres::fixture::{Fixture, connect, count, long_timeouts, read, store};
use crate::postgres::proxy::Proxy;

/// Connections of the store that is looked at, as the server knows them.
const WATCHED: &str = "pg_stat_activity WHERE datname = current_database() AND application_name = 'watched'";

/// A store with three idle connections, and their process ids on the server. A statement may take 3 s and an
/// answer 4.
async fn with_idle_connections(fixture: &Fixture) -> (PostgresStore, Vec<i32>) {
    let url = fixture.database.url();
    let separator = if url.contains('?') { '&' } else { '?' };
    let mut config = long_timeouts(&format!("{url}{separator}application_name=watched"));
    config.step_timeout = Duration::from_secs(3);
    config.answer_timeout = Duration::from_secs(4);
    let store = store(config);
    let mut blocker = connect(url).await;
    let lock = blocker.transaction().await.expect("a transaction");
    lock.batch_execute("LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE")
        .await
        .expect("a lock");
    let unlock = async {
        while count(
            &fixture.client,
            &format!("{WATCHED} AND wait_event_type = 'Lock'"),
        )
        .await
            < 3
        {}
        lock.rollback().await.expect("the lock is let go");
    };
    let reads = try_join_all((0..3).map(|_| read(&store)));
    let (read, ()) = tokio::join!(reads, unlock);
    read.expect("three reads at once");
    let connections = connections(fixture).await;
    assert_eq!(connections.len(), 3);
    (store, connections)
}

/// The connections that there are once none is at work.
async fn connections(fixture: &Fixture) -> Vec<i32> {
    while count(&fixture.client, &format!("{WATCHED} AND state <> 'idle'")).await > 0 {}
    let pids = format!("SELECT pid FROM {WATCHED} ORDER BY pid");
    let rows = fixture.client.query(&pids, &[]).await.expect("the connections");
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn late_change_closes_no_connection() {
    let fixture = Fixture::new().await;
    fixture
        .execute(
            "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN PERFORM pg_sleep(2.5); RETURN NULL; END $$;
             CREATE TRIGGER dawdle AFTER UPDATE ON api_keys FOR EACH ROW EXECUTE FUNCTION dawdle();
             CREATE TRIGGER dawdle AFTER INSERT ON audit_events FOR EACH ROW EXECUTE FUNCTION dawdle();",
        )
        .await;
    let (store, before) = with_idle_connections(&fixture).await;
    let (consumer, key) = (fixture.holder().consumer().id, fixture.key.key.id);
    let (reason, any) = (RevocationReason::Holder, KeyPrecondition::AnyVersion);
    let revoked = ApiKeys::revoke(
        &store,
        consumer,
        key,
        reason.into(),
        DescendantKeys::Keep,
        any,
        fixture.act(),
    )
    .await;
    assert!(
        matches!(
            revoked,
            Err(RevokeKeyError::Storage(StorageError::Unavailable(_)))
        ),
        "{revoked:?}"
    );
    assert_eq!(connections(&fixture).await, before);
}

#[tokio::test]
async fn late_read_closes_no_connection() {
    let fixture = Fixture::new().await;
    let name = fixture.database.name();
    fixture
        .execute(&format!(
            "CREATE SCHEMA slow;
             CREATE FUNCTION slow.to_regclass(text) RETURNS regclass LANGUAGE plpgsql AS
                 $$ BEGIN PERFORM pg_sleep(2.5); RETURN pg_catalog.to_regclass($1); END $$;
             ALTER DATABASE {name} SET search_path = slow, public, pg_catalog"
        ))
        .await;
    let (store, before) = with_idle_connections(&fixture).await;
    // It asks twice whether there is a table.
    let ready = store.is_ready().await;
    assert!(matches!(ready, Err(StorageError::Unavailable(_))), "{ready:?}");
    assert_eq!(connections(&fixture).await, before);
}

#[tokio::test]
async fn silent_connection_does_not_close_responsive_ones() {
    let fixture = Fixture::new().await;
    let proxy = Proxy::before(fixture.database.url(), None).await;
    let mut config = long_timeouts(&proxy.url("127.0.0.1"));
    config.step_timeout = Duration::from_secs(2);
    config.answer_timeout = Duration::from_secs(5);
    let store = store(config);
    read(&store).await.expect("the first connection");
    proxy.fall_silent();
    proxy.speak_to_newcomers();
    let (silent, answered) = tokio::join!(read(&store), read(&store));
    assert!(silent.is_err() != answered.is_err(), "{silent:?} {answered:?}");
    assert_eq!(proxy.connections(), 2);
    read(&store).await.expect("the second connection");
    assert_eq!(proxy.connections(), 2, "the second one is still there");
}
