//! How changes run: one transaction in a task of its own.

use std::sync::Arc;

use diesel::prelude::SqliteConnection;
use keyward_domain::ports::StorageError;
use tokio::time::{Instant, timeout_at};

use super::database_file::Access;
use super::errors::{commit_error, storage_error};
use super::store::SqliteStore;
use crate::abort::{Abort, TooSlow};
use crate::progress::{Progress, settled};

impl SqliteStore {
    /// Runs a change in one transaction, which finishes even if the caller stops waiting.
    ///
    /// Nothing cuts the transaction short. At the answer's deadline it is withdrawn: it will roll back instead of
    /// committing, so the caller can be told now that nothing changed. Once it commits, only waiting has a deadline.
    pub(super) async fn change<T, E, W>(&self, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        W: FnOnce(&mut SqliteConnection) -> Result<T, Abort<E>> + Send + 'static,
    {
        let begun = Instant::now();
        let answer_by = begun + self.timeouts.answer;
        let progress = Arc::new(Progress::default());
        let mut task = tokio::spawn(
            self.clone()
                .when_it_is_its_turn(answer_by, Arc::clone(&progress), work),
        );
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

    /// The changes of this process wait for each other here, in the order in which they came. SQLite would let them
    /// fight, and some would starve.
    async fn when_it_is_its_turn<T, E, W>(
        self,
        answer_by: Instant,
        progress: Arc<Progress>,
        work: W,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        W: FnOnce(&mut SqliteConnection) -> Result<T, Abort<E>> + Send + 'static,
    {
        let Ok(mut writer) = timeout_at(answer_by, self.writer.lock_owned()).await else {
            return Err(StorageError::Unavailable(TooSlow::Connection.into()).into());
        };
        let (file, of_commit) = (self.file, Arc::clone(&progress));
        let committing = tokio::task::spawn_blocking(move || {
            let mut connection = match writer.take() {
                Some(connection) => connection,
                None => file.connect(Access::Write)?,
            };
            let outcome = commit(&mut connection, &of_commit, work);
            // Closing the connection ends whatever a failure may have left of its transaction.
            if !matches!(outcome, Err(Abort::Query(_))) {
                *writer = Some(connection);
            }
            match outcome {
                Ok(value) => Ok(value),
                Err(Abort::Refused(refusal)) => Err(refusal),
                Err(Abort::Storage(error)) => Err(error.into()),
                Err(Abort::Query(error)) if of_commit.is_committing() => Err(commit_error(error).into()),
                Err(Abort::Query(error)) => Err(storage_error(error).into()),
            }
        });
        settled(committing.await, &progress)
    }
}

/// IMMEDIATE takes the write lock before anything is read, waiting for other processes as long as `busy_timeout` says.
/// So what is read stays true until the COMMIT, and no statement in between finds the database locked.
fn commit<T, E>(
    connection: &mut SqliteConnection,
    progress: &Progress,
    work: impl FnOnce(&mut SqliteConnection) -> Result<T, Abort<E>>,
) -> Result<T, Abort<E>> {
    connection.immediate_transaction(|connection| {
        let value = work(connection)?;
        // Last in the transaction: what fails from here on failed during COMMIT.
        if progress.begin_commit() {
            Ok(value)
        } else {
            Err(StorageError::Unavailable(TooSlow::Answer.into()).into())
        }
    })
}
