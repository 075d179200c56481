//! Verifications kept in memory, on any number of servers, that never outlive the answer to a revocation.
//!
//! A server that caches is a *replica*: it is registered in the database, polls the counter of
//! [changes](keyward_domain::access_changes), and answers from its cache only while it holds a lease. A
//! revocation waits until each replica has acknowledged the change or its lease must have ended.
//! `ARCHITECTURE.md`, "One verification, followed", has the three invariants that make this safe;
//! `exploration` walks through the interleavings.
//!
//! | to read about | look at |
//! |---|---|
//! | the cache, and how long entries stay | [`VerificationCache`], [`CachedCredentials`], [`CachedReachableProjects`] |
//! | counters of hits and misses | [`Lookups`] |
//! | which tokens were found before, without the cache | [`FamiliarCredentials`] |
//! | what a replica does after each poll | [`Replica`] |
//! | how long a revocation waits | [`Wait`] |
//! | the clock of leases | [`BootTime`] |
//!
//! Everything takes the time as an argument and knows neither SQL nor a runtime: `server` reads the clock,
//! asks the database and waits.

mod boot_time;
mod cache;
mod cached_credentials;
mod cached_reachable_projects;
mod entry;
#[cfg(test)]
mod exploration;
mod familiar_credentials;
mod lookups;
mod marks;
mod memory;
#[cfg(test)]
mod mutant;
mod organizations;
mod reaches;
mod replica;
#[cfg(feature = "testing")]
pub mod testing;
mod wait;

pub use boot_time::{BootClock, BootTime, MachineClock};
pub use cache::{Fill, VerificationCache};
pub use cached_credentials::CachedCredentials;
pub use cached_reachable_projects::CachedReachableProjects;
pub use familiar_credentials::FamiliarCredentials;
pub use lookups::{Count, Lookups};
pub use replica::{Acknowledgement, Emptied, Next, Replica};
pub use wait::{ReadingNumber, Verdict, Wait};

use std::time::Duration;

/// How long a replica may answer from its cache, counted from the moment at which it sent the poll that
/// showed it everything.
pub const LEASE: Duration = Duration::from_secs(5);
