//! A change of many keys, batch by batch.

use std::error::Error;
use std::num::NonZeroU32;

use chrono::{DateTime, TimeDelta, Utc};

use crate::sources::Sources;

/// A change of many keys that stopped before it was complete.
#[derive(Debug, thiserror::Error)]
#[error("stopped before all keys were changed")]
pub struct Stopped<P, E: Error + 'static> {
    /// The progress until then.
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

/// How many keys a batch has, and how long all batches of a change may take; the last of them ends later.
pub(super) struct Batches<'a> {
    sources: &'a Sources,
    begun: DateTime<Utc>,
    time_budget: Option<TimeDelta>,
    size: NonZeroU32,
    min_size: u32,
}

impl<'a> Batches<'a> {
    pub(super) fn begin(sources: &'a Sources, size: NonZeroU32, time_budget: Option<TimeDelta>) -> Self {
        Self {
            sources,
            begun: sources.now(),
            time_budget,
            size,
            min_size: size.get() / 16,
        }
    }

    /// The number of keys of the next batch.
    pub(super) const fn size(&self) -> NonZeroU32 {
        self.size
    }

    /// Allows another batch unless the time budget is used up.
    pub(super) fn check_time<E>(&self) -> Result<(), StopReason<E>> {
        let used = self.sources.now() - self.begun;
        match self.time_budget {
            // A clock that was set back does not say how much.
            Some(budget) if used >= budget || used < TimeDelta::zero() => Err(StopReason::TimeBudgetExceeded),
            Some(_) | None => Ok(()),
        }
    }

    /// Allows to repeat a failed batch with half as many keys if the store did not answer: a slow one may
    /// have too little time for a full batch, however often it is repeated.
    pub(super) fn repeat_smaller<E>(&mut self, error: E, is_outage: bool) -> Result<(), StopReason<E>> {
        let half = NonZeroU32::new(self.size.get() / 2).filter(|half| half.get() >= self.min_size);
        match half {
            Some(half) if is_outage && self.check_time::<E>().is_ok() => {
                self.size = half;
                Ok(())
            }
            Some(_) | None => Err(StopReason::Refused(error)),
        }
    }
}
