//! The conformance suite: tests that every store must pass before it is trusted with keys.
//!
//! Each case checks one promise of [`ports`](crate::ports), [`sign_in::ports`](crate::sign_in::ports),
//! [`administration::ports`](crate::administration::ports) or [`retention::ports`](crate::retention::ports)
//! on a fresh, empty store. A macro makes one test of each, named for its promise:
//!
//! | your service | implements | and tests with |
//! |---|---|---|
//! | has users and sign-in of its own | the ports in [`KeyStores`] | [`key_conformance_tests!`](crate::key_conformance_tests) |
//! | takes users and sign-in from Keyward | [`StoragePorts`](crate::storage_ports::StoragePorts) | [`conformance_tests!`](crate::conformance_tests) |
//!
//! ```
//! use std::sync::Arc;
//!
//! use keyward_domain::testing::MemoryStore;
//! use keyward_domain::testing::conformance::KeyStores;
//!
//! async fn fresh_memory_store() -> KeyStores {
//!     let store = Arc::new(MemoryStore::new());
//!     KeyStores::of(store.clone(), store, |task| {
//!         let running = tokio::spawn(task);
//!         Box::pin(async { running.await.expect("the task does not panic") })
//!     })
//! }
//!
//! keyward_domain::key_conformance_tests!(#[tokio::test(flavor = "multi_thread")] fresh_memory_store);
//! # fn main() {}
//! ```
//!
//! The cases about concurrency start up to 64 tasks with the given [`Spawn`]. They find races only if it runs tasks
//! concurrently: let it use several threads, and give a store that pools connections at least 64 of them.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is a failed case of the suite"
)]
#![expect(missing_docs, reason = "a case is named for the promise it checks")]

mod administration;
mod cases;
mod ended_right;
mod keys;
mod pages;
mod parallel;
mod retention;
mod rotation;
mod scene;
mod sign_in;
mod stores;

pub use administration::administration_cases;
pub use cases::Case;
pub use keys::key_cases;
pub use retention::retention_cases;
pub use sign_in::sign_in_cases;
pub use stores::{Arrange, KeyStores, Spawn, Stores};
