//! Lookups on the caller's own thread, without a hop to one that may block.
//!
//! The hop costs several times what a lookup does: half of what a request costs altogether. A lookup reads a few pages by
//! their index, and can hold up its thread, on which other requests wait, in two ways only:
//! - *Locks.* In write-ahead mode, a read waits for no change; only in rare moments does it (recovery after a crash of
//!   another process). These connections have no busy timeout, so such a lookup fails at once, and is made again as any
//!   other read.
//! - *The disk*, if the pages are in no cache. After two lookups in a row that took [too long](super::lookups), all are made
//!   as ordinary reads for a second, so that a worker thread seldom waits for the disk. (One alone says nothing: on a busy
//!   machine, any thread may pause in the middle of a lookup.)
//!
//! A lookup that finds no idle connection is made as an ordinary read, too.

use std::convert::Infallible;

use diesel::prelude::SqliteConnection;
use keyward_domain::ports::StorageError;
use tokio::time::Instant;

use super::errors::storage_error;
use super::ready::at_once;
use super::store::SqliteStore;
use crate::abort::{Abort, Work};

impl SqliteStore {
    /// Runs a read of a few pages, which an index finds: on this thread if it can be quick.
    pub(super) async fn look_up<T, Q>(&self, query: Q) -> Result<T, StorageError>
    where
        T: Send + 'static,
        Q: Work<SqliteConnection, T, Infallible> + Clone,
    {
        match self.look_up_here(query.clone()) {
            Some(answer) => answer,
            None => self.read(query).await,
        }
    }

    /// Runs a lookup at once; nothing if it has to be a read as any other.
    fn look_up_here<T, Q>(&self, query: Q) -> Option<Result<T, StorageError>>
    where
        Q: Work<SqliteConnection, T, Infallible>,
    {
        let begun = Instant::now();
        let mut connection = self.lookups.take(&self.file, begun)?;
        let answer = match self.file.check_in_place() {
            Ok(()) => at_once(query(&mut connection)),
            Err(error) => Err(error.into()),
        };
        let ended = Instant::now();
        self.lookups.took(ended - begun, ended);
        match answer {
            // After a failed query, the connection is discarded. What failed may do with patience.
            Err(Abort::Query(_)) => {
                self.lookups.discard();
                None
            }
            answer => {
                self.lookups.put_back(connection);
                Some(answer.map_err(|abort| abort.into_storage_error(storage_error)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::thread::{self, ThreadId};
    use std::time::Duration;

    use diesel::prelude::{QueryableByName, SqliteConnection};
    use diesel::sql_types::BigInt;
    use futures_util::future::BoxFuture;
    use tokio::time::{Instant, sleep, timeout};

    use crate::abort::Abort;
    use crate::sqlite::lookups::{REST, TOO_LONG};
    use crate::sqlite::ready::RunQueryDsl as _;
    use crate::sqlite::tests::temporary_directory::TemporaryDirectory;
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

    async fn store(directory: &TemporaryDirectory) -> SqliteStore {
        let store = SqliteStore::open(SqliteConfig::in_directory(directory.path())).unwrap();
        let connects = async {
            while !is_made_here(&store).await {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(Duration::from_secs(20), connects).await.unwrap();
        store
    }

    #[tokio::test]
    async fn lookup_runs_on_its_callers_thread() {
        let directory = TemporaryDirectory::new();
        let store = store(&directory).await;
        assert!(is_made_here(&store).await);
    }

    #[tokio::test]
    async fn two_slow_lookups_in_a_row_send_others_away() {
        let directory = TemporaryDirectory::new();
        let store = store(&directory).await;
        let now = Instant::now();
        store.lookups.took(2 * TOO_LONG, now);
        store.lookups.took(Duration::ZERO, now);
        store.lookups.took(2 * TOO_LONG, now);
        assert!(store.lookups.take(&store.file, now).is_some());
        store.lookups.took(2 * TOO_LONG, now);
        assert!(store.lookups.take(&store.file, now).is_none());
        assert!(!is_made_here(&store).await);
        assert!(
            store
                .lookups
                .resting_until()
                .is_some_and(|until| until == now + REST)
        );
    }
}
