//! Records planned ends that have come, beside the requests.
//!
//! Any number of servers on one database do so at once.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use keyward_domain::failure_sentence::sentence;
use keyward_domain::planned_ends::{PlannedEnds, RecordEndsError};
use tokio::time::Instant;
use tracing::{Instrument as _, info, warn};

use crate::job::{self, End, RunningJob, rest, supervised};
use crate::purge::describe_clock_doubt;
use crate::runs::Runs;
use crate::traces::task_span;

/// How long to rest between two runs: with the run itself, an end is recorded within a minute of its moment.
const REST: Duration = Duration::from_secs(30);

/// The shortest pause between two batches. The pause is as long as the batch took, so that at most half of
/// the time of a database's only writer is taken.
const MIN_PAUSE: Duration = Duration::from_millis(50);

/// Records planned ends, run after run.
pub(crate) struct PlannedEndJob {
    ends: PlannedEnds,
    /// Why the last run stopped, as it was logged.
    failing: Option<String>,
    runs: Arc<Runs>,
}

impl PlannedEndJob {
    pub(crate) fn new(ends: PlannedEnds) -> Self {
        Self {
            ends,
            failing: None,
            runs: Runs::of("planned_ends"),
        }
    }

    /// How its runs went.
    pub(crate) fn runs(&self) -> Arc<Runs> {
        Arc::clone(&self.runs)
    }

    /// Records planned ends that have come: at once, and then twice a minute.
    pub(crate) fn start(mut self) -> RunningJob {
        job::start("planned ends", |mut end| async move {
            loop {
                let span = task_span(self.runs.task());
                let run = supervised("planned ends", self.run(&mut end));
                match run.instrument(span).await {
                    Some(ControlFlow::Break(())) => break,
                    Some(ControlFlow::Continue(())) => {}
                    None => self.runs.add_panicked(),
                }
                if rest(REST, &mut end).await.is_break() {
                    break;
                }
            }
        })
    }

    /// Batch after batch, until nothing is due or it is asked to end.
    async fn run(&mut self, end: &mut End) -> ControlFlow<()> {
        let started = Instant::now();
        let (mut recorded, mut batch_size) = (0_u64, PlannedEnds::BATCH_SIZE);
        let outcome = loop {
            let begun = Instant::now();
            match self.ends.record_some(batch_size).await {
                Ok(0) => break Ok(()),
                Ok(some) => {
                    recorded += u64::from(some);
                    batch_size = (batch_size * 2).min(PlannedEnds::BATCH_SIZE);
                }
                // A slow database may have too little time for a full batch, however often it is repeated.
                Err(RecordEndsError::Storage(error)) if error.is_outage() && batch_size > 1 => {
                    batch_size /= 2;
                }
                Err(error) => break Err(error),
            }
            if rest(begun.elapsed().max(MIN_PAUSE), end).await.is_break() {
                return ControlFlow::Break(());
            }
        };
        if recorded > 0 {
            info!(recorded, "planned ends recorded");
        }
        self.runs.add(started, outcome.as_ref().map(|()| recorded));
        self.report(outcome);
        ControlFlow::Continue(())
    }

    /// One line when it begins to fail or fails for another reason, and one when it works again.
    fn report(&mut self, outcome: Result<(), RecordEndsError>) {
        let (cause, line) = match outcome {
            Ok(()) => {
                if self.failing.take().is_some() {
                    info!("recording planned ends works again");
                }
                return;
            }
            // Its log line contains the time, so repetitions are recognized by a fixed text.
            Err(RecordEndsError::Clock(doubt)) => ("clock".to_owned(), describe_clock_doubt(&doubt)),
            Err(error @ RecordEndsError::Storage(_)) => ("storage".to_owned(), sentence(&error)),
        };
        if self.failing.as_ref() != Some(&cause) {
            warn!(
                cause = line,
                retry_seconds = REST.as_secs(),
                hint = "servers with correct clocks refuse expired keys anyway",
                "recording planned ends failed"
            );
        }
        self.failing = Some(cause);
    }
}

#[cfg(test)]
mod tests;
