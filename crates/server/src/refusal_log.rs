//! Records refused sign-ins in the background, so that response times do not reveal what is recorded.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::sync::Arc;

use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::refusals::{RefusalQueue, RefusalWriter, RefusedAttempt};
use keyward_domain::sign_in::throttle::ThrottleBucket;
use parking_lot::Mutex;
use tracing::warn;

use crate::background_writer::BackgroundWriter;

/// The maximum number of waiting refusals, which take a few MiB.
const CAPACITY: usize = 10_000;

/// Refusals that wait to be written.
#[derive(Default)]
pub(crate) struct PendingRefusals {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    refusals: VecDeque<RefusedAttempt>,
    within: HashMap<ThrottleBucket, i32>,
    passed_over: usize,
}

impl Waiting {
    /// Adds one, unless enough wait within one of its limits that it would not be written.
    fn put(&mut self, refusal: RefusedAttempt) {
        let is_reached = |limit: &ThrottleBucket| {
            self.within
                .get(limit)
                .is_some_and(|count| *count >= limit.burst())
        };
        if refusal.limits().iter().any(is_reached) {
            return;
        }
        if self.refusals.len() >= CAPACITY {
            self.passed_over += 1;
            return;
        }
        for limit in refusal.limits() {
            *self.within.entry(*limit).or_default() += 1;
        }
        self.refusals.push_back(refusal);
    }

    /// The first one waits no longer.
    fn remove_first(&mut self) {
        let first = self.refusals.pop_front();
        for limit in first.iter().flat_map(RefusedAttempt::limits) {
            if let Some(count) = self.within.get_mut(limit) {
                *count -= 1;
                if *count == 0 {
                    self.within.remove(limit);
                }
            }
        }
    }
}

impl PendingRefusals {
    /// The next one to be written, which waits until it is.
    fn first(&self) -> Option<RefusedAttempt> {
        self.waiting.lock().refusals.front().cloned()
    }
}

impl RefusalQueue for PendingRefusals {
    fn push(&self, refusal: RefusedAttempt) {
        self.waiting.lock().put(refusal);
    }
}

/// Writes what [`PendingRefusals`] holds.
pub(crate) struct RefusalLog {
    queue: Arc<PendingRefusals>,
    writer: RefusalWriter,
}

impl RefusalLog {
    pub(crate) const fn new(queue: Arc<PendingRefusals>, writer: RefusalWriter) -> Self {
        Self { queue, writer }
    }
}

impl BackgroundWriter for RefusalLog {
    const RECORDS: &'static str = "refused sign-ins";
    const TASK: &'static str = "refused_sign_ins";

    /// In an outage, the remaining refusals wait for the next run, and so does the current one if the storage
    /// was unavailable. After any other error it may have been written, and counts as passed over.
    async fn write(&self) -> Result<usize, StorageError> {
        let mut outcome = Ok(0);
        while let Some(refusal) = self.queue.first() {
            let written = self.writer.write(refusal).await;
            if !matches!(written, Err(StorageError::Unavailable(_))) {
                let mut waiting = self.queue.waiting.lock();
                waiting.remove_first();
                waiting.passed_over += usize::from(written.is_err());
            }
            match written {
                Ok(()) => outcome = outcome.map(|count| count + 1),
                Err(error) if error.is_outage() => return Err(error),
                Err(error) => outcome = Err(error),
            }
        }
        let passed_over = mem::take(&mut self.queue.waiting.lock().passed_over);
        if passed_over > 0 {
            warn!(
                passed_over,
                "some refused sign-ins are missing from the audit log: there were too many, or they could not be written"
            );
        }
        outcome
    }

    fn unwritten(&self) -> usize {
        let waiting = self.queue.waiting.lock();
        waiting.refusals.len() + waiting.passed_over
    }
}

#[cfg(test)]
mod tests {
    use std::future;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use async_trait::async_trait;
    use chrono::{DateTime, Utc};
    use keyward_domain::audit::{Act, Action, Actor, AuditEvent, RequestSource};
    use keyward_domain::clock::Clock;
    use keyward_domain::id::{IdGenerator, UserId};
    use keyward_domain::membership::Member;
    use keyward_domain::organization::Slug;
    use keyward_domain::ports::Memberships;
    use keyward_domain::sign_in::ports::{FullBucket, LimitedAuditLog};
    use keyward_domain::sign_in::throttle::{CountedAccount, EventLimit};
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::background_writer::{RunningWriter, SHUTDOWN_TIMEOUT, WRITE_INTERVAL, start};
    use crate::clock::SystemClock;
    use crate::random::OsRandom;

    #[derive(Default)]
    struct Book {
        is_down: AtomicBool,
        hangs: AtomicBool,
        panics: AtomicBool,
        written: AtomicUsize,
    }

    #[async_trait]
    impl LimitedAuditLog for Book {
        async fn record_within(
            &self,
            _limits: Vec<ThrottleBucket>,
            events: Vec<AuditEvent>,
            _now: DateTime<Utc>,
        ) -> Result<Option<FullBucket>, StorageError> {
            if self.hangs.load(Ordering::SeqCst) {
                future::pending::<()>().await;
            }
            assert!(!self.panics.swap(false, Ordering::SeqCst), "a defect");
            if self.is_down.load(Ordering::SeqCst) {
                return Err(StorageError::Unavailable("away".into()));
            }
            self.written.fetch_add(events.len(), Ordering::SeqCst);
            Ok(None)
        }
    }

    #[async_trait]
    impl Memberships for Book {
        async fn find_live(
            &self,
            _user: UserId,
            _organization: &Slug,
            _now: DateTime<Utc>,
        ) -> Result<Option<Member>, StorageError> {
            Ok(None)
        }

        async fn list_live(&self, _user: UserId, _now: DateTime<Utc>) -> Result<Vec<Member>, StorageError> {
            Ok(Vec::new())
        }
    }

    struct Scene {
        book: Arc<Book>,
        queue: Arc<PendingRefusals>,
        ids: Arc<IdGenerator>,
    }

    impl Scene {
        fn new() -> Self {
            Self {
                book: Arc::default(),
                queue: Arc::default(),
                ids: Arc::new(IdGenerator::new(Arc::new(SystemClock), Arc::new(OsRandom))),
            }
        }

        fn start(&self) -> RunningWriter {
            let writer = RefusalWriter::new(self.book.clone(), self.book.clone());
            start(RefusalLog::new(Arc::clone(&self.queue), writer))
        }

        fn refuse(&self, user: Option<UserId>) {
            let limit = user.map_or(EventLimit::UnknownUsername, EventLimit::WrongPasswords);
            self.refuse_within(limit, user);
        }

        fn refuse_within(&self, limit: EventLimit, user: Option<UserId>) {
            let act = Act::new(
                &self.ids,
                SystemClock.now(),
                Actor::Anonymous,
                RequestSource::default(),
            );
            self.queue
                .push(RefusedAttempt::new(act, Action::SignIn, user, limit));
        }

        fn written(&self) -> usize {
            self.book.written.load(Ordering::SeqCst)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn remaining_refusals_are_written_at_shutdown() {
        let scene = Scene::new();
        let log = scene.start();
        for _ in 0..3 {
            scene.refuse(None);
        }
        log.finish().await;
        assert_eq!(scene.written(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn hanging_storage_delays_neither_refusals_nor_shutdown() {
        let scene = Scene::new();
        scene.book.hangs.store(true, Ordering::SeqCst);
        let log = scene.start();
        for _ in 0..100_000 {
            scene.refuse(None);
            scene.refuse(Some(scene.ids.next()));
        }
        assert_eq!(
            scene.queue.waiting.lock().refusals.len(),
            CAPACITY,
            "it is bounded"
        );
        let passed_over = scene.queue.waiting.lock().passed_over;
        let begun = Instant::now();
        assert_eq!(log.finish().await, CAPACITY + passed_over);
        assert!(begun.elapsed() <= SHUTDOWN_TIMEOUT + Duration::from_millis(1));
    }

    #[tokio::test(start_paused = true)]
    async fn flood_against_one_limit_leaves_room_for_others() {
        let scene = Scene::new();
        let account = CountedAccount::new("ada", None);
        let address = ThrottleBucket::of_attempt(account, Some([192, 0, 2, 7].into()))[0];
        let user: UserId = scene.ids.next();
        for _ in 0..100_000 {
            scene.refuse(Some(user));
            scene.refuse_within(EventLimit::UncheckedFrom(address), None);
        }
        for _ in 0..3 {
            scene.refuse(None);
        }
        scene.refuse(Some(scene.ids.next()));
        scene.start().finish().await;
        let (of_user, of_address, of_unknown, of_another) = (20, 1, 3, 1);
        assert_eq!(scene.written(), of_user + of_address + of_unknown + of_another);
        assert!(scene.queue.waiting.lock().within.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn refusals_unwritten_during_an_outage_are_written_afterwards() {
        let scene = Scene::new();
        scene.book.is_down.store(true, Ordering::SeqCst);
        let log = scene.start();
        scene.refuse(None);
        sleep(3 * WRITE_INTERVAL).await;
        assert_eq!(scene.written(), 0);

        scene.book.is_down.store(false, Ordering::SeqCst);
        sleep(WRITE_INTERVAL).await;
        assert_eq!(scene.written(), 1);
        log.finish().await;
    }

    #[tokio::test(start_paused = true)]
    async fn refusal_whose_write_panics_is_written_later() {
        let scene = Scene::new();
        scene.book.panics.store(true, Ordering::SeqCst);
        let log = scene.start();
        scene.refuse(None);
        sleep(2 * WRITE_INTERVAL).await;
        assert_eq!(scene.written(), 1);
        assert_eq!(log.finish().await, 0);
    }
}
