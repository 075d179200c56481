//! How often tokens were looked up, and where they were found.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts look-ups of credentials since the start of the process.
#[derive(Debug, Default)]
pub struct Lookups {
    hits: AtomicU64,
    misses: AtomicU64,
    fills: AtomicU64,
}

impl Lookups {
    /// How many were answered from memory.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// For how many the store was asked, whatever it answered.
    pub fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }

    /// How many of those found a credential under a lease, so that the cache was given it.
    pub fn fills(&self) -> u64 {
        self.fills.load(Ordering::Relaxed)
    }

    pub(crate) fn count_hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_miss(&self) {
        self.misses.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_fill(&self) {
        self.fills.fetch_add(1, Ordering::Relaxed);
    }
}
