//! How often servers wait for each other.

use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use keyward_domain::propagation::Propagation;

/// Counts how often other servers were waited for.
#[derive(Default)]
pub(crate) struct CountedWaits(AtomicU32);

impl CountedWaits {
    pub(crate) fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Propagation for CountedWaits {
    async fn wait(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}
