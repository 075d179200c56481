//! How often tokens were looked up, and where they were found.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts look-ups of credentials since the start of the process.
#[derive(Debug, Default)]
pub struct Lookups {
    /// How many were answered from memory.
    pub hits: Count,
    /// Lookups in the store, found or not.
    pub misses: Count,
    /// How many of those found a credential under a lease, so that the cache was given it.
    pub fills: Count,
}

/// A number that only grows, for metrics.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Counts this many more.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// How many were counted so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
