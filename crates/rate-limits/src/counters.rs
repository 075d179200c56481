//! Counters in a bounded amount of memory.

use std::convert::Infallible;
use std::hash::Hash;
use std::sync::Arc;

use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed, StateStore};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, UnitWeighter};

/// The most recently and most often used counters; those of others make room, as if they had never been used.
///
/// So an attacker who sends from many addresses can neither make this grow nor get clients refused that were
/// not counted: a limit fails open. An active counter is not easily evicted: one that was used again stays
/// while others are used only once (quick_cache evicts those first, as S3-FIFO does), and an attacker with
/// enough addresses to use that many counters twice gets more requests through these addresses than by
/// resetting one counter.
///
/// The hash function has a random key, so that an attacker cannot choose addresses that collide.
pub(crate) struct Counters<K>(Cache<K, Arc<InMemoryState>>);

impl<K: Hash + Eq + Clone> Counters<K> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self(bounded(capacity))
    }
}

impl<K: Hash + Eq + Clone> StateStore for Counters<K> {
    type Key = K;

    fn measure_and_replace<T, F, E>(&self, key: &K, f: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let Ok(counter) = self
            .0
            .get_or_insert_with::<K, Infallible>(key, || Ok(Arc::default()));
        counter.measure_and_replace(&NotKeyed::NonKey, f)
    }
}

/// A cache of at most this many values, which remembers of few evicted ones that they were there.
#[expect(clippy::expect_used, reason = "every option without a default is set")]
pub(crate) fn bounded<K: Hash + Eq, V: Clone>(capacity: usize) -> Cache<K, V> {
    let mut options = OptionsBuilder::new();
    options
        .estimated_items_capacity(capacity)
        .weight_capacity(capacity as u64)
        .ghost_allocation(0.1);
    Cache::with_options(
        options.build().expect("complete options"),
        UnitWeighter,
        DefaultHashBuilder::default(),
        DefaultLifecycle::default(),
    )
}
