//! Purges one class of records, in batches with pauses for other users of the database.

use std::time::Duration;

use keyward_domain::retention::{ClockDoubt, Retention, RetentionClass, RetentionError, RetentionRun};
use tokio::time::Instant;

use crate::program;

/// The minimum pause between two batches.
const MIN_PAUSE: Duration = Duration::from_millis(50);

/// The maximum number of batches that are not full. A store may return a smaller batch although more records
/// are left; but records that expire during the purge must not keep it from ending.
pub(crate) const MAX_SMALL_BATCHES: u32 = 100;

/// How often in a row a batch may fail. Each retry is half the size: 500, 250, … 1, 1.
pub(crate) const MAX_FAILURES: u32 = 10;

/// The purge of one class of records.
pub(crate) struct Purge<'a> {
    run: &'a mut RetentionRun,
    kind: RetentionClass,
    removed: u64,
    batch_size: u32,
    small_batches: u32,
    failures: u32,
    /// Why the first membership was skipped whose keys could not be purged.
    skipped_because: Option<RetentionError>,
}

impl<'a> Purge<'a> {
    /// A purge that has not started.
    pub(crate) const fn of(kind: RetentionClass, run: &'a mut RetentionRun) -> Self {
        Self {
            run,
            kind,
            removed: 0,
            batch_size: Retention::BATCH_SIZE,
            small_batches: 0,
            failures: 0,
            skipped_because: None,
        }
    }

    /// The number of records purged so far.
    pub(crate) const fn removed(&self) -> u64 {
        self.removed
    }

    /// Purges a batch, and returns the pause before the next one; `None` after the last.
    ///
    /// The pause is as long as the batch took, so that the purge occupies a database's only writer at most
    /// half of the time. A batch that fails because the database is overloaded or unavailable is retried with
    /// half its size. If surplus keys of one membership cannot be purged, those of the others are, and the
    /// error is returned at the end.
    pub(crate) async fn next_batch(&mut self) -> Result<Option<Duration>, RetentionError> {
        let begun = Instant::now();
        let outcome = self.run.remove_batch(self.kind, self.batch_size).await;
        let pause = begun.elapsed().max(MIN_PAUSE);
        let removed = match outcome {
            Ok(removed) => removed,
            Err(error) if is_temporary(&error) && self.failures + 1 < MAX_FAILURES => {
                self.failures += 1;
                self.batch_size = (self.batch_size / 2).max(1);
                // The pause doubles with each failure.
                return Ok(Some(pause * 2_u32.pow(self.failures.min(4))));
            }
            Err(error) if self.run.skip_failed_membership(self.kind) => {
                // Until a batch succeeds, one failure is enough to skip the next one.
                self.batch_size = Retention::BATCH_SIZE;
                self.skipped_because.get_or_insert(error);
                return Ok(Some(pause));
            }
            Err(error) => return Err(error),
        };
        self.failures = 0;
        self.removed += u64::from(removed);
        self.small_batches += u32::from(removed < self.batch_size);
        let is_last = removed == 0 || self.small_batches == MAX_SMALL_BATCHES;
        match self.skipped_because.take_if(|_| is_last) {
            Some(error) => Err(error),
            None => Ok((!is_last).then_some(pause)),
        }
    }
}

fn is_temporary(error: &RetentionError) -> bool {
    matches!(error, RetentionError::Storage(error) if error.is_outage())
}

/// Why nothing is purged, and what the administrator can do.
pub(crate) fn describe_clock_doubt(doubt: &ClockDoubt) -> String {
    match doubt {
        ClockDoubt::Differs { .. } => doubt.to_string(),
        ClockDoubt::Jumped { .. } => format!(
            "{doubt}: set it if it is wrong; if it is right, run `{} --clock-is-right` once",
            program::command_on_this_database("clean-up")
        ),
    }
}
