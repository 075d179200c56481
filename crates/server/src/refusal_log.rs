//! Tells of refused sign-ins beside the answers, which must not show by their time what is told.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyward_domain::failure_sentence::sentence;
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::refusals::{Refusal, RefusalNotes, RefusalWriter};
use keyward_domain::sign_in::throttle::ThrottleBucket;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

/// A few MiB.
const MOST: usize = 10_000;

/// How soon it is tried again when the storage is unavailable.
const RETRY: Duration = Duration::from_secs(5);

/// How long the process stays for what is left to write when it ends.
const LAST_PATIENCE: Duration = Duration::from_secs(5);

/// Refusals that wait to be written.
#[derive(Default)]
pub(crate) struct RefusalQueue {
    waiting: Mutex<Waiting>,
    arrival: Notify,
}

#[derive(Default)]
struct Waiting {
    refusals: VecDeque<Refusal>,
    within: HashMap<ThrottleBucket, i32>,
    passed_over: usize,
}

impl Waiting {
    /// Adds one, unless so many wait within one of its limits that it would not be written.
    fn put(&mut self, refusal: Refusal) {
        let is_reached = |limit: &ThrottleBucket| {
            self.within
                .get(limit)
                .is_some_and(|count| *count >= limit.burst())
        };
        if refusal.limits().iter().any(is_reached) {
            return;
        }
        if self.refusals.len() >= MOST {
            self.passed_over += 1;
            return;
        }
        self.count(&refusal);
        self.refusals.push_back(refusal);
    }

    fn put_back(&mut self, refusal: Refusal) {
        self.count(&refusal);
        self.refusals.push_front(refusal);
    }

    fn count(&mut self, refusal: &Refusal) {
        for limit in refusal.limits() {
            *self.within.entry(*limit).or_default() += 1;
        }
    }

    fn take(&mut self) -> Option<Refusal> {
        let refusal = self.refusals.pop_front()?;
        for limit in refusal.limits() {
            if let Some(count) = self.within.get_mut(limit) {
                *count -= 1;
                if *count == 0 {
                    self.within.remove(limit);
                }
            }
        }
        Some(refusal)
    }
}

impl RefusalQueue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next one, which is the writer's from now on.
    fn take(&self) -> Option<Refusal> {
        self.waiting().take()
    }
}

impl RefusalNotes for RefusalQueue {
    fn note(&self, refusal: Refusal) {
        self.waiting().put(refusal);
        self.arrival.notify_one();
    }
}

/// Writes what [`RefusalQueue`] holds.
pub(crate) struct RefusalLog {
    queue: Arc<RefusalQueue>,
    writer: RefusalWriter,
    is_failing: bool,
}

/// A log at work.
pub(crate) struct RunningRefusalLog {
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl RefusalLog {
    pub(crate) fn new(queue: Arc<RefusalQueue>, writer: RefusalWriter) -> Self {
        Self {
            queue,
            writer,
            is_failing: false,
        }
    }

    /// Writes from now on what comes.
    pub(crate) fn start(self) -> RunningRefusalLog {
        let (end, ended) = oneshot::channel();
        let task = tokio::spawn(self.run(ended));
        RunningRefusalLog { end, task }
    }

    async fn run(mut self, mut ended: oneshot::Receiver<()>) {
        loop {
            // Only the waiting is cut short, never a write.
            tokio::select! {
                biased;
                _ = &mut ended => break,
                () = self.queue.arrival.notified(), if !self.is_failing => {}
                () = sleep(RETRY), if self.is_failing => {}
            }
            self.write_and_report().await;
        }
        self.write_and_report().await;
    }

    /// Writes until nothing is left.
    ///
    /// # Errors
    /// The storage failed. What is left waits for the next time; so does what was being written, if the storage was
    /// unavailable.
    pub(crate) async fn write(&self) -> Result<(), StorageError> {
        while let Some(refusal) = self.queue.take() {
            let written = self.writer.write(refusal.clone()).await;
            if let Err(StorageError::Unavailable(_)) = written {
                self.queue.waiting().put_back(refusal);
            }
            written?;
        }
        Ok(())
    }

    async fn write_and_report(&mut self) {
        let written = self.write().await;
        self.report(written);
        let passed_over = mem::take(&mut self.queue.waiting().passed_over);
        if passed_over > 0 {
            warn!(
                passed_over,
                "more sign-ins are refused than can be recorded: some are not in the audit log"
            );
        }
    }

    /// One line when it begins to fail, and one when it works again.
    fn report(&mut self, written: Result<(), StorageError>) {
        match &written {
            Ok(()) if self.is_failing => info!("refused sign-ins are recorded in the audit log again"),
            Err(error) if !self.is_failing => warn!(
                cause = sentence(error),
                "refused sign-ins cannot be recorded in the audit log, and wait in memory"
            ),
            Ok(()) | Err(_) => {}
        }
        self.is_failing = written.is_err();
    }
}

impl RunningRefusalLog {
    /// Writes what is left, and ends.
    pub(crate) async fn finish(self) {
        // If the task is gone already, it says why.
        let _ = self.end.send(());
        match timeout(LAST_PATIENCE, self.task).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!(%error, "refused sign-ins were not all recorded"),
            Err(_) => warn!("refused sign-ins were not all recorded in time"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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
    use tokio::time::Instant;

    use super::*;
    use crate::clock::SystemClock;
    use crate::random::OsRandom;

    /// Counts what is written, and fails or hangs if told to.
    #[derive(Default)]
    struct Book {
        is_down: AtomicBool,
        hangs: AtomicBool,
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
        ) -> Result<Option<Member>, StorageError> {
            Ok(None)
        }

        async fn list_live(&self, _user: UserId) -> Result<Vec<Member>, StorageError> {
            Ok(Vec::new())
        }
    }

    struct Scene {
        book: Arc<Book>,
        queue: Arc<RefusalQueue>,
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

        fn start(&self) -> RunningRefusalLog {
            let writer = RefusalWriter::new(self.book.clone(), self.book.clone());
            RefusalLog::new(Arc::clone(&self.queue), writer).start()
        }

        fn refuse(&self, user: Option<UserId>) {
            let limit = user.map_or(EventLimit::Nobody, EventLimit::WrongPasswords);
            self.refuse_within(limit, user);
        }

        fn refuse_within(&self, limit: EventLimit, user: Option<UserId>) {
            let act = Act::new(
                &self.ids,
                SystemClock.now(),
                Actor::Anonymous,
                RequestSource::default(),
            );
            self.queue.note(Refusal::new(act, Action::SignIn, user, limit));
        }

        fn written(&self) -> usize {
            self.book.written.load(Ordering::SeqCst)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_left_is_written_at_the_end() {
        let scene = Scene::new();
        let log = scene.start();
        for _ in 0..3 {
            scene.refuse(None);
        }
        log.finish().await;
        assert_eq!(scene.written(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_storage_that_never_answers_holds_up_neither_refusals_nor_the_end() {
        let scene = Scene::new();
        scene.book.hangs.store(true, Ordering::SeqCst);
        let log = scene.start();
        for _ in 0..100_000 {
            scene.refuse(None);
            scene.refuse(Some(scene.ids.next()));
        }
        assert_eq!(scene.queue.waiting().refusals.len(), MOST, "it is bounded");
        let begun = Instant::now();
        log.finish().await;
        assert!(begun.elapsed() <= LAST_PATIENCE + Duration::from_millis(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_one_limit_leaves_room_for_others() {
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
        let (of_user, of_address, of_nobody, of_another) = (20, 1, 3, 1);
        assert_eq!(scene.written(), of_user + of_address + of_nobody + of_another);
        assert!(scene.queue.waiting().within.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_an_unavailable_storage_does_not_take_is_written_when_it_is_back() {
        let scene = Scene::new();
        scene.book.is_down.store(true, Ordering::SeqCst);
        let log = scene.start();
        scene.refuse(None);
        sleep(3 * RETRY).await;
        assert_eq!(scene.written(), 0);

        scene.book.is_down.store(false, Ordering::SeqCst);
        sleep(RETRY).await;
        assert_eq!(scene.written(), 1);
        log.finish().await;
    }
}
