//! Writes down when keys were last used, beside the requests.

use std::sync::Arc;
use std::time::Duration;

use keyward_domain::clock::Clock;
use keyward_domain::failure_sentence::sentence;
use keyward_domain::ports::{KeyUse, LastUses, StorageError};
use keyward_domain::recent_uses::RecentUses;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tracing::{debug, info, warn};

/// How often what is due is written. A key is due once a minute at most.
const EVERY: Duration = Duration::from_secs(5);

/// The most keys of one transaction: it takes a small part of the time that a statement may.
const AT_ONCE: usize = 1_000;

/// How long the process stays for what is left to write when it ends.
const LAST_PATIENCE: Duration = Duration::from_secs(5);

/// Writes what [`RecentUses`] has noted.
pub(crate) struct LastUseWriter {
    uses: Arc<RecentUses>,
    store: Arc<dyn LastUses>,
    clock: Arc<dyn Clock>,
    is_failing: bool,
}

/// A writer at work.
pub(crate) struct RunningWriter {
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl LastUseWriter {
    pub(crate) fn new(uses: Arc<RecentUses>, store: Arc<dyn LastUses>, clock: Arc<dyn Clock>) -> Self {
        Self {
            uses,
            store,
            clock,
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
                _ = ticks.tick() => {
                    let due = self.uses.take_due(self.clock.now());
                    self.write(&due).await;
                }
            }
        }
        let last = self.uses.take_last(self.clock.now());
        self.write(&last).await;
    }

    /// Writes in portions until nothing is left, or the storage fails: then the rest waits for the next time.
    async fn write(&mut self, uses: &[KeyUse]) {
        let mut left = uses;
        while !left.is_empty() {
            let (portion, rest) = left.split_at(left.len().min(AT_ONCE));
            let failure = self.store.record(portion.to_vec()).await.err();
            self.report(failure.as_ref(), portion.len());
            if failure.is_some() {
                self.uses.put_back(left);
                break;
            }
            left = rest;
        }
        let passed_over = self.uses.take_passed_over();
        if passed_over > 0 {
            warn!(
                passed_over,
                "more keys are in use than fit in memory: the last use of some is not recorded"
            );
        }
    }

    /// One line when it begins to fail, and one when it works again.
    fn report(&mut self, failure: Option<&StorageError>, count: usize) {
        match failure {
            None if self.is_failing => info!("the last uses of keys are recorded again"),
            None => debug!(keys = count, "recorded last uses"),
            Some(error) if !self.is_failing => warn!(
                cause = sentence(error),
                "the last uses of keys cannot be recorded, and wait in memory"
            ),
            Some(_) => {}
        }
        self.is_failing = failure.is_some();
    }
}

impl RunningWriter {
    /// Writes what is left, and ends.
    pub(crate) async fn finish(self) {
        // If the writer is gone already, the task says why.
        let _ = self.end.send(());
        match timeout(LAST_PATIENCE, self.task).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!(%error, "the last uses of keys were not all recorded"),
            Err(_) => warn!("the last uses of keys were not all recorded in time"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};

    use async_trait::async_trait;
    use chrono::{DateTime, Utc};
    use keyward_domain::api_key::LastUse;
    use keyward_domain::id::{ApiKeyId, IdGenerator};
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::random::OsRandom;

    /// What was written, and whether writing fails.
    #[derive(Default)]
    struct Book {
        is_down: AtomicBool,
        attempts: Mutex<Vec<usize>>,
        kept: Mutex<HashMap<ApiKeyId, LastUse>>,
    }

    #[async_trait]
    impl LastUses for Book {
        async fn record(&self, uses: Vec<KeyUse>) -> Result<(), StorageError> {
            self.attempts.lock().unwrap().push(uses.len());
            if self.is_down.load(Ordering::SeqCst) {
                return Err(StorageError::Unavailable("away".into()));
            }
            let uses = uses.into_iter().map(|used| (used.key, used.last));
            self.kept.lock().unwrap().extend(uses);
            Ok(())
        }
    }

    /// The time of the test's runtime, which runs ahead while everybody waits.
    struct PausedClock(Instant);

    impl Clock for PausedClock {
        fn now(&self) -> DateTime<Utc> {
            let begun = DateTime::from_timestamp(1_767_225_600, 0).unwrap();
            begun + self.0.elapsed()
        }
    }

    struct Scene {
        uses: Arc<RecentUses>,
        book: Arc<Book>,
        clock: Arc<dyn Clock>,
        ids: IdGenerator,
    }

    impl Scene {
        fn new() -> Self {
            let clock: Arc<dyn Clock> = Arc::new(PausedClock(Instant::now()));
            Self {
                uses: Arc::new(RecentUses::new(10_000)),
                book: Arc::default(),
                ids: IdGenerator::new(Arc::clone(&clock), Arc::new(OsRandom)),
                clock,
            }
        }

        fn start(&self) -> RunningWriter {
            let book = Arc::clone(&self.book) as Arc<dyn LastUses>;
            LastUseWriter::new(Arc::clone(&self.uses), book, Arc::clone(&self.clock)).start()
        }

        fn note(&self, key: ApiKeyId) -> LastUse {
            let at = self.clock.now();
            let last = LastUse { at, from: None };
            self.uses.note(key, last);
            last
        }

        fn kept(&self, key: ApiKeyId) -> Option<LastUse> {
            self.book.kept.lock().unwrap().get(&key).copied()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_written_stays_and_is_written_when_the_storage_is_back() {
        let scene = Scene::new();
        let (idle, busy) = (scene.ids.next(), scene.ids.next());
        scene.book.is_down.store(true, Ordering::SeqCst);
        let writer = scene.start();
        let first = scene.note(idle);
        for _ in 0..60 {
            scene.note(busy);
            sleep(Duration::from_secs(1)).await;
        }
        assert_eq!((scene.kept(idle), scene.kept(busy)), (None, None));
        assert!(
            scene.book.attempts.lock().unwrap().len() <= 13,
            "it keeps its pace"
        );

        scene.book.is_down.store(false, Ordering::SeqCst);
        let last = scene.note(busy);
        sleep(EVERY).await;
        assert_eq!((scene.kept(idle), scene.kept(busy)), (Some(first), Some(last)));
        writer.finish().await;
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_taken_with_a_portion_that_fails_is_written_later_too() {
        let scene = Scene::new();
        let keys: Vec<ApiKeyId> = (0..2_500).map(|_| scene.ids.next()).collect();
        for key in &keys {
            scene.note(*key);
        }
        scene.book.is_down.store(true, Ordering::SeqCst);
        let writer = scene.start();
        sleep(Duration::from_secs(1)).await;
        assert_eq!(*scene.book.attempts.lock().unwrap(), [1_000]);
        scene.book.is_down.store(false, Ordering::SeqCst);
        sleep(EVERY).await;
        assert_eq!(*scene.book.attempts.lock().unwrap(), [1_000, 1_000, 1_000, 500]);
        assert!(keys.iter().all(|key| scene.kept(*key).is_some()));
        writer.finish().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_in_constant_use_is_written_once_a_minute_and_at_the_end() {
        let scene = Scene::new();
        let key = scene.ids.next();
        let writer = scene.start();
        for _ in 0..600 {
            scene.note(key);
            sleep(Duration::from_millis(500)).await;
        }
        assert_eq!(scene.book.attempts.lock().unwrap().len(), 5);
        let last = scene.note(key);
        writer.finish().await;
        assert_eq!(scene.kept(key), Some(last));
        assert_eq!(scene.book.attempts.lock().unwrap().len(), 6);
    }

    #[tokio::test(start_paused = true)]
    async fn many_keys_are_written_in_portions() {
        let scene = Scene::new();
        let keys: Vec<ApiKeyId> = (0..2_500).map(|_| scene.ids.next()).collect();
        for key in &keys {
            scene.note(*key);
        }
        scene.start().finish().await;
        assert_eq!(*scene.book.attempts.lock().unwrap(), [1_000, 1_000, 500]);
        assert!(keys.iter().all(|key| scene.kept(*key).is_some()));
    }
}
