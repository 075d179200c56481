//! Reports uses of keys that no longer work, beside the requests.

use std::sync::Arc;
use std::time::Duration;

use keyward_domain::failure_sentence::sentence;
use keyward_domain::ports::StorageError;
use keyward_domain::refused_uses::{RefusedUseReports, RefusedUses};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tracing::{debug, info, warn};

/// How often what is due is written.
const EVERY: Duration = Duration::from_secs(5);

/// How long the process stays for what is left to write when it ends.
const LAST_PATIENCE: Duration = Duration::from_secs(5);

/// Writes what [`RefusedUses`] has noted to the audit log.
pub(crate) struct RefusedUseWriter {
    uses: Arc<RefusedUses>,
    reports: RefusedUseReports,
    is_failing: bool,
}

/// A writer at work.
pub(crate) struct RunningWriter {
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl RefusedUseWriter {
    pub(crate) const fn new(uses: Arc<RefusedUses>, reports: RefusedUseReports) -> Self {
        Self {
            uses,
            reports,
            is_failing: false,
        }
    }

    /// Writes every few seconds from now on.
    pub(crate) fn start(self) -> RunningWriter {
        let (end, ended) = oneshot::channel();
        let task = tokio::spawn(self.run(ended));
        RunningWriter { end, task }
    }

    async fn run(mut self, mut ended: oneshot::Receiver<()>) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            // Only the waiting is cut short, never a write.
            tokio::select! {
                biased;
                _ = &mut ended => break,
                _ = ticks.tick() => self.write().await,
            }
        }
        self.write().await;
    }

    async fn write(&mut self) {
        let written = self.reports.write().await;
        self.report(written);
        let passed_over = self.uses.take_passed_over();
        if passed_over > 0 {
            warn!(
                passed_over,
                "more keys that no longer work are used than fit in memory: some uses are not in the audit log"
            );
        }
    }

    /// One line when it begins to fail, and one when it works again.
    fn report(&mut self, written: Result<usize, StorageError>) {
        match &written {
            Ok(_) if self.is_failing => info!("uses of keys that no longer work are reported again"),
            Ok(0) => {}
            Ok(events) => debug!(events, "reported uses of keys that no longer work"),
            Err(error) if !self.is_failing => warn!(
                cause = sentence(error),
                "uses of keys that no longer work cannot be reported, and wait in memory"
            ),
            Err(_) => {}
        }
        self.is_failing = written.is_err();
    }
}

impl RunningWriter {
    /// Writes what is left, and ends.
    pub(crate) async fn finish(self) {
        // If the writer is gone already, the task says why.
        let _ = self.end.send(());
        match timeout(LAST_PATIENCE, self.task).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!(%error, "uses of keys that no longer work were not all reported"),
            Err(_) => warn!("uses of keys that no longer work were not all reported in time"),
        }
    }
}
