//! The background job that purges expired records.
//!
//! Any number of servers on one database may run it at once.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use keyward_domain::failure_sentence::sentence;
use keyward_domain::ports::StorageError;
use keyward_domain::retention::{Retention, RetentionClass, RetentionError};
use tokio::time::Instant;
use tracing::{Instrument as _, info, warn};

use crate::job::{self, End, RunningJob, rest, supervised};
use crate::program;
use crate::purge::{Purge, describe_clock_doubt};
use crate::runs::Runs;
use crate::traces::task_span;

/// The interval between two runs. The shortest retention period is a day.
const RUN_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// The interval after a run in which something failed.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// Purges expired records, in regular runs.
pub(crate) struct RetentionJob {
    retention: Retention,
    /// The classes that the last run could not purge.
    failing: HashSet<RetentionClass>,
    /// The last run could not check the clock.
    cannot_begin: bool,
    has_logged_missing_right: bool,
    runs: Arc<Runs>,
}

impl RetentionJob {
    pub(crate) fn new(retention: Retention) -> Self {
        Self {
            retention,
            failing: HashSet::new(),
            cannot_begin: false,
            has_logged_missing_right: false,
            runs: Runs::of("retention"),
        }
    }

    /// How its runs went.
    pub(crate) fn runs(&self) -> Arc<Runs> {
        Arc::clone(&self.runs)
    }

    /// Removes expired records at once, and then once an hour, or sooner after a failure.
    pub(crate) fn start(mut self) -> RunningJob {
        job::start("retention", |mut end| async move {
            loop {
                let span = task_span(self.runs.task());
                let run = supervised("retention", self.run(&mut end));
                match run.instrument(span).await {
                    Some(ControlFlow::Break(())) => break,
                    Some(ControlFlow::Continue(())) => {}
                    None => self.runs.add_panicked(),
                }
                let rest_for = if self.failing.is_empty() && !self.cannot_begin {
                    RUN_INTERVAL
                } else {
                    RETRY_INTERVAL
                };
                if rest(rest_for, &mut end).await.is_break() {
                    break;
                }
            }
        })
    }

    /// One run through everything.
    async fn run(&mut self, end: &mut End) -> ControlFlow<()> {
        let begun = Instant::now();
        let mut run = match self.retention.begin().await {
            Ok(run) => run,
            Err(error) => {
                self.log_start_failure(&error);
                self.runs.add(begun, Err(error));
                return ControlFlow::Continue(());
            }
        };
        self.cannot_begin = false;
        let mut failures = Vec::new();
        let mut removed_in_all = 0;
        for kind in RetentionClass::ALL {
            let before = run.cutoff(*kind);
            let mut purge = Purge::of(*kind, &mut run);
            let outcome = purge_all(&mut purge, end).await;
            let removed = purge.removed();
            removed_in_all += removed;
            if removed > 0 {
                info!(
                    kind = kind.as_str(),
                    removed,
                    over_before = before.map(in_words),
                    "removed expired records"
                );
            }
            match outcome {
                Ok(is_asked_to_end) => is_asked_to_end?,
                Err(RetentionError::NotAllowed) => self.log_not_allowed(),
                Err(RetentionError::Storage(error)) => failures.push((*kind, error)),
                // Cannot happen: the clock was looked at before.
                Err(RetentionError::Clock(_)) => {}
            }
        }
        self.report(&failures);
        let outcome = if failures.is_empty() {
            Ok(removed_in_all)
        } else {
            Err(failures)
        };
        self.runs.add(begun, outcome);
        ControlFlow::Continue(())
    }

    /// Logs a doubt about the clock every hour, until it is resolved, but a database that does not answer
    /// only once.
    fn log_start_failure(&mut self, error: &RetentionError) {
        match error {
            RetentionError::Clock(doubt) => {
                // The database answers; other causes may still fail.
                self.cannot_begin = false;
                self.failing.clear();
                warn!(
                    cause = describe_clock_doubt(doubt),
                    "retention paused: the clock may be wrong"
                );
            }
            RetentionError::Storage(_) | RetentionError::NotAllowed => {
                if !self.cannot_begin {
                    warn!(cause = sentence(error), "retention failed; retrying every minute");
                }
                self.cannot_begin = true;
            }
        }
    }

    /// Logged once, because only an administrator can resolve it.
    fn log_not_allowed(&mut self) {
        if !self.has_logged_missing_right {
            warn!(
                "old audit events cannot be removed, because this server's database role can only add events: run `{}` \
                 regularly, with the same options, and with the URL of the role that owns the tables in \
                 KEYWARD_MIGRATION_DATABASE_URL",
                program::command_on_this_database("clean-up")
            );
        }
        self.has_logged_missing_right = true;
    }

    /// One line when something begins to fail, and one when everything works again.
    fn report(&mut self, failures: &[(RetentionClass, StorageError)]) {
        let mut new = failures.iter().filter(|(kind, _)| !self.failing.contains(kind));
        match new.next() {
            Some((kind, error)) => warn!(
                kind = kind.as_str(),
                others = new.count(),
                cause = sentence(error),
                "retention failed; retrying every minute"
            ),
            None if failures.is_empty() && !self.failing.is_empty() => {
                info!("retention works again");
            }
            None => {}
        }
        self.failing = failures.iter().map(|(kind, _)| *kind).collect();
    }
}

fn in_words(moment: DateTime<Utc>) -> String {
    moment.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Purges batches until none is left or the job is stopped. Stopping interrupts pauses, never a batch.
async fn purge_all(purge: &mut Purge<'_>, end: &mut End) -> Result<ControlFlow<()>, RetentionError> {
    let mut pause = Some(Duration::ZERO);
    while let Some(time) = pause {
        if rest(time, end).await.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        pause = purge.next_batch().await?;
    }
    Ok(ControlFlow::Continue(()))
}

#[cfg(test)]
mod tests;
