//! The bytes of all answers that wait in this process for clients to read them.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::{sync::watch, time::Instant};

use crate::serving_state::{self, ServingState};

/// Counts the bytes of the answers that their clients have not taken whole. From when they are too many until
/// half of them are left, so that connections are not woken for each answer, slow readers have the short
/// timeout.
#[derive(Debug)]
pub(crate) struct UnsentAnswers {
    bytes: AtomicU64,
    most: u64,
    serving: watch::Sender<ServingState>,
}

impl UnsentAnswers {
    pub(crate) const fn new(most: u64, serving: watch::Sender<ServingState>) -> Self {
        Self {
            bytes: AtomicU64::new(0),
            most,
            serving,
        }
    }

    /// An answer begins. It stays in memory as a whole until its last byte is taken.
    pub(crate) fn add(&self, bytes: u64) {
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > self.most {
            self.update();
        }
    }

    /// It was taken, or never will be.
    pub(crate) fn remove(&self, bytes: u64) {
        let before = self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        if before > self.most / 2 && before.saturating_sub(bytes) <= self.most / 2 {
            self.update();
        }
    }

    /// Updates the serving state to the current count. The count is read under the state's lock, so that a
    /// late caller does not restore an old one.
    fn update(&self) {
        serving_state::change(&self.serving, |serving| {
            let bytes = self.bytes.load(Ordering::Relaxed);
            if bytes > self.most {
                serving.unsent_full_since.get_or_insert_with(Instant::now);
            } else if bytes <= self.most / 2 {
                serving.unsent_full_since = None;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excess_unsent_data_is_reported_until_half_is_left() {
        let serving = watch::Sender::new(ServingState::default());
        let unsent = UnsentAnswers::new(1_000, serving.clone());
        let is_too_much = || serving.borrow().unsent_full_since.is_some();
        unsent.add(1_000);
        assert!(!is_too_much());
        unsent.add(1);
        assert!(is_too_much());
        unsent.remove(500);
        assert!(is_too_much());
        unsent.remove(1);
        assert!(!is_too_much());
        unsent.add(500);
        assert!(!is_too_much());
        unsent.add(1);
        assert!(is_too_much());
    }
}
