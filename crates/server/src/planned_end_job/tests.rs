use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::audit::{Act, Actor};
use keyward_domain::planned_ends::ports::PlannedEndStore;
use keyward_domain::ports::StorageError;
use keyward_domain::retention::ClockDoubt;
use keyward_domain::retention::ports::MockRetentionStore;
use tokio::sync::watch;
use tokio::time::sleep;

use super::*;
use crate::composition::sources_of_this_machine;

/// A store in which this many ends of keys are due.
#[derive(Default)]
struct DueEnds {
    due: AtomicU32,
    /// How many of the next attempts fail.
    failures: AtomicU32,
    /// Whether the next attempt panics.
    panics: AtomicBool,
    attempts: AtomicU32,
    /// This many ends of memberships are due, and recording more of them at once fails.
    due_memberships: AtomicU32,
    manageable_memberships: AtomicU32,
    /// Rotated keys whose successors were used.
    replaced: AtomicU32,
}

impl DueEnds {
    fn count(&self) -> u32 {
        self.due.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl PlannedEndStore for DueEnds {
    async fn has_due(&self, _: DateTime<Utc>) -> Result<bool, StorageError> {
        self.attempts.fetch_add(1, Ordering::SeqCst);
        assert!(!self.panics.swap(false, Ordering::SeqCst), "a defect");
        Ok(self.count() > 0 || self.due_memberships.load(Ordering::SeqCst) > 0)
    }

    async fn record_ends_of_keys(&self, at_most: u32, act: Act) -> Result<u32, StorageError> {
        assert_eq!(act.actor, Actor::System);
        let fails = self.failures.load(Ordering::SeqCst) > 0;
        if fails {
            self.failures.fetch_sub(1, Ordering::SeqCst);
            return Err(StorageError::Unavailable(io::Error::other("away").into()));
        }
        let recorded = self.count().min(at_most);
        self.due.fetch_sub(recorded, Ordering::SeqCst);
        Ok(recorded)
    }

    async fn end_rotated_keys(&self, _: u32, _: Act) -> Result<u32, StorageError> {
        Ok(self.replaced.swap(0, Ordering::SeqCst))
    }

    async fn record_ends_of_memberships(&self, at_most: u32, _: Act) -> Result<u32, StorageError> {
        let recorded = self.due_memberships.load(Ordering::SeqCst).min(at_most);
        if recorded > self.manageable_memberships.load(Ordering::SeqCst) {
            return Err(StorageError::Unavailable(io::Error::other("too slow").into()));
        }
        self.due_memberships.fetch_sub(recorded, Ordering::SeqCst);
        Ok(recorded)
    }
}

fn job(store: &Arc<DueEnds>, doubt: Option<ClockDoubt>) -> PlannedEndJob {
    let mut clock = MockRetentionStore::new();
    clock.expect_check_clock().returning(move |_, _| Ok(doubt));
    let ends = PlannedEnds::new(store.clone(), Arc::new(clock), sources_of_this_machine());
    PlannedEndJob::new(ends)
}

const A_MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn all_due_ends_are_recorded_within_a_minute() {
    let store = Arc::new(DueEnds::default());
    let running = job(&store, None).start();
    sleep(Duration::from_secs(1)).await;
    for due in [1, 3 * PlannedEnds::BATCH_SIZE + 1] {
        store.due.store(due, Ordering::SeqCst);
        sleep(A_MINUTE).await;
        assert_eq!(store.count(), 0);
    }
    running.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_followed_by_another_attempt() {
    let store = Arc::new(DueEnds::default());
    store.due.store(1, Ordering::SeqCst);
    // Two runs and one batch.
    store.failures.store(17, Ordering::SeqCst);
    let running = job(&store, None).start();
    sleep(A_MINUTE).await;
    assert_eq!(store.count(), 1);
    sleep(A_MINUTE).await;
    assert_eq!(store.count(), 0);
    running.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_followed_by_another_attempt() {
    let store = Arc::new(DueEnds::default());
    store.due.store(1, Ordering::SeqCst);
    store.panics.store(true, Ordering::SeqCst);
    let job = job(&store, None);
    let runs = job.runs();
    let running = job.start();
    sleep(A_MINUTE).await;
    assert_eq!((store.count(), runs.summary().failures), (0, 1));
    running.finish().await;
}

#[tokio::test(start_paused = true)]
async fn keys_are_recorded_while_memberships_fail() {
    let store = Arc::new(DueEnds::default());
    store.due.store(3 * PlannedEnds::BATCH_SIZE + 1, Ordering::SeqCst);
    store.due_memberships.store(1, Ordering::SeqCst);
    let mut job = job(&store, None);
    let (_end, mut ended) = watch::channel(());
    assert!(job.run(&mut ended).await.is_continue());
    assert_eq!(store.count(), 0);
    assert!(job.failing.is_some(), "the failure is reported");
}

#[tokio::test(start_paused = true)]
async fn oversized_batch_is_halved_until_it_succeeds() {
    let store = Arc::new(DueEnds::default());
    store
        .due_memberships
        .store(PlannedEnds::BATCH_SIZE, Ordering::SeqCst);
    store.manageable_memberships.store(30, Ordering::SeqCst);
    let running = job(&store, None).start();
    sleep(A_MINUTE).await;
    assert_eq!(store.due_memberships.load(Ordering::SeqCst), 0);
    running.finish().await;
}

#[tokio::test(start_paused = true)]
async fn only_rotated_keys_end_while_the_clock_is_in_doubt() {
    let store = Arc::new(DueEnds::default());
    store.due.store(1, Ordering::SeqCst);
    store.replaced.store(1, Ordering::SeqCst);
    let doubt = ClockDoubt::Jumped {
        ours: DateTime::UNIX_EPOCH,
        last: DateTime::UNIX_EPOCH,
    };
    let running = job(&store, Some(doubt)).start();
    sleep(10 * A_MINUTE).await;
    assert_eq!(store.count(), 1);
    assert_eq!(store.replaced.load(Ordering::SeqCst), 0);
    running.finish().await;
}

#[tokio::test(start_paused = true)]
async fn the_job_ends_at_once_while_it_rests() {
    let store = Arc::new(DueEnds::default());
    let running = job(&store, None).start();
    sleep(Duration::from_secs(1)).await;
    let asked = Instant::now();
    running.finish().await;
    assert!(asked.elapsed() < Duration::from_secs(1));
    assert_eq!(store.attempts.load(Ordering::SeqCst), 1);
}
