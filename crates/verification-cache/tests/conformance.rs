//! The decorator keeps every promise of the port that it decorates, also when the answer comes from the
//! cache.

#![expect(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::sync::Arc;

use keyward_domain::testing::conformance::{KeyStores, Spawn};
use keyward_domain::testing::{Builder, MemoryStore};
use keyward_verification_cache::testing::PolledStore;

const ON_TOKIO: Spawn = |task| {
    let running = tokio::spawn(task);
    Box::pin(async { running.await.expect("the task does not panic") })
};

async fn fresh_cached_store() -> KeyStores {
    let store = Arc::new(MemoryStore::new());
    let polled = PolledStore::new(Arc::clone(&store), Builder::new(7).ids.next());
    KeyStores {
        credentials: Arc::new(polled),
        ..KeyStores::of(Arc::clone(&store), store, ON_TOKIO)
    }
}

keyward_domain::key_conformance_tests!(
    #[tokio::test(flavor = "multi_thread")]
    fresh_cached_store
);
