//! The removal of what is kept no longer, at a pace that leaves the database to others.

use std::time::Duration;

use keyward_domain::retention::{ClockDoubt, Outlived, RemoveOutlivedError, Retention, RetentionRun};
use tokio::time::Instant;

use crate::program;

/// The shortest pause between two portions.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);

/// The most portions that are not full. After one there may be more to remove, since a store takes fewer where each gives
/// it much to do; but what becomes too old meanwhile, a little all the time, must not keep a removal from its end.
pub(crate) const MOST_SMALL_PORTIONS: u32 = 100;

/// How often in a row a portion may fail. Each is half of the one before: 500, 250, … 1, 1.
pub(crate) const MOST_FAILURES: u32 = 10;

/// Removes one kind of what is over, portion by portion.
pub(crate) struct Removal<'a> {
    run: &'a mut RetentionRun,
    kind: Outlived,
    removed: u64,
    portion: u32,
    small_portions: u32,
    failures: u32,
}

impl<'a> Removal<'a> {
    /// Has removed nothing yet.
    pub(crate) const fn of(kind: Outlived, run: &'a mut RetentionRun) -> Self {
        Self {
            run,
            kind,
            removed: 0,
            portion: Retention::PORTION,
            small_portions: 0,
            failures: 0,
        }
    }

    /// How many were removed so far.
    pub(crate) const fn removed(&self) -> u64 {
        self.removed
    }

    /// Removes a portion, and says how long to leave the database to others before the next; none when it was the last.
    ///
    /// The pause is as long as the portion took, so that at most half of the time of a database's only writer is taken. A
    /// portion that was too much for the database, or came at a bad time, is tried again, and half of it.
    pub(crate) async fn next_portion(&mut self) -> Result<Option<Duration>, RemoveOutlivedError> {
        let begun = Instant::now();
        let outcome = self.run.remove_some(self.kind, self.portion).await;
        let pause = begun.elapsed().max(SHORTEST_PAUSE);
        let removed = match outcome {
            Ok(removed) => removed,
            Err(error) if may_pass(&error) && self.failures + 1 < MOST_FAILURES => {
                self.failures += 1;
                self.portion = (self.portion / 2).max(1);
                // Whatever is in the way gets more time with each failure.
                return Ok(Some(pause * 2_u32.pow(self.failures.min(4))));
            }
            Err(error) => return Err(error),
        };
        self.failures = 0;
        self.removed += u64::from(removed);
        self.small_portions += u32::from(removed < self.portion);
        let is_last = removed == 0 || self.small_portions == MOST_SMALL_PORTIONS;
        Ok((!is_last).then_some(pause))
    }
}

fn may_pass(error: &RemoveOutlivedError) -> bool {
    matches!(error, RemoveOutlivedError::Storage(error) if error.is_outage())
}

/// Why nothing is removed, and what to do about it.
pub(crate) fn doubt_about_clock(doubt: &ClockDoubt) -> String {
    match doubt {
        ClockDoubt::Differs { .. } => doubt.to_string(),
        ClockDoubt::Leapt { .. } => format!(
            "{doubt}: set it if it is wrong; if it is right, run `{} clean-up --clock-is-right` once",
            program::name()
        ),
    }
}
