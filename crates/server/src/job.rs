//! Background jobs: work in runs, until the server ends.

use std::ops::ControlFlow;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tracing::{error, warn};

/// How long shutdown waits for the current batch. An interrupted batch is rolled back.
pub(crate) const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Signals a job to end.
pub(crate) type End = watch::Receiver<()>;

/// A job at work.
pub(crate) struct RunningJob {
    name: &'static str,
    /// Dropped to ask for the end.
    end: watch::Sender<()>,
    task: JoinHandle<()>,
}

/// One run of the background task of this name. `None` if it panicked, which is logged: the task continues
/// with its next run. So all state of a run MUST be left usable when the run is dropped.
pub(crate) async fn supervised<T>(task: &'static str, run: impl Future<Output = T>) -> Option<T> {
    let ended = AssertUnwindSafe(run).catch_unwind().await;
    if ended.is_err() {
        error!(task, "background task panicked; it continues with its next run");
    }
    ended.ok()
}

/// Starts a job, which the log calls by its name. If it panics outside of a [supervised] run, that is logged
/// at once.
pub(crate) fn start<W>(name: &'static str, work: impl FnOnce(End) -> W) -> RunningJob
where
    W: Future<Output = ()> + Send + 'static,
{
    let (end, ended) = watch::channel(());
    let work = tokio::spawn(work(ended));
    let task = tokio::spawn(async move {
        if let Err(error) = work.await {
            error!(
                job = name,
                %error,
                "background job stopped: panic; restart the server"
            );
        }
    });
    RunningJob { name, end, task }
}

/// Lets this much time pass, unless the job is asked to end before.
pub(crate) async fn rest(time: Duration, end: &mut End) -> ControlFlow<()> {
    match timeout(time, end.changed()).await {
        Ok(_) => ControlFlow::Break(()),
        Err(_) => ControlFlow::Continue(()),
    }
}

impl RunningJob {
    /// Stops after the current batch.
    pub(crate) async fn finish(self) {
        let job = self.name;
        drop(self.end);
        match timeout(SHUTDOWN_TIMEOUT, self.task).await {
            Ok(_) => {}
            Err(_) => warn!(job, "background job cut off at shutdown"),
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::logging::tests::Lines;

    #[tokio::test]
    async fn panic_of_a_job_is_logged_at_once() {
        let (lines, subscribed) = Lines::of_this_thread();
        let job = start("of_a_test", async |_| assert!(std::hint::black_box(false)));
        while !job.task.is_finished() {
            tokio::task::yield_now().await;
        }
        drop(subscribed);
        let text = lines.text();
        assert!(
            text.contains("background job stopped")
                && text.contains("of_a_test")
                && text.contains("panicked"),
            "{text}"
        );
    }
}
