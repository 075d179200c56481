//! Support for tests: in-memory adapters, fixed clock, seeded randomness, builders, mocks and the
//! conformance suite.
//!
//! The mocks (mockall) are beside their ports: [`MockApiKeys`](crate::ports::MockApiKeys) and so on.

#![expect(clippy::expect_used, reason = "a failed expectation is a failed test")]

mod builders;
mod clock;
pub mod conformance;
mod hasher;
mod installation;
pub mod key_edits;
mod memory;
mod random;

pub use builders::Builder;
pub use clock::FixedClock;
pub use hasher::PlainHasher;
pub use installation::TestInstallation;
pub use memory::MemoryStore;
pub use random::SeededRandom;
