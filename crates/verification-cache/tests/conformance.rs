//! The decorator keeps every promise of the port that it decorates, also when the answer comes from the cache.
//!
//! The suite revokes through ports, which do not wait for replicas as use cases do. So each look-up here comes after a poll, as
//! it does when a revocation was waited for.

#![expect(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::sync::Arc;

use async_trait::async_trait;
use keyward_domain::access::Credential;
use keyward_domain::access_changes::ReplicaId;
use keyward_domain::ports::{AccessChanges, Credentials, StorageError};
use keyward_domain::testing::conformance::{KeyStores, Spawn};
use keyward_domain::testing::{Builder, MemoryStore};
use keyward_domain::token::TokenDigest;
use keyward_verification_cache::{
    BootClock, CachedCredentials, MachineClock, Next, Replica, VerificationCache,
};
use tokio::sync::Mutex;

const ON_TOKIO: Spawn = |task| {
    let running = tokio::spawn(task);
    Box::pin(async { running.await.expect("the task does not panic") })
};

/// A replica that is polled before each look-up.
struct Polled {
    changes: Arc<dyn AccessChanges>,
    id: ReplicaId,
    replica: Mutex<Replica>,
    cache: Arc<VerificationCache>,
    credentials: CachedCredentials,
}

impl Polled {
    async fn round(&self) -> Result<(), StorageError> {
        let mut replica = self.replica.lock().await;
        let sent = MachineClock.now();
        let polled = self.changes.poll(self.id, replica.last_acknowledged()).await?;
        let mut next = replica.polled(sent, &polled);
        loop {
            next = match next {
                Next::Poll => return Ok(()),
                Next::Acknowledge(acknowledgement) => {
                    let is_registered = self
                        .changes
                        .acknowledge(self.id, acknowledgement.counter())
                        .await?;
                    replica.acknowledged(acknowledgement, is_registered)
                }
                Next::Register => {
                    replica.begin_registration();
                    let sent = MachineClock.now();
                    replica.registered(sent, self.changes.register(self.id, "conformance").await?);
                    Next::Poll
                }
            };
        }
    }
}

#[async_trait]
impl Credentials for Polled {
    async fn find(&self, digest: &TokenDigest) -> Result<Option<Credential>, StorageError> {
        self.round().await?;
        let first = self.credentials.find(digest).await?;
        let again = self.credentials.find(digest).await?;
        assert_eq!(first, again, "the cache repeats the store");
        let is_accepted = first.as_ref().is_some_and(|found| !found.has_ended());
        assert_eq!(
            self.cache.find(digest, MachineClock.now()).is_some(),
            is_accepted,
            "what has not ended is in the cache"
        );
        Ok(again)
    }
}

async fn fresh_cached_store() -> KeyStores {
    let store = Arc::new(MemoryStore::new());
    let cache = Arc::new(VerificationCache::new(1_000));
    let polled = Polled {
        changes: Arc::clone(&store) as _,
        id: Builder::new(7).ids.next(),
        replica: Mutex::new(Replica::new(Arc::clone(&cache))),
        credentials: CachedCredentials::new(
            Arc::clone(&store) as _,
            Arc::clone(&cache),
            Arc::new(MachineClock),
        ),
        cache,
    };
    KeyStores {
        credentials: Arc::new(polled),
        ..KeyStores::of(Arc::clone(&store), store, ON_TOKIO)
    }
}

keyward_domain::key_conformance_tests!(
    #[tokio::test(flavor = "multi_thread")]
    fresh_cached_store
);
