//! Background writers: write records that requests left in memory, until the server ends.

use std::sync::Arc;
use std::time::Duration;

use keyward_domain::failure_sentence::sentence;
use keyward_domain::ports::StorageError;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tracing::{Instrument as _, debug, info, warn};

use crate::job::supervised;
use crate::runs::{MeasuredTask, Runs};
use crate::traces::task_span;

/// The interval between writes, also after a failure.
pub(crate) const WRITE_INTERVAL: Duration = Duration::from_secs(5);

/// How long shutdown waits for the remaining records.
pub(crate) const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause between two attempts to write the remaining records.
const PAUSE_AT_SHUTDOWN: Duration = Duration::from_millis(500);

/// Writes one kind of records.
pub(crate) trait BackgroundWriter: Send + Sync + 'static {
    /// The name of the records in log lines: a plural.
    const RECORDS: &'static str;

    /// The name of the task in metrics.
    const TASK: &'static str;

    /// Writes the due records and returns their number. Records that an unavailable store did not accept, or
    /// that were being written when it panicked, MUST become due again.
    fn write(&self) -> impl Future<Output = Result<usize, StorageError>> + Send;

    /// Writes all that is left when the server ends.
    fn write_last(&self) -> impl Future<Output = Result<usize, StorageError>> + Send {
        self.write()
    }

    /// The number of records not yet confirmed as written.
    fn unwritten(&self) -> usize;
}

/// A writer at work.
pub(crate) struct RunningWriter {
    records: &'static str,
    unwritten: Arc<dyn Fn() -> usize + Send + Sync>,
    runs: Arc<Runs>,
    end: oneshot::Sender<()>,
    task: JoinHandle<Result<usize, StorageError>>,
}

/// Starts the writer's task.
pub(crate) fn start<W: BackgroundWriter>(writer: W) -> RunningWriter {
    let (end, ended) = oneshot::channel();
    let writer = Arc::new(writer);
    let counted = Arc::clone(&writer);
    let runs = Runs::of(W::TASK);
    RunningWriter {
        records: W::RECORDS,
        unwritten: Arc::new(move || counted.unwritten()),
        end,
        task: tokio::spawn(run(writer, ended, Arc::clone(&runs))),
        runs,
    }
}

async fn run<W: BackgroundWriter>(
    writer: Arc<W>,
    mut ended: oneshot::Receiver<()>,
    runs: Arc<Runs>,
) -> Result<usize, StorageError> {
    let mut ticks = interval(WRITE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_failing = false;
    loop {
        // Only the waiting is cut short, never a write.
        tokio::select! {
            biased;
            _ = &mut ended => break,
            _ = ticks.tick() => {}
        }
        let run = async {
            let begun = Instant::now();
            match supervised(W::RECORDS, writer.write()).await {
                Some(written) => {
                    is_failing = report::<W>(&written, is_failing);
                    runs.add(begun, written.map(as_count));
                }
                None => runs.add_panicked(),
            }
        };
        run.instrument(task_span(W::TASK)).await;
    }
    write_remaining(&*writer).await
}

/// A store that is away for a moment, as during a failover, costs no records.
async fn write_remaining<W: BackgroundWriter>(writer: &W) -> Result<usize, StorageError> {
    let begun = Instant::now();
    loop {
        let written = writer.write_last().await;
        let is_late = begun.elapsed() + PAUSE_AT_SHUTDOWN >= SHUTDOWN_TIMEOUT;
        if written.is_ok() || writer.unwritten() == 0 || is_late {
            return written;
        }
        sleep(PAUSE_AT_SHUTDOWN).await;
    }
}

/// `usize` has at most 64 bits.
fn as_count(records: usize) -> u64 {
    u64::try_from(records).unwrap_or(u64::MAX)
}

/// Logs the begin and the end of a series of failures. Returns whether it fails now.
fn report<W: BackgroundWriter>(written: &Result<usize, StorageError>, was_failing: bool) -> bool {
    let records = W::RECORDS;
    match written {
        Ok(0) => return was_failing,
        Ok(_) if was_failing => info!(records, "background writes work again"),
        Ok(count) => debug!(records, count, "background write done"),
        Err(error) if !was_failing => warn!(
            records,
            cause = sentence(error),
            "background write failed; keeping records in memory, except those that the storage rejects"
        ),
        Err(_) => {}
    }
    written.is_err()
}

impl RunningWriter {
    /// How its runs went, and how many records wait, for metrics.
    pub(crate) fn measured(&self) -> MeasuredTask {
        MeasuredTask {
            runs: Arc::clone(&self.runs),
            waiting: Some(Arc::clone(&self.unwritten)),
        }
    }

    /// Writes the remaining records and stops. Logs and returns the number of lost records.
    pub(crate) async fn finish(self) -> usize {
        let records = self.records;
        // If the writer is gone already, the task says why.
        let _ = self.end.send(());
        let cause = match timeout(SHUTDOWN_TIMEOUT, self.task).await {
            Ok(Ok(Ok(_))) => None,
            Ok(Ok(Err(error))) => Some(sentence(&error)),
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("the storage does not answer".to_owned()),
        };
        let lost = (self.unwritten)();
        if lost > 0 {
            let cause = cause.unwrap_or_else(|| "the storage rejected them".to_owned());
            warn!(records, lost, cause, "records lost at shutdown");
        }
        lost
    }
}
