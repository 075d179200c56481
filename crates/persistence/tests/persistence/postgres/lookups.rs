//! Lookups that wait for the database at the same time are asked together, and each has its own answer.

use std::sync::Arc;

use futures_util::future::join_all;
use keyward_domain::id::ApiKeyId;
use keyward_domain::ports::{Credentials, StorageError};
use keyward_domain::token::TokenDigest;

use crate::asked::Asked;
use crate::both::scene::{Scene, issue};
use crate::database::{Database, Store};
use crate::postgres::fixture::connect;

/// A scene with this many keys of Bob's.
async fn with_keys(number: usize) -> (Scene, Vec<(TokenDigest, ApiKeyId)>) {
    let scene = Scene::new(Database::postgres().await).await;
    let bob = scene.bob.as_holder();
    let mut keys = Vec::new();
    for number in 0..number {
        let issued = issue(&scene.use_cases, &bob, &format!("key {number}")).await;
        keys.push((issued.token.digest(), issued.key.id));
    }
    (scene, keys)
}

async fn find(store: &dyn Store, digest: TokenDigest) -> Result<Option<ApiKeyId>, StorageError> {
    let found = Credentials::find(store, &digest).await?;
    Ok(found.map(|credential| credential.api_key.id))
}

fn unknown(number: u8) -> TokenDigest {
    TokenDigest::from_bytes([number; 32])
}

#[tokio::test]
async fn lookups_at_the_same_time_share_few_statements() {
    let (scene, keys) = with_keys(30).await;
    let asked = Asked::of(&scene.database).await;
    let of_keys = keys.iter().map(|(digest, id)| (*digest, Some(*id)));
    let of_no_key = (0..10).map(|number| (unknown(number), None));
    let mut wanted: Vec<_> = of_keys.chain(of_no_key).collect();
    wanted.extend(wanted.clone());
    asked.statements();

    let found = join_all(wanted.iter().map(|(digest, _)| find(&*asked.store, *digest))).await;
    for ((_, expected), found) in wanted.iter().zip(found) {
        assert_eq!(found.expect("an answer"), *expected);
    }
    let mut statements = asked.statements();
    statements.retain(|asked| asked.statement.contains("api_keys"));
    assert!((2..=8).contains(&statements.len()), "{statements:?}");
}

#[tokio::test]
async fn unreadable_key_fails_its_own_lookups_alone() {
    let (scene, keys) = with_keys(20).await;
    let (spoiled, id) = keys[15];
    let row = scene.database.id(id.as_uuid());
    let spoil = format!("UPDATE api_keys SET created_at = 'infinity' WHERE id = {row}");
    scene.database.execute_without_rules(&spoil).await;

    let store = &*scene.database.store;
    let digests = keys.iter().map(|(digest, _)| *digest).chain([spoiled]);
    let found = join_all(digests.map(|digest| find(store, digest))).await;
    for (place, found) in found.into_iter().enumerate() {
        match found {
            Ok(found) => assert_eq!(found, keys.get(place).map(|(_, id)| *id)),
            Err(error) => {
                assert!(matches!(error, StorageError::Corrupt { .. }), "{error:?}");
                assert!([15, 20].contains(&place), "{place}: {error:?}");
            }
        }
    }
    assert!(matches!(
        find(store, spoiled).await,
        Err(StorageError::Corrupt { .. })
    ));
}

#[tokio::test]
async fn lookup_is_answered_although_the_one_that_asks_is_abandoned() {
    let (scene, keys) = with_keys(8).await;
    let url = scene.database.url().expect("a server");
    let mut blocker = connect(url).await;
    let transaction = blocker.transaction().await.expect("a transaction");
    let lock = "LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE";
    transaction.batch_execute(lock).await.expect("a lock");

    let store = Arc::clone(&scene.database.store);
    let lookups: Vec<_> = keys
        .iter()
        .map(|(digest, _)| {
            let (store, digest) = (Arc::clone(&store), *digest);
            tokio::spawn(async move { find(&*store, digest).await })
        })
        .collect();
    let waits = "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while scene.database.count(waits).await == 0 {}
    // Those that ask are the first.
    for lookup in &lookups[..4] {
        lookup.abort();
    }
    transaction.rollback().await.expect("the lock is let go");
    for (lookup, (_, id)) in lookups.into_iter().zip(&keys).skip(4) {
        let found = lookup.await.expect("no panic").expect("an answer");
        assert_eq!(found, Some(*id));
    }
}
