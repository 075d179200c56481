//! The memory that entries take.
//!
//! Measured with glibc's allocator; others take about as much.

use std::hash::Hash;

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

/// How many evicted entries a cache remembers, as a share of those that it holds. By default, these are half
/// as many, and each takes as much of the table as a present one.
const GHOSTS: f64 = 0.01;

/// A cache that holds entries of this weight at most; these are never more than `most`.
#[expect(clippy::expect_used, reason = "every option without a default is set")]
pub(crate) fn cache<K: Eq + Hash, V: Clone, W: Weighter<K, V> + Clone>(
    most: usize,
    weight: usize,
    weighter: W,
) -> Cache<K, V, W> {
    let mut options = OptionsBuilder::new();
    options
        .estimated_items_capacity(most)
        .weight_capacity(weight as u64)
        .ghost_allocation(GHOSTS);
    Cache::with_options(
        options.build().expect("complete options"),
        weighter,
        DefaultHashBuilder::default(),
        DefaultLifecycle::default(),
    )
}

/// The memory of an entry in a cache's table, without the values that it points to: the key, the value, their
/// links and marks, and the place in the hash table, which is half empty at worst. Part of an evicted entry's
/// is added.
pub(crate) const fn slot<K, V>() -> usize {
    const LINKS: usize = 16;
    const HASHED: usize = 12;
    let slot = (size_of::<K>() + size_of::<V>()).next_multiple_of(8) + LINKS + HASHED;
    slot + slot / 50
}

/// The memory of an allocation of this many bytes.
pub(crate) const fn allocation(bytes: usize) -> usize {
    const HEADER: usize = 8;
    const LEAST: usize = 32;
    match (bytes + HEADER).next_multiple_of(16) {
        more if more > LEAST => more,
        _ => LEAST,
    }
}
