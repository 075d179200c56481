//! The in-memory store keeps every promise of the ports.

use std::sync::Arc;

use keyward_domain::testing::MemoryStore;
use keyward_domain::testing::conformance::{Spawn, Stores};

/// Tasks on the threads of tokio.
pub(crate) const ON_TOKIO: Spawn = |task| {
    let running = tokio::spawn(task);
    Box::pin(async { running.await.expect("the task does not panic") })
};

pub(crate) async fn fresh_memory_store() -> Stores {
    let store = Arc::new(MemoryStore::new());
    Stores::of(Arc::clone(&store), store, ON_TOKIO)
}

keyward_domain::conformance_tests!(
    #[tokio::test(flavor = "multi_thread")]
    fresh_memory_store
);
