//! Lookups on the caller's own thread, without a hop to a thread that may block.
//!
//! The hop costs several times as much as the lookup, and half as much as the whole request. A lookup reads a few pages
//! by their index, and can block its thread, on which other requests wait, only by:
//! - *Locks.* In write-ahead mode, a read waits for no change, only while another process recovers the
//!   database after a crash.
//! - *The disk*, if the pages are in no cache. After two lookups in a row that took
//!   [too long](super::lookup_connections::SLOW_AFTER), all are made as ordinary reads for a
//!   [second](super::lookup_connections::PAUSE). (One alone says nothing: on a busy machine, any thread may
//!   pause in the middle of a lookup.)
//!
//! However long either takes, one worker thread of the runtime is kept free of lookups
//! ([`LookupConnections`](super::lookup_connections::LookupConnections)), so that all other requests and all deadlines
//! continue. A lookup that finds all connections in use yields to other tasks and tries again a few times; without
//! that, every third would make the hop with two worker threads. A lookup that gets no connection is made as an
//! ordinary read.

use std::convert::Infallible;

use diesel::prelude::SqliteConnection;
use keyward_domain::ports::StorageError;
use tokio::task::yield_now;
use tokio::time::Instant;

use super::errors::storage_error;
use super::lookup_connections::NoConnection;
use super::ready::at_once;
use super::store::{SYSTEM, SqliteStore};
use crate::abort::{Abort, Work};
use crate::traces::{self, Operation};

/// How often a lookup asks for a connection before it is made as an ordinary read. Other lookups take a few
/// microseconds each, about as long as one turn of other tasks.
const MAX_TURNS: u32 = 8;

impl SqliteStore {
    /// Runs a read of a few pages, which an index finds: on this thread if it can be quick.
    pub(super) async fn look_up<T, Q>(&self, query: Q) -> Result<T, StorageError>
    where
        T: Send + 'static,
        Q: Work<SqliteConnection, T, Infallible> + Clone,
    {
        for _ in 0..MAX_TURNS {
            match self.look_up_here(query.clone()) {
                Ok(answer) => return answer,
                Err(NoConnection::InUse) => yield_now().await,
                Err(NoConnection::Unavailable) => break,
            }
        }
        self.read(query).await
    }

    /// Runs a lookup at once, if it gets a connection. A query that failed is repeated as an ordinary read, which may
    /// wait for locks.
    fn look_up_here<T, Q>(&self, query: Q) -> Result<Result<T, StorageError>, NoConnection>
    where
        Q: Work<SqliteConnection, T, Infallible>,
    {
        let start = Instant::now();
        let mut lookup = self.lookup_connections.take(&self.file, start)?;
        let _span = traces::span::<Q>(SYSTEM, Operation::Read);
        let answer = match self.file.check_in_place() {
            Ok(()) => at_once(query(&mut lookup.connection)),
            Err(error) => Err(error.into()),
        };
        let end = Instant::now();
        self.lookup_connections.record_duration(end - start, end);
        // Not put back, the connection is closed.
        if let Err(Abort::Query(_)) = answer {
            return Err(NoConnection::Unavailable);
        }
        lookup.put_back();
        Ok(answer.map_err(|abort| abort.into_storage_error(storage_error)))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};
    use std::thread::{self, ThreadId};
    use std::time::Duration;

    use diesel::prelude::{QueryableByName, SqliteConnection};
    use diesel::sql_types::BigInt;
    use futures_util::future::BoxFuture;
    use tempfile::TempDir;
    use tokio::runtime::Builder;
    use tokio::sync::mpsc;
    use tokio::time::{Instant, interval, sleep, timeout};

    use crate::abort::{Abort, Work};
    use crate::sqlite::lookup_connections::{PAUSE, SLOW_AFTER};
    use crate::sqlite::ready::RunQueryDsl as _;
    use crate::sqlite::{SqliteConfig, SqliteStore};

    #[derive(QueryableByName)]
    struct Number {
        #[diesel(sql_type = BigInt)]
        number: i64,
    }

    /// Whether a lookup runs on the thread of its caller.
    async fn is_made_here(store: &SqliteStore) -> bool {
        fn thread(connection: &mut SqliteConnection) -> BoxFuture<'_, Result<ThreadId, Abort<Infallible>>> {
            Box::pin(async move {
                let row: Number = diesel::sql_query("SELECT 1 AS number")
                    .get_result(connection)
                    .await?;
                assert_eq!(row.number, 1);
                Ok(thread::current().id())
            })
        }
        store.look_up(thread).await.unwrap() == thread::current().id()
    }

    async fn store(directory: &TempDir) -> SqliteStore {
        let store = SqliteStore::open(SqliteConfig::in_directory(directory.path())).unwrap();
        let connects = async {
            while !is_made_here(&store).await {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(Duration::from_secs(20), connects).await.unwrap();
        store
    }

    fn hanging_query(
        hang: impl FnOnce() + Clone + Send + 'static,
    ) -> impl Work<SqliteConnection, (), Infallible> + Clone {
        move |_| {
            hang();
            Box::pin(async { Ok(()) })
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn lookup_runs_on_its_callers_thread() {
        let directory = TempDir::new().unwrap();
        let store = store(&directory).await;
        assert!(is_made_here(&store).await);
    }

    #[tokio::test]
    async fn only_worker_thread_makes_no_lookup() {
        let directory = TempDir::new().unwrap();
        let store = SqliteStore::open(SqliteConfig::in_directory(directory.path())).unwrap();
        for _ in 0..3 {
            assert!(!is_made_here(&store).await);
        }
        assert!(
            store
                .lookup_connections
                .take(&store.file, Instant::now())
                .is_err()
        );
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn hanging_lookups_leave_a_worker_thread_to_others() {
        let directory = TempDir::new().unwrap();
        let store = store(&directory).await;
        let (hanging, hangs) = std::sync::mpsc::channel::<()>();
        let disk = Arc::new(Mutex::new(hangs));
        let (begun, mut begins) = mpsc::unbounded_channel();
        let lookups: Vec<_> = (0..4)
            .map(|_| {
                let (disk, begun) = (Arc::clone(&disk), begun.clone());
                let store = store.clone();
                tokio::spawn(async move {
                    store
                        .look_up(hanging_query(move || {
                            begun.send(()).unwrap();
                            assert!(disk.lock().unwrap().recv().is_err());
                        }))
                        .await
                })
            })
            .collect();
        begins.recv().await.unwrap();
        for _ in 0..4 {
            let other = tokio::spawn(sleep(Duration::from_millis(1)));
            timeout(Duration::from_secs(20), other).await.unwrap().unwrap();
        }
        drop(hanging);
        for lookup in lookups {
            // Those that were made as ordinary reads may have been too late.
            let _late = lookup.await.unwrap();
        }
    }

    /// The lookup hangs on the only worker that waits for timers, and no other task wakes the other worker.
    #[test]
    fn timers_go_on_while_a_lookup_hangs() {
        let mut runtime = Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_time().build().unwrap();
        let directory = TempDir::new().unwrap();
        let store = runtime.block_on(store(&directory));
        let (ticked, ticks) = std::sync::mpsc::channel();
        let ticking = runtime.spawn(async move {
            let mut ticking = interval(Duration::from_millis(10));
            while ticked.send(ticking.tick().await).is_ok() {}
        });
        let (hanging, hangs) = std::sync::mpsc::channel::<()>();
        let hangs = Arc::new(Mutex::new(hangs));
        let (begun, begins) = std::sync::mpsc::channel();
        let lookup = runtime.spawn(async move {
            sleep(Duration::from_millis(15)).await;
            let hang = move || {
                begun.send(Instant::now()).unwrap();
                assert!(hangs.lock().unwrap().recv().is_err());
            };
            store.look_up(hanging_query(hang)).await
        });
        let begun = begins.recv_timeout(Duration::from_secs(20)).unwrap();
        while ticks.recv_timeout(Duration::from_secs(5)).unwrap() <= begun {}
        drop((hanging, ticks));
        runtime.block_on(lookup).unwrap().unwrap();
        runtime.block_on(ticking).unwrap();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn two_slow_lookups_in_a_row_pause_lookups() {
        let directory = TempDir::new().unwrap();
        let store = store(&directory).await;
        let connections = &store.lookup_connections;
        let now = Instant::now();
        connections.record_duration(2 * SLOW_AFTER, now);
        connections.record_duration(Duration::ZERO, now);
        connections.record_duration(2 * SLOW_AFTER, now);
        connections.take(&store.file, now).ok().unwrap().put_back();
        connections.record_duration(2 * SLOW_AFTER, now);
        assert!(connections.take(&store.file, now).is_err());
        assert!(!is_made_here(&store).await);
        assert_eq!(*connections.paused_until.lock(), Some(now + PAUSE));
    }
}
