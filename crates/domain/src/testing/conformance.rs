//! The conformance suite: what every store must be seen to do before anybody may trust it with keys.
//!
//! Each case checks one promise of [`ports`](crate::ports) or [`sign_in::ports`](crate::sign_in::ports) on a fresh,
//! empty store. [`conformance_tests!`](crate::conformance_tests) makes one test of each, named for its promise:
//!
//! ```
//! use std::sync::Arc;
//!
//! use keyward_domain::testing::MemoryStore;
//! use keyward_domain::testing::conformance::Stores;
//!
//! async fn fresh_memory_store() -> Stores {
//!     let store = Arc::new(MemoryStore::new());
//!     Stores::of(store.clone(), store, |task| {
//!         let running = tokio::spawn(task);
//!         Box::pin(async { running.await.expect("the task does not panic") })
//!     })
//! }
//!
//! keyward_domain::conformance_tests!(#[tokio::test(flavor = "multi_thread")] fresh_memory_store);
//! # fn main() {}
//! ```
//!
//! The cases about concurrency start up to 64 tasks with the given [`Spawn`]. They are only as sharp as it is: let it
//! run tasks on several threads, and give a store that pools connections at least 64 of them.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is a failed case of the suite"
)]
#![expect(missing_docs, reason = "a case is named for the promise it checks")]

mod account_cases;
mod add_key_cases;
mod audit_log_cases;
mod concurrent_key_cases;
mod credential_cases;
mod descendant_cases;
mod edit_key_cases;
mod find_key_cases;
mod installation_cases;
mod list_key_cases;
mod membership_cases;
mod parallel;
mod revoke_key_cases;
mod scene;
mod search_key_cases;
mod session_cases;
mod suite;
mod throttle_cases;

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::id::MembershipId;
use crate::membership::Membership;
use crate::organization::Organization;
use crate::ports::{ApiKeys, AuditLog, Credentials, Memberships};
use crate::sign_in::ports::{AccountStore, InstallationStore, SessionStore, SignInThrottle};

pub use parallel::Spawn;
pub use suite::cases;

/// One fresh, empty store, behind all its ports.
///
/// The ports see the same data, but need not be one struct: a decorator takes the place of the port it decorates.
#[derive(Clone)]
pub struct Stores {
    /// Keys.
    pub api_keys: Arc<dyn ApiKeys>,
    /// The hot path's view of keys.
    pub credentials: Arc<dyn Credentials>,
    /// Memberships.
    pub memberships: Arc<dyn Memberships>,
    /// The audit log.
    pub audit_log: Arc<dyn AuditLog>,
    /// Accounts.
    pub accounts: Arc<dyn AccountStore>,
    /// Console sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// The throttle of sign-in.
    pub throttle: Arc<dyn SignInThrottle>,
    /// The installation.
    pub installation: Arc<dyn InstallationStore>,
    /// What the ports cannot bring about.
    pub arrange: Arc<dyn Arrange>,
    /// How to run tasks side by side.
    pub spawn: Spawn,
}

impl Stores {
    /// The ports of one struct that implements them all.
    #[must_use]
    pub fn of<S>(store: Arc<S>, arrange: Arc<dyn Arrange>, spawn: Spawn) -> Self
    where
        S: ApiKeys
            + Credentials
            + Memberships
            + AuditLog
            + AccountStore
            + SessionStore
            + SignInThrottle
            + InstallationStore
            + 'static,
    {
        Self {
            api_keys: Arc::clone(&store) as _,
            credentials: Arc::clone(&store) as _,
            memberships: Arc::clone(&store) as _,
            audit_log: Arc::clone(&store) as _,
            accounts: Arc::clone(&store) as _,
            sessions: Arc::clone(&store) as _,
            throttle: Arc::clone(&store) as _,
            installation: store,
            arrange,
            spawn,
        }
    }
}

/// Brings about what no port can yet, by the shortest way the store has. Panics if it fails.
#[async_trait]
pub trait Arrange: Send + Sync {
    /// Adds an organization beside the first.
    async fn add_organization(&self, organization: Organization);

    /// Makes an existing user a member of an existing organization.
    async fn add_membership(&self, membership: Membership);

    /// Ends a live membership.
    async fn end_membership(&self, membership: MembershipId, at: DateTime<Utc>);
}
