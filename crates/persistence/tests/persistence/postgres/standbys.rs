//! Changes on a server whose commits wait for standbys. A schema earlier in `search_path` replaces
//! `pg_stat_activity` by what such a server would show.

use std::time::Duration;

use keyward_domain::api_key::{KeyPrecondition, RevocationReason};
use keyward_domain::id::ApiKeyId;
use keyward_domain::ports::{AddKeyError, ApiKeys, DescendantKeys, RevokeKeyError, StorageError};
use keyward_persistence::postgres::PostgresStore;

use crate::postgres::fixture::{AddKey, Fixture, connect, count, long_timeouts, slow_commit, store};

const STANDBY_AWAY: &str = "commits wait for a synchronous standby";

/// Sessions that begin from now on look for relations and functions here first.
async fn add_schema_in_front(fixture: &Fixture) {
    let name = fixture.database.name();
    fixture
        .execute(&format!(
            "CREATE SCHEMA front;
             CREATE TABLE front.pg_stat_activity (wait_event text, query_start timestamptz);
             ALTER DATABASE {name} SET search_path = front, public, pg_catalog"
        ))
        .await;
}

async fn add_key(fixture: &Fixture, store: &PostgresStore) -> Result<(), StorageError> {
    let act = fixture.act();
    match store.add_key(fixture.new_key("key", None), act).await {
        Ok(()) => Ok(()),
        Err(AddKeyError::Storage(error)) => Err(error),
        Err(refusal) => panic!("{refusal:?}"),
    }
}

#[tokio::test]
async fn changes_are_refused_while_abandoned_commits_wait_for_standbys() {
    let fixture = Fixture::new().await;
    add_schema_in_front(&fixture).await;
    let mut config = long_timeouts(fixture.database.url());
    config.answer_timeout = Duration::from_secs(3);
    config.outcome_timeout = Duration::from_millis(3_500);
    let store = store(config);
    let waits_since = async |waiting: &str| {
        fixture
            .execute(&format!(
                "TRUNCATE front.pg_stat_activity; INSERT INTO front.pg_stat_activity
                 VALUES ('SyncRep', clock_timestamp() - interval '{waiting}'), ('ClientRead', now() - interval '1 day')"
            ))
            .await;
    };

    waits_since("1 hour").await;
    add_key(&fixture, &store)
        .await
        .expect("no commit was abandoned here");

    fixture.execute(&slow_commit(5)).await;
    let late = add_key(&fixture, &store).await;
    assert!(matches!(late, Err(StorageError::OutcomeUnknown(_))), "{late:?}");
    // Waits until the late commit is done.
    fixture.execute("DROP TRIGGER dawdle ON audit_events").await;
    let keys = count(&fixture.client, "api_keys").await;
    for _ in 0..2 {
        match add_key(&fixture, &store).await {
            Err(StorageError::Unavailable(reason)) => assert_eq!(reason.to_string(), STANDBY_AWAY),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(count(&fixture.client, "api_keys").await, keys);

    // A commit whose client still waits for it.
    waits_since("-1 hour").await;
    add_key(&fixture, &store).await.expect("no other commit waits");
    waits_since("1 hour").await;
    add_key(&fixture, &store)
        .await
        .expect("the standby was back meanwhile");
}

async fn revoke_tree(
    fixture: &Fixture,
    store: &PostgresStore,
    key: ApiKeyId,
) -> Result<Vec<ApiKeyId>, RevokeKeyError> {
    let (consumer, act) = (fixture.holder().consumer().id, fixture.act());
    let (reason, below) = (RevocationReason::Holder, DescendantKeys::Revoke);
    let any = KeyPrecondition::AnyVersion;
    ApiKeys::revoke(store, consumer, key, reason.into(), below, any, act).await
}

#[tokio::test]
async fn repeated_revocation_takes_the_lock_where_commits_wait_for_standbys() {
    let fixture = Fixture::new().await;
    add_schema_in_front(&fixture).await;
    let key = fixture.key.key.id;
    let revoked = revoke_tree(&fixture, &fixture.store, key).await;
    assert_eq!(revoked.expect("a revocation"), [key]);
    let mut blocker = connect(fixture.database.url()).await;
    let transaction = blocker.transaction().await.expect("a transaction");
    let lock = "SELECT FROM memberships FOR UPDATE";
    transaction.batch_execute(lock).await.expect("a lock");

    for (standbys, takes_lock) in [("", false), ("ANY 1 (s1, s2)", true)] {
        fixture
            .execute(&format!(
                "CREATE OR REPLACE FUNCTION front.current_setting(name text) RETURNS text LANGUAGE sql AS
                     $$ SELECT CASE name WHEN 'synchronous_standby_names' THEN '{standbys}'
                            ELSE pg_catalog.current_setting(name) END $$"
            ))
            .await;
        let mut config = long_timeouts(fixture.database.url());
        config.step_timeout = Duration::from_secs(3);
        let repeated = revoke_tree(&fixture, &store(config), key).await;
        if takes_lock {
            let error = repeated.expect_err("another request has the lock");
            let is_unavailable = matches!(error, RevokeKeyError::Storage(StorageError::Unavailable(_)));
            assert!(is_unavailable, "{error:?}");
        } else {
            assert_eq!(repeated.expect("nothing to revoke"), []);
        }
    }
}
