//! How changes run: one transaction in its own task.

use std::sync::Arc;

use diesel::connection::SimpleConnection;
use diesel::prelude::SqliteConnection;
use keyward_domain::ports::StorageError;
use tokio::time::{Instant, timeout_at};

use super::database_file::Access;
use super::errors::{commit_error, is_damaged, storage_error};
use super::numbering::number;
use super::ready::at_once;
use super::sql::concerns::summary;
use super::store::{SYSTEM, SqliteStore};
use crate::abort::{Abort, TooSlow, Work, boxed};
use crate::claim::Claim;
use crate::key_change_turns::{TurnRequest, in_turn};
use crate::noted_changes::noting_at_once;
use crate::progress::{Progress, settled};
use crate::task;
use crate::traces::{self, Operation};

impl SqliteStore {
    /// Runs a change in one transaction, which finishes even if the caller stops waiting.
    ///
    /// A running transaction is never interrupted. At the answer deadline it is withdrawn: it will roll back
    /// instead of committing, so the caller learns at once that nothing changed. Once it commits, only the
    /// wait for it has a deadline.
    pub(super) async fn change_blocking<T, E, W>(&self, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        W: FnOnce(&mut SqliteConnection) -> Result<T, Abort<E>> + Send + 'static,
    {
        self.run_change(Instant::now(), None, Claim::Nothing, work, || None)
            .await
    }

    /// A change that began at this moment, once it is its turn. On a full disk, it is retried with the disk
    /// space that its claim frees from the reserve.
    pub(super) async fn change_begun<T, E, W>(
        &self,
        begun: Instant,
        turn: Option<TurnRequest>,
        claim: Claim,
        work: W,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        W: Work<SqliteConnection, T, E> + Clone,
    {
        let work = move |connection: &mut SqliteConnection| at_once(work(connection));
        let again = work.clone();
        self.run_change(begun, turn, claim, work, move || Some(again.clone()))
            .await
    }

    async fn run_change<T, E, W>(
        &self,
        begun: Instant,
        turn: Option<TurnRequest>,
        claim: Claim,
        work: W,
        again: impl FnMut() -> Option<W> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        W: FnOnce(&mut SqliteConnection) -> Result<T, Abort<E>> + Send + 'static,
    {
        let _span = traces::span::<W>(SYSTEM, Operation::Change);
        let answer_by = begun + self.timeouts.answer;
        let progress = Arc::new(Progress::default());
        let running = self
            .clone()
            .run_in_order(answer_by, Arc::clone(&progress), claim, work, again);
        let turn_by = begun + self.timeouts.answer / 2;
        let mut task = task::spawn(in_turn(turn, turn_by, running));
        if let Ok(finished) = timeout_at(answer_by, &mut task).await {
            return settled(finished, &progress);
        }
        if progress.withdraw() {
            return Err(StorageError::Unavailable(TooSlow::Answer.into()).into());
        }
        match timeout_at(begun + self.timeouts.outcome, task).await {
            Ok(finished) => settled(finished, &progress),
            Err(_) => Err(StorageError::OutcomeUnknown(TooSlow::Commit.into()).into()),
        }
    }

    /// Changes of this process queue here, fairly among clients. SQLite's own busy handler is unfair, so some
    /// would starve.
    async fn run_in_order<T, E, W>(
        self,
        answer_by: Instant,
        progress: Arc<Progress>,
        claim: Claim,
        mut work: W,
        mut again: impl FnMut() -> Option<W> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        W: FnOnce(&mut SqliteConnection) -> Result<T, Abort<E>> + Send + 'static,
    {
        let acquired = async {
            let permit = self.writers.acquire().await;
            (permit, self.writer.lock_owned().await)
        };
        let Ok((permit, writer)) = timeout_at(answer_by, acquired).await else {
            return Err(StorageError::Unavailable(TooSlow::Connection.into()).into());
        };
        let (file, of_commit) = (self.file, Arc::clone(&progress));
        let committing = task::spawn_blocking(move || {
            // Dropped in reverse: the next in line finds the connection free.
            let (_permit, mut writer) = (permit, writer);
            file.check_in_place()?;
            file.check_log_in_place()?;
            file.reserve.admit(claim)?;
            loop {
                let connection = match writer.take() {
                    Some(connection) => connection,
                    None => file.connect(Access::Write)?,
                };
                let (connection, outcome) = commit(connection, &of_commit, work);
                *writer = connection;
                if let Err(Abort::Query(error)) = &outcome
                    && file.lacks_room(error)
                    && file.reserve.release(claim)
                    && let Some(next) = again()
                {
                    of_commit.work_again();
                    work = next;
                    continue;
                }
                if let Err(Abort::Query(error)) = &outcome {
                    file.note_damage(error);
                }
                let is_committing = of_commit.is_committing();
                return outcome.map_err(|abort| abort.into_error(is_committing, storage_error, commit_error));
            }
        });
        settled(committing.await, &progress)
    }
}

/// Runs the transaction. Returns the connection unless the transaction failed; closing it rolls back an open
/// transaction.
///
/// IMMEDIATE acquires the write lock before the first read and waits for other processes up to
/// `busy_timeout`. So all reads stay true until COMMIT, and no later statement fails because the database is
/// locked.
///
/// diesel's own `immediate_transaction` is not used: SQLite rolls back by itself when the disk is full, and
/// diesel would then report only that there is nothing to roll back.
pub(super) fn commit<T, E>(
    mut connection: SqliteConnection,
    progress: &Progress,
    work: impl FnOnce(&mut SqliteConnection) -> Result<T, Abort<E>>,
) -> (Option<SqliteConnection>, Result<T, Abort<E>>) {
    if let Err(error) = connection.batch_execute("BEGIN IMMEDIATE") {
        return (None, Err(error.into()));
    }
    let (done, changes) = noting_at_once(|| work(&mut connection));
    let outcome = done.and_then(|value| {
        let changes = at_once(boxed(async { Ok(summary(&mut connection, changes).await?) }))?;
        number(&mut connection, &changes)?;
        // Last before the COMMIT: what fails from here on failed during it.
        if progress.begin_commit() {
            Ok(value)
        } else {
            Err(StorageError::Unavailable(TooSlow::Answer.into()).into())
        }
    });
    match outcome {
        Ok(value) => match connection.batch_execute("COMMIT") {
            Ok(()) => (Some(connection), Ok(value)),
            Err(error) => (None, Err(error.into())),
        },
        Err(abort) => {
            let rolled_back = connection.batch_execute("ROLLBACK");
            // A damaged page must not stay in the connection's cache.
            let is_damaged = matches!(&abort, Abort::Query(error) if is_damaged(error));
            let is_usable = rolled_back.is_ok() && !is_damaged;
            (is_usable.then_some(connection), Err(abort))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    use diesel::connection::{Connection, InstrumentationEvent, SimpleConnection};
    use diesel::prelude::{QueryableByName, RunQueryDsl, SqliteConnection};
    use diesel::sql_types::BigInt;
    use keyward_domain::ports::StorageError;
    use tempfile::TempDir;

    use crate::abort::Abort;
    use crate::claim::Claim;
    use crate::sqlite::ready::for_any_connection;
    use crate::sqlite::reserve::is_not_whole;
    use crate::sqlite::{SqliteConfig, SqliteStore};

    type Changed<T> = Result<T, Abort<StorageError>>;

    #[derive(QueryableByName)]
    struct Count {
        #[diesel(sql_type = BigInt)]
        count: i64,
    }

    async fn notes_in(store: &SqliteStore) -> i64 {
        let count = store.read_blocking(|connection| {
            let row: Count =
                diesel::sql_query("SELECT count(*) AS count FROM notes").get_result(connection)?;
            Ok(row.count)
        });
        count.await.unwrap()
    }

    async fn store(directory: &TempDir, change: impl FnOnce(&mut SqliteConfig)) -> SqliteStore {
        let mut config = SqliteConfig::in_directory(directory.path());
        config.answer_timeout = Duration::from_secs(40);
        config.outcome_timeout = Duration::from_secs(50);
        change(&mut config);
        let store = SqliteStore::open(config).unwrap();
        execute(&store, "CREATE TABLE notes (note BLOB) STRICT")
            .await
            .unwrap();
        store
    }

    async fn execute(store: &SqliteStore, statement: &'static str) -> Result<(), StorageError> {
        let work = move |connection: &mut SqliteConnection| -> Changed<()> {
            Ok(connection.batch_execute(statement)?)
        };
        store.change_blocking(work).await
    }

    const MIB: u64 = 1024 * 1024;

    const NOTE: &str = "INSERT INTO notes VALUES (x'00')";

    #[tokio::test]
    async fn late_commit_is_reported_unknown_and_continues() {
        let directory = TempDir::new().unwrap();
        let store = store(&directory, |config| {
            config.answer_timeout = Duration::from_secs(2);
            config.outcome_timeout = Duration::from_millis(2_200);
        })
        .await;
        let (go_on, wait) = mpsc::channel::<()>();
        let work = move |connection: &mut SqliteConnection| -> Changed<()> {
            connection.set_instrumentation(move |event: InstrumentationEvent<'_>| {
                if matches!(event, InstrumentationEvent::StartQuery { query, .. } if query.to_string() == "COMMIT") {
                    let _ = wait.recv();
                }
            });
            Ok(connection.batch_execute(NOTE)?)
        };
        let outcome = store.change_blocking(work).await;
        assert!(
            matches!(outcome, Err(StorageError::OutcomeUnknown(_))),
            "{outcome:?}"
        );
        assert_eq!(notes_in(&store).await, 0);

        drop(go_on);
        // Comes after it.
        execute(&store, NOTE).await.unwrap();
        assert_eq!(notes_in(&store).await, 2);
    }

    #[tokio::test]
    async fn change_not_committing_in_time_is_withdrawn() {
        let directory = TempDir::new().unwrap();
        let store = store(&directory, |config| {
            config.answer_timeout = Duration::from_secs(1);
        })
        .await;
        let (go_on, wait) = mpsc::channel::<()>();
        let work = move |connection: &mut SqliteConnection| -> Changed<()> {
            connection.batch_execute(NOTE)?;
            let _ = wait.recv();
            Ok(())
        };
        let outcome = store.change_blocking(work).await;
        assert!(
            matches!(outcome, Err(StorageError::Unavailable(_))),
            "{outcome:?}"
        );

        // A caller that waits for the slow one times out as well.
        let outcome = execute(&store, NOTE).await;
        assert!(
            matches!(outcome, Err(StorageError::Unavailable(_))),
            "{outcome:?}"
        );
        drop(go_on);
        execute(&store, NOTE).await.unwrap();
        assert_eq!(notes_in(&store).await, 1);
    }

    #[tokio::test]
    async fn full_disk_is_unavailable_until_space_is_free() {
        let directory = TempDir::new().unwrap();
        let store = store(&directory, |_| ()).await;
        let outcome = execute(
            &store,
            "PRAGMA max_page_count = 3; INSERT INTO notes VALUES (zeroblob(100000))",
        )
        .await;
        assert!(
            matches!(outcome, Err(StorageError::Unavailable(_))),
            "{outcome:?}"
        );
        assert_eq!(notes_in(&store).await, 0);
        // The setting was lost with the connection that failed.
        execute(&store, "INSERT INTO notes VALUES (zeroblob(100000))")
            .await
            .unwrap();
        assert_eq!(notes_in(&store).await, 1);
    }

    #[tokio::test]
    async fn revocations_use_the_reserve_while_other_changes_wait() {
        let directory = TempDir::new().unwrap();
        let store = store(&directory, |config| config.reserve = 4 * MIB).await;
        let reserve = || {
            let file = std::fs::metadata(directory.path().join("keyward.reserve"));
            file.unwrap().len()
        };
        assert_eq!(reserve(), 4 * MIB);
        // Finds room when it is tried for the third time.
        let attempts = Arc::new(AtomicU32::new(0));
        let fill = move |connection: &mut SqliteConnection| -> Changed<()> {
            if attempts.fetch_add(1, Ordering::Relaxed) < 2 {
                connection.batch_execute("PRAGMA max_page_count = 3")?;
            }
            Ok(connection.batch_execute("INSERT INTO notes VALUES (zeroblob(100000))")?)
        };
        let outcome = store.change_blocking(fill.clone()).await;
        assert!(
            matches!(outcome, Err(StorageError::Unavailable(_))),
            "{outcome:?}"
        );
        assert_eq!((notes_in(&store).await, reserve()), (0, 4 * MIB));
        let work = for_any_connection(move |connection| {
            let fill = fill.clone();
            Box::pin(async move { fill(connection) })
        });
        store.change(Claim::Revoking, work).await.unwrap();
        assert_eq!((notes_in(&store).await, reserve()), (1, 3 * MIB));

        let refused = execute(&store, NOTE).await.unwrap_err();
        assert!(is_not_whole(&refused), "{refused:?}");
        store.try_change().await.unwrap();
        assert_eq!(reserve(), 4 * MIB);
        execute(&store, NOTE).await.unwrap();
    }

    #[tokio::test]
    async fn revocations_exhausting_the_reserve_are_unavailable() {
        let directory = TempDir::new().unwrap();
        let store = store(&directory, |config| config.reserve = 2 * MIB).await;
        let work = for_any_connection(|connection| {
            let full = "PRAGMA max_page_count = 3; INSERT INTO notes VALUES (zeroblob(100000))";
            Box::pin(async move { Ok(connection.batch_execute(full)?) })
        });
        let outcome: Result<(), StorageError> = store.change(Claim::Revoking, work).await;
        assert!(
            matches!(outcome, Err(StorageError::Unavailable(_))),
            "{outcome:?}"
        );
        assert_eq!(notes_in(&store).await, 0);
    }

    #[tokio::test]
    async fn panicking_change_is_rolled_back_and_the_next_succeeds() {
        let directory = TempDir::new().unwrap();
        let store = store(&directory, |_| ()).await;
        let work = |connection: &mut SqliteConnection| -> Changed<()> {
            connection.batch_execute(NOTE)?;
            panic!("a defect")
        };
        let outcome = store.change_blocking(work).await;
        assert!(matches!(outcome, Err(StorageError::Defect(_))), "{outcome:?}");
        execute(&store, NOTE).await.unwrap();
        assert_eq!(notes_in(&store).await, 1);
    }

    #[tokio::test]
    async fn read_transaction_cannot_write() {
        let directory = TempDir::new().unwrap();
        let store = store(&directory, |_| ()).await;
        let outcome = store
            .read_blocking(|connection| Ok(connection.batch_execute(NOTE)?))
            .await;
        assert!(outcome.is_err());
        assert_eq!(notes_in(&store).await, 0);
    }
}
