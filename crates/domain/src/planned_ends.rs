//! Planned ends that have come: each is recorded once, with an audit event of the system.
//!
//! A key or a membership is over from the moment of its planned end on, by every clock that has passed it.
//! That the end is recorded makes it final, also for a server whose clock is behind, and revokes the
//! invitations that a former owner left open. It cannot be undone, so it is not done on the word of one
//! clock: see [`retention`](crate::retention).
//!
//! The end of a rotated key may be planned for no moment, but for the first use of its successor. It comes
//! once that use is recorded and seen here while the successor is valid, even while the clock is in doubt:
//! until then, every server accepts the key.

pub mod ports;

use std::sync::Arc;

use crate::audit::{Actor, RequestSource};
use crate::ports::StorageError;
use crate::retention::ClockDoubt;
use crate::retention::ports::RetentionStore;
use crate::sources::Sources;
use ports::PlannedEndStore;

/// Records planned ends that have come, batch by batch. Any number of processes may do so at once.
#[derive(Clone)]
pub struct PlannedEnds {
    store: Arc<dyn PlannedEndStore>,
    clock: Arc<dyn RetentionStore>,
    sources: Sources,
}

/// Why no ends were recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordEndsError {
    /// The clock may be wrong.
    #[error(transparent)]
    Clock(ClockDoubt),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl PlannedEnds {
    /// How many ends of one kind to record in one transaction, unless that takes the store too long.
    pub const BATCH_SIZE: u32 = 200;

    /// The use case over these ports. `clock` checks whether the clock can be trusted.
    #[must_use]
    pub fn new(store: Arc<dyn PlannedEndStore>, clock: Arc<dyn RetentionStore>, sources: Sources) -> Self {
        Self {
            store,
            clock,
            sources,
        }
    }

    /// Records one batch of the ends that have come, at most this many of each kind, and returns their
    /// number. It is 0 if none is left, or if another process is recording them.
    ///
    /// While the clock may be wrong, only rotated keys end.
    ///
    /// Keys, memberships and rotated keys do not wait for each other: if one batch fails, the others are
    /// recorded all the same, and the failure is returned once these have nothing left.
    ///
    /// # Errors
    /// See [`RecordEndsError`]. This call has recorded nothing, unless the outcome of a change is unknown.
    pub async fn record_some(&self, at_most: u32) -> Result<u32, RecordEndsError> {
        let now = self.sources.now();
        // Most of the time there is nothing to do, and nothing is written.
        if !self.store.has_due(now).await? {
            return Ok(0);
        }
        let act = || self.sources.act_at(now, Actor::System, RequestSource::default());
        let store = &self.store;
        let mut outcomes = vec![store.end_rotated_keys(at_most, act()).await.map_err(Into::into)];
        match self.clock.check_clock(now, false).await {
            Ok(None) => {
                let memberships = store.record_ends_of_memberships(at_most, act()).await;
                let keys = store.record_ends_of_keys(at_most, act()).await;
                outcomes.extend([memberships, keys].map(|outcome| outcome.map_err(Into::into)));
            }
            Ok(Some(doubt)) => outcomes.push(Err(RecordEndsError::Clock(doubt))),
            Err(error) => outcomes.push(Err(error.into())),
        }
        let recorded = outcomes.iter().flatten().copied().fold(0, u32::saturating_add);
        match outcomes.into_iter().find_map(Result::err) {
            Some(error) if recorded == 0 => Err(error),
            _ => Ok(recorded),
        }
    }
}
