//! The wait of a revocation for all replicas.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use keyward_domain::access_changes::RegisteredReplicas;
use keyward_domain::ports::AccessChanges;
use keyward_domain::propagation::Propagation;
use keyward_verification_cache::{BootClock, ReadingNumber, Verdict, Wait};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::replica_watch::ReplicaWatch;

/// How much longer a command waits for its strike-off, which would end with it.
const STRIKE_OFF_TIMEOUT: Duration = Duration::from_secs(1);

/// Waits until every replica has acknowledged the committed change, or has lost its lease. Clones share their
/// readings.
#[derive(Clone)]
pub(crate) struct ReplicaWait {
    watch: Arc<ReplicaWatch>,
    clock: Arc<dyn BootClock>,
    /// Wakes this process's own replica, if there is one.
    wake: Arc<Notify>,
    /// How much longer than necessary to wait for a strike-off.
    for_strike_off: Duration,
}

impl ReplicaWait {
    /// The wait in a command, which has its own watch of the replicas.
    pub(crate) fn new(changes: Arc<dyn AccessChanges>, clock: Arc<dyn BootClock>, wake: Arc<Notify>) -> Self {
        Self {
            watch: Arc::new(ReplicaWatch::new(changes)),
            clock,
            wake,
            for_strike_off: STRIKE_OFF_TIMEOUT,
        }
    }

    /// For a server: work that its answers do not wait for continues in the background.
    pub(crate) fn of_server(self) -> Self {
        Self {
            for_strike_off: Duration::ZERO,
            ..self
        }
    }

    async fn seen_by_all(self) {
        let mut readings = self.watch.begin();
        let mut wait = Wait::begin(self.clock.now(), readings.last_begun());
        let mut last: Option<(ReadingNumber, Arc<RegisteredReplicas>)> = None;
        let mut striking_off: Option<JoinHandle<()>> = None;
        while let Some(left) = wait.left(self.clock.now()) {
            if let Ok(reading) = timeout(left, readings.next()).await {
                last = Some(reading);
            }
            let verdict = last
                .as_ref()
                .map(|(number, replicas)| wait.replicas(self.clock.now(), *number, replicas));
            match verdict {
                Some(Verdict::Done) => break,
                Some(Verdict::StrikeOff(behind, unless_seen)) => {
                    // The next reading shows whether it is done.
                    striking_off
                        .get_or_insert_with(|| self.watch.strike_off(Duration::ZERO, behind, unless_seen));
                }
                Some(Verdict::Wait) | None => {}
            }
        }
        if striking_off.is_none()
            && let Some((_, replicas)) = &last
            && let Some((left, behind, unless_seen)) = wait.strike_off_afterwards(self.clock.now(), replicas)
        {
            striking_off = Some(self.watch.strike_off(left, behind, unless_seen));
        }
        if let Some(strike_off) = striking_off {
            let _ = timeout(self.for_strike_off, strike_off).await;
        }
    }
}

#[async_trait]
impl Propagation for ReplicaWait {
    async fn wait(&self) {
        self.wake.notify_one();
        // A task of its own, because the client may leave before: a dead replica must still be struck off, or
        // each later revocation would wait for it again.
        if tokio::spawn(self.clone().seen_by_all()).await.is_err() {
            // It panicked, so it is unknown what the replicas have seen, but no lease lasts longer.
            sleep(Wait::LONGEST).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};

    use keyward_domain::access_changes::{ChangeNumber, PolledChanges, RegisteredReplica, ReplicaId};
    use keyward_domain::ports::StorageError;
    use keyward_verification_cache::{BootTime, LEASE};
    use tokio::task::JoinSet;
    use tokio::time::Instant;

    use super::*;

    fn dead() -> ReplicaId {
        "019ab8f2-0000-7000-8000-000000000001".parse().unwrap()
    }

    /// One replica; a strike-off of it never ends, but is noted.
    struct OneReplica {
        counter: AtomicU64,
        acknowledged: AtomicU64,
        readings: AtomicU64,
        /// How long a reading of the database takes; it returns the state at its start.
        reading_takes: Duration,
        struck_off: Mutex<Vec<(ReplicaId, Instant)>>,
    }

    impl OneReplica {
        /// One change was made.
        fn read_in(reading_takes: Duration) -> Arc<Self> {
            Arc::new(Self {
                counter: AtomicU64::new(1),
                acknowledged: AtomicU64::default(),
                readings: AtomicU64::default(),
                reading_takes,
                struck_off: Mutex::default(),
            })
        }
    }

    #[async_trait]
    impl AccessChanges for OneReplica {
        async fn register(&self, _: ReplicaId, _: &str) -> Result<ChangeNumber, StorageError> {
            pending().await
        }

        async fn poll(&self, _: ReplicaId, _: Option<ChangeNumber>) -> Result<PolledChanges, StorageError> {
            pending().await
        }

        async fn acknowledge(&self, _: ReplicaId, _: ChangeNumber) -> Result<bool, StorageError> {
            pending().await
        }

        async fn leave(&self, _: ReplicaId) -> Result<(), StorageError> {
            pending().await
        }

        async fn replicas(&self) -> Result<RegisteredReplicas, StorageError> {
            self.readings.fetch_add(1, Ordering::SeqCst);
            let known = |number: &AtomicU64| ChangeNumber::from_u64(number.load(Ordering::SeqCst));
            let replicas = RegisteredReplicas {
                counter: known(&self.counter),
                replicas: vec![RegisteredReplica {
                    id: dead(),
                    name: "dead".to_owned(),
                    acknowledged: known(&self.acknowledged),
                }],
            };
            // A caller that begins to wait meanwhile needs another reading.
            sleep(self.reading_takes).await;
            Ok(replicas)
        }

        async fn strike_off(&self, replica: ReplicaId, _: ChangeNumber) -> Result<(), StorageError> {
            self.struck_off.lock().unwrap().push((replica, Instant::now()));
            pending().await
        }
    }

    /// tokio's time, which the tests hold.
    struct TestClock(Instant);

    impl BootClock for TestClock {
        fn now(&self) -> BootTime {
            BootTime::since_start(self.0.elapsed())
        }
    }

    fn wait_for(changes: &Arc<OneReplica>) -> ReplicaWait {
        let clock = Arc::new(TestClock(Instant::now()));
        ReplicaWait::new(Arc::clone(changes) as _, clock, Arc::default()).of_server()
    }

    async fn thousand(wait: &ReplicaWait) -> JoinSet<()> {
        let mut waiting = JoinSet::new();
        for _ in 0..1_000 {
            let wait = wait.clone();
            waiting.spawn(async move { wait.wait().await });
        }
        sleep(Duration::from_millis(500)).await;
        waiting
    }

    #[tokio::test(start_paused = true)]
    async fn thousand_waiting_revocations_share_one_reader() {
        let changes = OneReplica::read_in(Duration::from_millis(1));
        let wait = wait_for(&changes);
        let mut waiting = thousand(&wait).await;
        assert_eq!(waiting.try_join_next().map(drop), None, "it has seen nothing yet");
        let readings = changes.readings.load(Ordering::SeqCst);
        assert!(readings < 20, "{readings} readings in half a second");
        changes.acknowledged.store(1, Ordering::SeqCst);
        waiting.join_all().await;
        sleep(Duration::from_secs(1)).await;
        let after = changes.readings.load(Ordering::SeqCst);
        assert!(after <= readings + 2, "no caller waits any more");
        wait.wait().await;
        assert!(changes.readings.load(Ordering::SeqCst) > after);
    }

    #[tokio::test(start_paused = true)]
    async fn revocations_that_keep_arriving_do_not_hurry_the_reader() {
        let changes = OneReplica::read_in(Duration::from_millis(1));
        let wait = wait_for(&changes);
        let mut waiting = JoinSet::new();
        for _ in 0..500 {
            let wait = wait.clone();
            waiting.spawn(async move { wait.wait().await });
            sleep(Duration::from_millis(1)).await;
        }
        let readings = changes.readings.load(Ordering::SeqCst);
        assert!(
            (90..=101).contains(&readings),
            "{readings} readings in half a second"
        );
        changes.acknowledged.store(1, Ordering::SeqCst);
        let begun = Instant::now();
        wait.wait().await;
        assert!(
            begun.elapsed() < Duration::from_millis(10),
            "{:?}",
            begun.elapsed()
        );
        waiting.join_all().await;
    }

    #[tokio::test(start_paused = true)]
    async fn hanging_strike_off_does_not_delay_the_answer() {
        let changes = OneReplica::read_in(Duration::from_millis(1));
        let wait = wait_for(&changes);
        let begun = Instant::now();
        thousand(&wait).await.join_all().await;
        let waited = begun.elapsed();
        assert!(waited <= Wait::LONGEST + Duration::from_millis(2), "{waited:?}");
        assert_eq!(changes.struck_off.lock().unwrap().len(), 1, "once for all");
    }

    #[tokio::test(start_paused = true)]
    async fn dead_replica_of_a_distant_database_is_struck_off() {
        for reading_takes in [20, 60, 300, 2_000].map(Duration::from_millis) {
            let changes = OneReplica::read_in(reading_takes);
            let begun = Instant::now();
            wait_for(&changes).wait().await;
            let waited = begun.elapsed();
            assert!(waited <= Wait::LONGEST + Duration::from_millis(2), "{waited:?}");
            let read = begun + reading_takes;
            tokio::time::sleep_until(read + LEASE + Duration::from_millis(100)).await;
            let struck_off = std::mem::take(&mut *changes.struck_off.lock().unwrap());
            let [(replica, at)] = *struck_off else {
                panic!("{reading_takes:?}: {struck_off:?}");
            };
            assert_eq!(replica, dead());
            // Its last poll before the number was read may have given it a lease.
            assert!(at >= read + LEASE, "{reading_takes:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn revocation_is_not_answered_by_a_reading_begun_before_it() {
        let changes = OneReplica::read_in(Duration::from_secs(1));
        changes.counter.store(0, Ordering::SeqCst);
        let wait = wait_for(&changes);
        let earlier = tokio::spawn({
            let wait = wait.clone();
            async move { wait.wait().await }
        });
        sleep(Duration::from_millis(500)).await;
        changes.counter.store(1, Ordering::SeqCst);
        let begun = Instant::now();
        let later = tokio::spawn(async move { wait.wait().await });
        earlier.await.unwrap();
        assert_eq!(begun.elapsed(), Duration::from_millis(500));
        sleep(Duration::from_secs(2)).await;
        assert!(!later.is_finished(), "the replica has not seen the change");
        changes.acknowledged.store(1, Ordering::SeqCst);
        later.await.unwrap();
        assert!(begun.elapsed() < Wait::LONGEST);
    }
}
