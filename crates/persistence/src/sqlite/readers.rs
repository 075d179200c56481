//! The pool of read connections, and the limits on concurrent reads.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};
use std::time::Duration;

use diesel::prelude::SqliteConnection;
use keyward_domain::ports::StorageError;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::database_file::{Access, DatabaseFile};
use super::errors::storage_error;
use super::not_cancelled;
use crate::fair_semaphore::{FairPermit, FairSemaphore};

/// After this time, a read counts as slow and no longer occupies a fast slot. Nearly all reads take a
/// millisecond.
pub(super) const SLOW_AFTER: Duration = Duration::from_millis(100);

/// Each slow slot has a connection and a thread of its own, so they are bounded, too.
const SLOW_SLOTS_PER_FAST: usize = 2;

/// Read connections, opened on demand: never more than there are slots.
pub(super) struct Readers {
    /// Limits the reads that are not slow yet.
    fast_slots: FairSemaphore,
    /// Limits the slow reads, so that other reads need not wait for them.
    slow_slots: Arc<Semaphore>,
    idle: Mutex<Vec<Reader>>,
}

/// A read connection, whose statements are cancelled when their caller stops waiting.
pub(super) struct Reader {
    pub(super) connection: SqliteConnection,
    waiter: Arc<Mutex<Weak<Waiter>>>,
}

/// The caller that waits for a read. When this is dropped, the read is cancelled: see [`not_cancelled`].
pub(super) struct Waiter;

/// The slot of a running read, fast at first.
pub(super) struct ReadSlot(Mutex<HeldSlot>);

#[expect(dead_code, reason = "held until it is dropped")]
enum HeldSlot {
    Fast(FairPermit),
    Slow(OwnedSemaphorePermit),
}

impl Readers {
    pub(super) fn new(fast_slots: usize) -> Self {
        Self {
            fast_slots: FairSemaphore::new(fast_slots),
            slow_slots: Arc::new(Semaphore::new(SLOW_SLOTS_PER_FAST * fast_slots)),
            idle: Mutex::new(Vec::new()),
        }
    }

    /// Acquires a fast slot.
    pub(super) async fn slot(&self) -> ReadSlot {
        ReadSlot(Mutex::new(HeldSlot::Fast(self.fast_slots.acquire().await)))
    }

    /// Moves a slow read from its fast slot to a slow one, if one is free, so that another read can start.
    pub(super) fn move_to_slow_slots(&self, slot: &ReadSlot) {
        if let Ok(slow_slots) = Arc::clone(&self.slow_slots).try_acquire_owned() {
            *slot.0.lock() = HeldSlot::Slow(slow_slots);
        }
    }

    /// Acquires a connection for this caller.
    pub(super) fn take(&self, file: &DatabaseFile, waiter: Weak<Waiter>) -> Result<Reader, StorageError> {
        let idle = self.idle().pop();
        let reader = match idle {
            Some(reader) => reader,
            None => Reader::open(file)?,
        };
        *reader.waiter.lock() = waiter;
        Ok(reader)
    }

    pub(super) fn idle(&self) -> MutexGuard<'_, Vec<Reader>> {
        self.idle.lock()
    }

    pub(super) fn give_back(&self, reader: Reader) {
        self.idle().push(reader);
    }
}

impl Reader {
    fn open(file: &DatabaseFile) -> Result<Self, StorageError> {
        let mut connection = file.connect(Access::Read)?;
        let waiter = Arc::new(Mutex::new(Weak::new()));
        // A panic leaves weak references intact.
        let asked_by = AssertUnwindSafe(Arc::clone(&waiter));
        let is_awaited = move || asked_by.lock().strong_count() > 0;
        not_cancelled::register(&mut connection, is_awaited).map_err(storage_error)?;
        Ok(Self { connection, waiter })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use diesel::prelude::{Connection, QueryableByName, RunQueryDsl, SqliteConnection};
    use diesel::sql_types::BigInt;
    use futures_util::FutureExt as _;
    use keyward_domain::api_key::{KeyPrecondition, RevocationReason};
    use keyward_domain::audit::Actor;
    use keyward_domain::id::{ApiKeyId, MembershipId};
    use keyward_domain::ports::{ApiKeys, DescendantKeys, RevokeKeyError, StorageError};
    use keyward_domain::testing::Builder;
    use tempfile::TempDir;
    use tokio::time::{Instant, sleep, timeout};
    use uuid::Uuid;

    use super::Reader;
    use crate::sqlite::tests::scene::scene;
    use crate::sqlite::{SqliteConfig, SqliteStore};

    #[derive(QueryableByName)]
    struct Number {
        #[diesel(sql_type = BigInt)]
        number: i64,
    }

    /// Runs until it is cancelled.
    async fn endless(store: SqliteStore) -> Result<i64, StorageError> {
        read(
            &store,
            "WITH RECURSIVE endless AS (
                 SELECT 1 AS number UNION ALL SELECT 1 FROM endless WHERE not_cancelled(CAST(number AS BLOB))
             ) SELECT count(*) AS number FROM endless",
        )
        .await
    }

    async fn quick(store: &SqliteStore) -> Result<i64, StorageError> {
        read(store, "SELECT 1 AS number").await
    }

    async fn read(store: &SqliteStore, sql: &'static str) -> Result<i64, StorageError> {
        let read = move |connection: &mut SqliteConnection| {
            let row: Number = diesel::sql_query(sql).get_result(connection)?;
            Ok(row.number)
        };
        store.read_blocking(read).await
    }

    fn store(directory: &TempDir, answer_timeout: Duration) -> SqliteStore {
        let mut config = SqliteConfig::in_directory(directory.path());
        config.answer_timeout = answer_timeout;
        SqliteStore::open(config).unwrap()
    }

    async fn revoke(
        store: &SqliteStore,
        make: &Builder,
        descendants: DescendantKeys,
    ) -> Result<Vec<ApiKeyId>, RevokeKeyError> {
        let (consumer, key) = (
            MembershipId::from_uuid(Uuid::nil()),
            ApiKeyId::from_uuid(Uuid::nil()),
        );
        let act = make.act(Actor::Administrator);
        let (cause, any) = (RevocationReason::Holder.into(), KeyPrecondition::AnyVersion);
        ApiKeys::revoke(store, consumer, key, cause, descendants, any, act).await
    }

    #[tokio::test]
    async fn revocations_do_not_wait_for_stalled_reads() {
        let directory = TempDir::new().unwrap();
        let (mut store, make) = (scene(&directory).await, Builder::new(1));
        store.timeouts.answer = Duration::from_secs(8);
        let mut stalled = Vec::new();
        while let Some(slot) = store.readers.slot().now_or_never() {
            stalled.push(slot);
        }
        assert_eq!(
            revoke(&store, &make, DescendantKeys::Keep).await.unwrap().len(),
            1
        );
        // A descendant is valid, so the revocation runs its read first.
        assert_eq!(
            revoke(&store, &make, DescendantKeys::Revoke).await.unwrap().len(),
            1
        );
        assert_eq!(revoke(&store, &make, DescendantKeys::Revoke).await.unwrap(), []);
    }

    #[tokio::test]
    async fn failing_reads_do_not_fail_revocations() {
        let directory = TempDir::new().unwrap();
        let (store, make) = (scene(&directory).await, Builder::new(1));
        let read_fails_next = || {
            let no_tables = SqliteConnection::establish(":memory:").unwrap();
            store.readers.give_back(Reader {
                connection: no_tables,
                waiter: Arc::default(),
            });
        };
        read_fails_next();
        assert!(
            read(&store, "SELECT count(*) AS number FROM api_keys")
                .await
                .is_err()
        );
        read_fails_next();
        assert_eq!(
            revoke(&store, &make, DescendantKeys::Keep).await.unwrap().len(),
            1
        );
        assert_eq!(
            revoke(&store, &make, DescendantKeys::Revoke).await.unwrap().len(),
            1
        );
    }

    async fn all_places_are_free(store: &SqliteStore) {
        let free = async {
            while (
                store.readers.fast_slots.free(),
                store.readers.slow_slots.available_permits(),
            ) != (4, 8)
            {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(20), free).await.unwrap();
    }

    #[tokio::test]
    async fn slow_reads_do_not_delay_others_as_long() {
        let directory = TempDir::new().unwrap();
        let store = store(&directory, Duration::from_secs(60));
        let stuck: Vec<_> = (0..8).map(|_| tokio::spawn(endless(store.clone()))).collect();
        for _ in 0..10 {
            let asked = Instant::now();
            assert_eq!(quick(&store).await.unwrap(), 1);
            let waited = asked.elapsed();
            assert!(waited < Duration::from_secs(20), "{waited:?}");
        }
        assert!(stuck.iter().all(|read| !read.is_finished()));
        for read in stuck {
            read.abort();
        }
        all_places_are_free(&store).await;
    }

    #[tokio::test]
    async fn timed_out_read_is_interrupted() {
        let directory = TempDir::new().unwrap();
        let store = store(&directory, Duration::from_millis(300));
        for _ in 0..3 {
            let reads = (0..16).map(|_| endless(store.clone()));
            for given_up in futures_util::future::join_all(reads).await {
                assert!(
                    matches!(given_up, Err(StorageError::Unavailable(_))),
                    "{given_up:?}"
                );
            }
        }
        all_places_are_free(&store).await;
        assert_eq!(quick(&store).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn cancelled_read_is_interrupted() {
        let directory = TempDir::new().unwrap();
        let store = store(&directory, Duration::from_secs(60));
        for _ in 0..20 {
            let left = timeout(Duration::from_millis(20), endless(store.clone())).await;
            assert!(left.is_err());
        }
        all_places_are_free(&store).await;
        assert_eq!(quick(&store).await.unwrap(), 1);
    }
}
