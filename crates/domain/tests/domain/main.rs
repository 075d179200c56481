//! The domain from outside: only its public face, in-memory stores, a fixed clock and seeded randomness.

#![expect(clippy::expect_used, reason = "a failed expectation is a failed test")]

mod broken_store;
mod broken_stores_are_caught;
mod memory_store;
