//! The verification cache of this server: polls what changed, beside the requests, and keeps the lease.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use keyward_domain::access_changes::{ChangeNumber, ReplicaId};
use keyward_domain::failure_sentence::sentence;
use keyward_domain::ports::{AccessChanges, StorageError};
use keyward_verification_cache::{BootClock, Count, Emptied, Next, Replica, VerificationCache};
use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::job::{self, End, RunningJob, supervised};
use crate::runs::Runs;

/// How long to rest between two polls: a lease survives several that fail.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The name of this job in log lines.
const CACHE: &str = "verification cache";

/// How long to rest after a panic.
const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// Polls until it is asked to end. After a panic, it starts again with an empty cache, as PostgreSQL restarts
/// its own processes.
pub(crate) struct ReplicaJob {
    changes: Arc<dyn AccessChanges>,
    clock: Arc<dyn BootClock>,
    cache: Arc<VerificationCache>,
    id: ReplicaId,
    /// The name by which people recognize it.
    name: String,
    /// Notified by this process's own changes.
    wake: Arc<Notify>,
    runs: Arc<Runs>,
    progress: Arc<Progress>,
}

/// The results of the polls of this process, for metrics.
#[derive(Default)]
pub(crate) struct Progress {
    acknowledged: AtomicU64,
    /// The number of changes whose entries it has evicted.
    pub(crate) evictions: Count,
    /// How often it has emptied the cache.
    pub(crate) emptied: Count,
}

/// The work, until it panics.
struct Polling {
    job: Arc<ReplicaJob>,
    replica: Replica,
    is_failing: bool,
}

impl ReplicaJob {
    pub(crate) fn new(
        changes: Arc<dyn AccessChanges>,
        clock: Arc<dyn BootClock>,
        cache: Arc<VerificationCache>,
        wake: Arc<Notify>,
        id: ReplicaId,
        name: String,
    ) -> Self {
        Self {
            changes,
            clock,
            cache,
            id,
            name,
            wake,
            runs: Runs::of("verification_cache"),
            progress: Arc::default(),
        }
    }

    /// How its polls went.
    pub(crate) fn runs(&self) -> Arc<Runs> {
        Arc::clone(&self.runs)
    }

    /// The results of its polls.
    pub(crate) fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    pub(crate) fn start(self) -> RunningJob {
        let this = Arc::new(self);
        job::start(CACHE, |mut end| async move {
            while supervised(CACHE, Polling::new(&this).until(end.clone()))
                .await
                .is_none()
            {
                // Ends the lease: until it begins again, every verification asks the database.
                let idle = Polling::new(&this);
                this.runs.add_panicked();
                if job::rest(RESTART_PAUSE, &mut end).await.is_break() {
                    return idle.leave().await;
                }
            }
        })
    }
}

impl Polling {
    /// With an empty cache and without a lease.
    fn new(job: &Arc<ReplicaJob>) -> Self {
        Self {
            job: Arc::clone(job),
            replica: Replica::new(Arc::clone(&job.cache)),
            is_failing: false,
        }
    }

    /// Polls until it is asked to end, and is then removed from the replicas: revocations wait for one that
    /// is not.
    async fn until(mut self, mut end: End) {
        loop {
            let begun = Instant::now();
            let round = self.round().await;
            self.job.runs.add(begun, round.as_ref().map(|()| 0));
            self.report(round);
            tokio::select! {
                biased;
                _ = end.changed() => break,
                () = self.job.wake.notified() => {}
                () = self.job.changes.hint() => {}
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
        }
        self.leave().await;
    }

    /// Polls, and does the steps of the protocol until the lease is renewed.
    async fn round(&mut self) -> Result<(), StorageError> {
        let job = &self.job;
        let sent = job.clock.now();
        let after = self.replica.last_acknowledged();
        let polled = job.changes.poll(job.id, after).await?;
        let mut next = self.replica.polled(sent, &polled);
        loop {
            next = match next {
                Next::Poll => {
                    job.progress.seen(self.replica.last_acknowledged());
                    return Ok(());
                }
                Next::Acknowledge(acknowledgement) => {
                    let seen = acknowledgement.counter();
                    if let Some(emptied) = acknowledgement.emptied() {
                        report_emptied(emptied);
                        job.progress.emptied.add(1);
                    } else if let Some(after) = after {
                        let changes = seen.as_u64().saturating_sub(after.as_u64());
                        job.progress.evictions.add(changes);
                    }
                    let is_registered = job.changes.acknowledge(job.id, seen).await?;
                    self.replica.acknowledged(acknowledgement, is_registered)
                }
                Next::Register => {
                    self.replica.begin_registration();
                    let sent = job.clock.now();
                    let counter = job.changes.register(job.id, &job.name).await?;
                    self.replica.registered(sent, counter);
                    info!(replica = %job.id, name = job.name, "verification cache registered");
                    Next::Poll
                }
            };
        }
    }

    /// One line when it begins to fail, and one when it works again.
    fn report(&mut self, round: Result<(), StorageError>) {
        match round {
            Ok(()) if self.is_failing => info!("verification cache polls again"),
            Err(error) if !self.is_failing => warn!(
                cause = sentence(&error),
                "verification cache cannot poll; without a poll for 5 s, every verification asks the database"
            ),
            Ok(()) => {
                self.is_failing = false;
                return;
            }
            Err(_) => return,
        }
        self.is_failing = !self.is_failing;
    }

    async fn leave(mut self) {
        self.replica.leave();
        if let Err(error) = self.job.changes.leave(self.job.id).await {
            warn!(
                cause = sentence(&error),
                hint = "revocations may wait for this replica once, for up to 5 s",
                "replica row not removed"
            );
        }
    }
}

impl Progress {
    fn seen(&self, acknowledged: Option<ChangeNumber>) {
        if let Some(number) = acknowledged {
            self.acknowledged.store(number.as_u64(), Ordering::Relaxed);
        }
    }

    /// The number of the last change of access that this server has seen and acknowledged to the database; 0
    /// before the first.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }
}

fn report_emptied(emptied: Emptied) {
    match emptied {
        Emptied::CounterJumpedBack => {
            warn!(
                "verification cache emptied: the database counts fewer changes than before, as after a restored backup"
            );
        }
        Emptied::GapInLog => {
            info!("verification cache emptied: more changed since the last poll than the database lists");
        }
        Emptied::OtherAcknowledgement => {
            info!("verification cache emptied: the database does not hold its last acknowledgement");
        }
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use keyward_domain::access_changes::{PolledChanges, RegisteredReplicas};
    use keyward_verification_cache::MachineClock;
    use tokio::time::sleep;

    use super::*;
    use crate::logging::tests::Lines;

    /// The third poll panics, or finds a database that was restored from a backup.
    #[derive(Default)]
    struct ThirdPoll {
        is_of_restored: bool,
        polls: AtomicU64,
        registrations: AtomicU64,
        departures: AtomicU64,
    }

    #[async_trait]
    impl AccessChanges for ThirdPoll {
        async fn register(&self, _: ReplicaId, _: &str) -> Result<ChangeNumber, StorageError> {
            self.registrations.fetch_add(1, Ordering::SeqCst);
            Ok(ChangeNumber::from_u64(7))
        }

        async fn poll(&self, _: ReplicaId, _: Option<ChangeNumber>) -> Result<PolledChanges, StorageError> {
            let polls = self.polls.fetch_add(1, Ordering::SeqCst) + 1;
            assert!(polls != 3 || self.is_of_restored, "a defect");
            let is_registered = self.registrations.load(Ordering::SeqCst) > 0;
            Ok(PolledChanges {
                counter: ChangeNumber::from_u64(if polls >= 3 && self.is_of_restored { 3 } else { 7 }),
                acknowledged: is_registered.then_some(ChangeNumber::from_u64(7)),
                changes: Vec::new(),
            })
        }

        async fn hint(&self) {
            std::future::pending::<()>().await;
        }

        async fn acknowledge(&self, _: ReplicaId, _: ChangeNumber) -> Result<bool, StorageError> {
            Ok(true)
        }

        async fn leave(&self, _: ReplicaId) -> Result<(), StorageError> {
            self.departures.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }

        async fn replicas(&self) -> Result<RegisteredReplicas, StorageError> {
            std::future::pending().await
        }

        async fn strike_off(&self, _: ReplicaId, _: ChangeNumber) -> Result<(), StorageError> {
            std::future::pending().await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn counter_that_jumps_back_empties_the_cache_with_a_warning() {
        let (lines, _logged) = Lines::of_this_thread();
        let restored = ThirdPoll {
            is_of_restored: true,
            ..ThirdPoll::default()
        };
        let (job, _) = job(Arc::new(restored));
        let progress = job.progress();
        let job = job.start();
        sleep(POLL_INTERVAL * 3 / 2).await;
        assert_eq!(progress.emptied.get(), 0);
        assert!(!lines.text().contains("WARN"), "{}", lines.text());
        sleep(POLL_INTERVAL).await;
        assert_eq!(progress.emptied.get(), 1);
        let warning = "the database counts fewer changes than before, as after a restored backup";
        assert!(
            lines.text().contains("WARN") && lines.text().contains(warning),
            "{}",
            lines.text()
        );
        job.finish().await;
    }

    /// A job that polls these changes, and its cache.
    fn job(changes: Arc<ThirdPoll>) -> (ReplicaJob, Arc<VerificationCache>) {
        let cache = Arc::new(VerificationCache::new(1 << 20));
        let clock = Arc::new(MachineClock);
        let id = "019ab8f2-0000-7000-8000-000000000001".parse().unwrap();
        let job = ReplicaJob::new(
            changes,
            clock,
            Arc::clone(&cache),
            Arc::default(),
            id,
            "one".to_owned(),
        );
        (job, cache)
    }

    #[tokio::test(start_paused = true)]
    async fn polling_that_panics_loses_the_lease_and_begins_again() {
        let (lines, _told) = Lines::of_this_thread();
        let changes = Arc::new(ThirdPoll::default());
        let (job, cache) = job(Arc::clone(&changes));
        let (runs, progress) = (job.runs(), job.progress());
        let job = job.start();
        sleep(POLL_INTERVAL * 3 / 2).await;
        assert!(cache.has_lease(MachineClock.now()));
        sleep(POLL_INTERVAL).await;
        assert!(!cache.has_lease(MachineClock.now()));
        assert!(lines.text().contains("task panicked"), "{}", lines.text());
        sleep(RESTART_PAUSE).await;
        assert!(cache.has_lease(MachineClock.now()));
        job.finish().await;
        assert!(!cache.has_lease(MachineClock.now()));
        assert_eq!(changes.departures.load(Ordering::SeqCst), 1);
        assert_eq!((runs.summary().failures, progress.acknowledged()), (1, 7));
    }
}
