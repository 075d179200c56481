//! The results of background tasks, for metrics.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use keyward_domain::clock::Clock;
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::Span;

use crate::clock::SystemClock;

/// The runs of one task since the start of the process.
pub(crate) struct Runs {
    task: &'static str,
    clock: Arc<dyn Clock>,
    summary: Mutex<RunSummary>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RunSummary {
    /// The end of the last run in which nothing failed.
    pub(crate) last_success: Option<DateTime<Utc>>,
    /// How long the last run took, failed or not.
    pub(crate) last_duration: Option<Duration>,
    /// The number of runs in which something failed.
    pub(crate) failures: u64,
    /// The number of records that all runs wrote or removed.
    pub(crate) records: u64,
}

/// A task as metrics show it.
pub(crate) struct MeasuredTask {
    pub(crate) runs: Arc<Runs>,
    /// The number of records that wait to be written, for a task that writes what requests recorded in
    /// memory.
    pub(crate) waiting: Option<Arc<dyn Fn() -> usize + Send + Sync>>,
}

impl From<Arc<Runs>> for MeasuredTask {
    fn from(runs: Arc<Runs>) -> Self {
        Self { runs, waiting: None }
    }
}

impl Runs {
    /// No runs yet, of a task with this name in metrics.
    pub(crate) fn of(task: &'static str) -> Arc<Self> {
        Self::with_clock(task, Arc::new(SystemClock))
    }

    fn with_clock(task: &'static str, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            task,
            clock,
            summary: Mutex::default(),
        })
    }

    /// Adds a run that is over: with how many records, if nothing failed.
    pub(crate) fn add<E>(&self, begun: Instant, outcome: Result<u64, E>) {
        let now = self.clock.now();
        if outcome.is_err() {
            // Of the task's trace, if it has one; no other span of these tasks has the field.
            Span::current().record("otel.status_code", "ERROR");
        }
        let mut summary = self.summary.lock();
        summary.last_duration = Some(begun.elapsed());
        match outcome {
            Ok(records) => {
                summary.last_success = Some(now);
                summary.records = summary.records.saturating_add(records);
            }
            Err(_) => summary.failures = summary.failures.saturating_add(1),
        }
    }

    /// Adds a run that ended by a panic: how long it took is not known.
    pub(crate) fn add_panicked(&self) {
        let mut summary = self.summary.lock();
        summary.failures = summary.failures.saturating_add(1);
    }

    pub(crate) const fn task(&self) -> &'static str {
        self.task
    }

    pub(crate) fn summary(&self) -> RunSummary {
        *self.summary.lock()
    }
}

#[cfg(test)]
mod tests {
    use keyward_domain::testing::FixedClock;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn failed_run_keeps_the_last_success() {
        let runs = Runs::with_clock("retention", Arc::new(FixedClock::default()));
        assert_eq!(runs.summary(), RunSummary::default());
        let begun = Instant::now();
        tokio::time::advance(Duration::from_secs(2)).await;
        runs.add(begun, Ok::<_, ()>(7));
        let success = runs.summary();
        assert_eq!((success.records, success.failures), (7, 0));
        assert_eq!(success.last_duration, Some(Duration::from_secs(2)));
        assert!(success.last_success.is_some());
        runs.add(Instant::now(), Err(()));
        let failure = RunSummary {
            last_duration: Some(Duration::ZERO),
            failures: 1,
            ..success
        };
        assert_eq!(runs.summary(), failure);
    }
}
