//! A change of many keys, batch by batch.

use std::error::Error;

use chrono::{DateTime, TimeDelta, Utc};

use crate::sources::Sources;

/// A change of many keys that stopped before it was complete.
#[derive(Debug, thiserror::Error)]
#[error("stopped before all keys were changed")]
pub struct Stopped<P, E: Error + 'static> {
    /// What had been done by then.
    pub progress: P,
    /// Why it went no further.
    #[source]
    pub why: StopReason<E>,
}

/// Why a change of many keys went no further.
#[derive(Debug, thiserror::Error)]
pub enum StopReason<E> {
    /// The time budget is used up.
    #[error("time budget exceeded")]
    TimeBudgetExceeded,
    /// The next batch was refused or failed.
    #[error(transparent)]
    Refused(#[from] E),
}

/// The time that all batches of a change may take; the last of them ends later.
pub(super) struct TimeBudget<'a> {
    sources: &'a Sources,
    begun: DateTime<Utc>,
    budget: Option<TimeDelta>,
}

impl<'a> TimeBudget<'a> {
    pub(super) fn begin(sources: &'a Sources, budget: Option<TimeDelta>) -> Self {
        Self {
            sources,
            begun: sources.now(),
            budget,
        }
    }

    /// Refuses another batch if the time budget is used up.
    pub(super) fn check<E>(&self) -> Result<(), StopReason<E>> {
        let used = self.sources.now() - self.begun;
        match self.budget {
            Some(budget) if used >= budget => Err(StopReason::TimeBudgetExceeded),
            Some(_) | None => Ok(()),
        }
    }
}
