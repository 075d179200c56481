//! Writes down when keys were last used, beside the requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use keyward_domain::clock::Clock;
use keyward_domain::id::ApiKeyId;
use keyward_domain::ports::{KeyUse, LastUses, StorageError};
use keyward_domain::recent_uses::RecentUses;
use tracing::warn;

use crate::background_writer::BackgroundWriter;

/// The most keys of one transaction: it takes a small part of the time that a statement may.
const AT_ONCE: usize = 1_000;

/// How many uses are dropped at one time because the storage rejects them. The others are kept until the next time, so
/// that a storage that rejects all of them costs some statements, and no more uses than these.
const MOST_REJECTED: usize = 100;

/// A use that was dropped.
#[derive(Debug, thiserror::Error)]
#[error("the last use of key {key} cannot be written")]
struct Rejected {
    key: ApiKeyId,
    source: StorageError,
}

/// Writes the uses in [`RecentUses`].
pub(crate) struct LastUseWriter {
    uses: Arc<RecentUses>,
    store: Arc<dyn LastUses>,
    clock: Arc<dyn Clock>,
    being_written: AtomicUsize,
}

impl LastUseWriter {
    pub(crate) fn new(uses: Arc<RecentUses>, store: Arc<dyn LastUses>, clock: Arc<dyn Clock>) -> Self {
        Self {
            uses,
            store,
            clock,
            being_written: AtomicUsize::new(0),
        }
    }

    /// Writes in batches until nothing is left or the storage fails; the rest is then written next time. Keys
    /// that were created one after another are in the same batch: they share pages of the storage. A batch that
    /// the storage rejects is halved until the use that it rejects is alone, which is dropped.
    async fn record(&self, mut uses: Vec<KeyUse>) -> Result<usize, StorageError> {
        let passed_over = self.uses.take_dropped();
        if passed_over > 0 {
            warn!(
                passed_over,
                "too many keys in use: some last uses are not recorded"
            );
        }
        uses.sort_unstable_by_key(|used| used.key);
        let mut taken = Taken {
            writer: self,
            left: &uses,
        };
        let mut at_once = AT_ONCE;
        let mut rejected = Vec::new();
        while !taken.left.is_empty() {
            self.being_written.store(taken.left.len(), Ordering::Relaxed);
            let (batch, rest) = taken.left.split_at(taken.left.len().min(at_once));
            match (self.store.record(batch.to_vec(), self.clock.now()).await, batch) {
                (Ok(()), _) => {
                    taken.left = rest;
                    at_once = (at_once * 2).min(AT_ONCE);
                }
                (Err(error), _) if error.is_outage() || rejected.len() == MOST_REJECTED => return Err(error),
                (Err(source), [KeyUse { key, .. }]) => {
                    taken.left = rest;
                    rejected.push(Rejected { key: *key, source });
                }
                (Err(_), _) => at_once = batch.len() / 2,
            }
        }
        match rejected.into_iter().next() {
            None => Ok(uses.len()),
            Some(first) => Err(StorageError::Defect(first.into())),
        }
    }
}

/// Uses that are being written. When this is dropped, those that were not written are due again.
struct Taken<'a> {
    writer: &'a LastUseWriter,
    left: &'a [KeyUse],
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.writer.uses.put_back(self.left);
        self.writer.being_written.store(0, Ordering::Relaxed);
    }
}

impl BackgroundWriter for LastUseWriter {
    const RECORDS: &'static str = "last uses of keys";
    const TASK: &'static str = "last_uses";

    /// A key is due once a minute at most.
    async fn write(&self) -> Result<usize, StorageError> {
        self.record(self.uses.take_due(self.clock.now())).await
    }

    async fn write_last(&self) -> Result<usize, StorageError> {
        self.record(self.uses.take_last(self.clock.now())).await
    }

    fn unwritten(&self) -> usize {
        self.uses.unwritten() + self.being_written.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use async_trait::async_trait;
    use chrono::{DateTime, Utc};
    use keyward_domain::api_key::LastUse;
    use keyward_domain::id::IdGenerator;
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::background_writer::{RunningWriter, WRITE_INTERVAL, start};
    use crate::logging::tests::Lines;
    use crate::random::OsRandom;

    #[derive(Default)]
    struct Book {
        is_down: AtomicBool,
        panics: AtomicBool,
        /// The keys of which it rejects every batch.
        rejected: Mutex<HashSet<ApiKeyId>>,
        attempts: Mutex<Vec<usize>>,
        order: Mutex<Vec<ApiKeyId>>,
        kept: Mutex<HashMap<ApiKeyId, LastUse>>,
    }

    #[async_trait]
    impl LastUses for Book {
        async fn record(&self, uses: Vec<KeyUse>, _: DateTime<Utc>) -> Result<(), StorageError> {
            self.attempts.lock().unwrap().push(uses.len());
            assert!(!self.panics.load(Ordering::SeqCst), "a defect");
            if self.is_down.load(Ordering::SeqCst) {
                return Err(StorageError::Unavailable("away".into()));
            }
            let rejected = self.rejected.lock().unwrap();
            if uses.iter().any(|used| rejected.contains(&used.key)) {
                return Err(StorageError::Defect("damaged".into()));
            }
            self.order
                .lock()
                .unwrap()
                .extend(uses.iter().map(|used| used.key));
            let uses = uses.into_iter().map(|used| (used.key, used.last));
            self.kept.lock().unwrap().extend(uses);
            Ok(())
        }
    }

    /// The time of the test's runtime, which advances while all tasks wait.
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
            start(LastUseWriter::new(
                Arc::clone(&self.uses),
                book,
                Arc::clone(&self.clock),
            ))
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
    async fn unwritten_uses_are_kept_and_written_when_storage_returns() {
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
        sleep(WRITE_INTERVAL).await;
        assert_eq!((scene.kept(idle), scene.kept(busy)), (Some(first), Some(last)));
        writer.finish().await;
    }

    #[tokio::test(start_paused = true)]
    async fn uses_in_a_failed_batch_are_written_later() {
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
        sleep(WRITE_INTERVAL).await;
        assert_eq!(*scene.book.attempts.lock().unwrap(), [1_000, 1_000, 1_000, 500]);
        assert!(keys.iter().all(|key| scene.kept(*key).is_some()));
        writer.finish().await;
    }

    #[tokio::test(start_paused = true)]
    async fn uses_in_a_write_that_panics_are_written_later() {
        let (lines, _logged) = Lines::of_this_thread();
        let scene = Scene::new();
        let key = scene.ids.next();
        let last = scene.note(key);
        scene.book.panics.store(true, Ordering::SeqCst);
        let writer = scene.start();
        sleep(Duration::from_secs(1)).await;
        assert_eq!(scene.uses.unwritten(), 1);
        let text = lines.text();
        assert!(
            text.contains("last uses of keys") && text.contains("task panicked"),
            "{text}"
        );
        scene.book.panics.store(false, Ordering::SeqCst);
        sleep(WRITE_INTERVAL).await;
        assert_eq!(scene.kept(key), Some(last));
        assert_eq!(writer.measured().runs.summary().failures, 1);
        assert_eq!(writer.finish().await, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn uses_beside_rejected_ones_are_written() {
        let (lines, _logged) = Lines::of_this_thread();
        let scene = Scene::new();
        let keys: Vec<ApiKeyId> = (0..2_500).map(|_| scene.ids.next()).collect();
        let rejected = [keys[700], keys[1_800]];
        scene.book.rejected.lock().unwrap().extend(rejected);
        for key in &keys {
            scene.note(*key);
        }
        let writer = scene.start();
        sleep(3 * WRITE_INTERVAL).await;
        let is_kept = |key: &&ApiKeyId| scene.kept(**key).is_some();
        assert_eq!(keys.iter().filter(is_kept).count(), 2_498);
        let attempts = scene.book.attempts.lock().unwrap().len();
        assert!(attempts < 100, "{attempts}");
        let text = lines.text();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains(&rejected[0].to_string()), "{text}");
        assert_eq!(writer.finish().await, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn few_uses_are_dropped_if_storage_rejects_all() {
        let scene = Scene::new();
        let keys: Vec<ApiKeyId> = (0..2_500).map(|_| scene.ids.next()).collect();
        scene.book.rejected.lock().unwrap().extend(&keys);
        for key in keys {
            scene.note(key);
        }
        let writer = scene.start();
        sleep(Duration::from_secs(1)).await;
        let attempts = scene.book.attempts.lock().unwrap().len();
        assert_eq!(
            (scene.uses.unwritten(), attempts),
            (2_500 - MOST_REJECTED, MOST_REJECTED + 10)
        );
        drop(writer);
    }

    #[tokio::test(start_paused = true)]
    async fn key_in_constant_use_is_written_each_minute_and_finally() {
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
    async fn uses_refused_by_storage_at_shutdown_are_counted() {
        let scene = Scene::new();
        let writer = scene.start();
        for _ in 0..2_500 {
            scene.note(scene.ids.next());
        }
        scene.book.is_down.store(true, Ordering::SeqCst);
        assert_eq!(writer.finish().await, 2_500);
    }

    #[tokio::test(start_paused = true)]
    async fn uses_are_written_if_storage_returns_during_shutdown() {
        let scene = Scene::new();
        let key = scene.ids.next();
        let writer = scene.start();
        let last = scene.note(key);
        scene.book.is_down.store(true, Ordering::SeqCst);
        let finishing = tokio::spawn(writer.finish());
        sleep(Duration::from_secs(4)).await;
        assert!(!finishing.is_finished());
        scene.book.is_down.store(false, Ordering::SeqCst);
        assert_eq!(finishing.await.unwrap(), 0);
        assert_eq!(scene.kept(key), Some(last));
    }

    #[tokio::test(start_paused = true)]
    async fn uses_of_many_keys_are_written_in_batches() {
        let scene = Scene::new();
        let keys: Vec<ApiKeyId> = (0..2_500).map(|_| scene.ids.next()).collect();
        for key in &keys {
            scene.note(*key);
        }
        assert_eq!(scene.start().finish().await, 0);
        assert_eq!(*scene.book.attempts.lock().unwrap(), [1_000, 1_000, 500]);
        assert_eq!(
            *scene.book.order.lock().unwrap(),
            keys,
            "neighbours of the storage together"
        );
    }
}
