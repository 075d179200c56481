//! Logs storage outages: one line at the begin and one at the end, with the number of failed requests,
//! instead of one line per request.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use keyward_domain::failure_sentence::sentence;
use keyward_domain::ports::StorageError;
use keyward_verification_cache::Count;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use tracing::{error, info};

use crate::job::supervised;

/// The interval between checks whether the storage is available again.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

type Probe = dyn Fn() -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync;

/// The present outage of the storage, if there is one, and the counts of failures.
#[derive(Clone)]
pub(crate) struct Outages {
    /// Whether the storage answers and accepts changes.
    probe: Arc<Probe>,
    current: Arc<Mutex<Option<Outage>>>,
    failures: Arc<DatabaseFailures>,
}

/// Requests that failed since the start of the process because the database did not answer.
#[derive(Default)]
pub(crate) struct DatabaseFailures {
    /// Requests that changed nothing.
    pub(crate) unavailable: Count,
    /// Requests that may have changed something.
    pub(crate) outcome_unknown: Count,
}

/// One that has not ended.
struct Outage {
    since: Instant,
    failed_requests: u64,
}

impl Outages {
    pub(crate) fn new<P: Future<Output = bool> + Send + 'static>(
        probe: impl Fn() -> P + Send + Sync + 'static,
    ) -> Self {
        Self {
            probe: Arc::new(move || Box::pin(probe())),
            current: Arc::default(),
            failures: Arc::default(),
        }
    }

    /// All failures, including those of past outages.
    pub(crate) fn failures(&self) -> Arc<DatabaseFailures> {
        Arc::clone(&self.failures)
    }

    /// Records a request that failed because of the storage.
    pub(crate) fn request_failed(&self, cause: &StorageError) {
        self.failures.count(cause);
        let mut current = self.current.lock();
        if let Some(outage) = &mut *current {
            outage.failed_requests = outage.failed_requests.saturating_add(1);
            return;
        }
        *current = Some(Outage {
            since: Instant::now(),
            failed_requests: 1,
        });
        drop(current);
        error!(cause = sentence(cause), "storage unavailable");
        tokio::spawn(self.clone().watch());
    }

    /// Waits for its end.
    async fn watch(self) {
        loop {
            sleep(PROBE_INTERVAL).await;
            if supervised("outage probe", async { (self.probe)().await }).await == Some(true) {
                break;
            }
        }
        if let Some(Outage {
            since,
            failed_requests,
        }) = self.current.lock().take()
        {
            let seconds = since.elapsed().as_secs_f64();
            info!(failed_requests, seconds, "storage available again");
        }
    }
}

impl DatabaseFailures {
    fn count(&self, cause: &StorageError) {
        let counter = match cause {
            StorageError::Unavailable(_) => &self.unavailable,
            StorageError::OutcomeUnknown(_) => &self.outcome_unknown,
            // No outage; the log has each of them, and the request was answered with 500.
            StorageError::Corrupt { .. } | StorageError::Defect(_) => return,
        };
        counter.add(1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::logging::tests::Lines;

    #[tokio::test(start_paused = true)]
    async fn probe_that_panics_leaves_the_outage_to_the_next() {
        let (log, _guard) = Lines::of_this_thread();
        let has_panicked = AtomicBool::new(false);
        let outages = Outages::new(move || {
            assert!(has_panicked.swap(true, Ordering::Relaxed), "a defect");
            std::future::ready(true)
        });
        outages.request_failed(&StorageError::Unavailable("connection refused".into()));
        sleep(Duration::from_secs(3)).await;
        assert!(log.text().contains("storage available again"), "{}", log.text());
    }

    #[tokio::test(start_paused = true)]
    async fn outage_is_logged_at_start_and_end_with_failed_requests() {
        let (log, _guard) = Lines::of_this_thread();
        let is_back = Arc::new(AtomicBool::new(false));
        let outages = Outages::new({
            let is_back = Arc::clone(&is_back);
            move || std::future::ready(is_back.load(Ordering::Relaxed))
        });
        let cause = StorageError::Unavailable("connection refused".into());
        for _ in 0..1_000 {
            outages.request_failed(&cause);
        }
        sleep(Duration::from_secs(5)).await;
        outages.request_failed(&cause);
        assert_eq!(log.text().lines().count(), 1, "{}", log.text());
        assert_eq!(log.text().matches("connection refused").count(), 1);

        is_back.store(true, Ordering::Relaxed);
        sleep(Duration::from_secs(2)).await;
        let text = log.text();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.contains("failed_requests=1001"), "{text}");
        // The next one is reported again.
        outages.request_failed(&cause);
        assert_eq!(log.text().lines().count(), 3);
        outages.request_failed(&StorageError::OutcomeUnknown("connection reset".into()));
        let failures = outages.failures();
        assert_eq!(
            (failures.unavailable.get(), failures.outcome_unknown.get()),
            (1_002, 1)
        );
    }
}
