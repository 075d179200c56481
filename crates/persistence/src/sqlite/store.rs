//! The store: one connection that writes, a few that read, and how reads run on them.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use diesel::prelude::SqliteConnection;
use keyward_domain::ports::StorageError;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::config::SqliteConfig;
use super::database_file::{Access, DatabaseFile};
use super::errors::storage_error;
use super::open_error::OpenError;
use crate::abort::{Abort, TooSlow};

/// Every storage port of the domain, on one SQLite file. Clones share their connections; other processes may use the
/// same file at the same time.
///
/// Nothing waits longer than [`SqliteConfig`] says. A read that takes too long is
/// [`Unavailable`](StorageError::Unavailable), and so is a change that has not begun to commit by then: it is rolled
/// back. Only a change of which nobody knows whether it was committed is
/// [`OutcomeUnknown`](StorageError::OutcomeUnknown).
#[derive(Clone)]
pub struct SqliteStore {
    pub(super) file: Arc<DatabaseFile>,
    /// Empty after a change that ended badly: the next one opens another.
    pub(super) writer: Arc<tokio::sync::Mutex<Option<SqliteConnection>>>,
    readers: Arc<Readers>,
    pub(super) timeouts: Timeouts,
}

#[derive(Clone, Copy)]
pub(super) struct Timeouts {
    pub(super) answer: Duration,
    pub(super) outcome: Duration,
}

/// Connections that read: as many as there are permits, opened when they are first needed.
struct Readers {
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<SqliteConnection>>,
}

impl SqliteStore {
    /// Opens the database file, or makes an empty one. It blocks for as long as the disk takes.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(config: SqliteConfig) -> Result<Self, OpenError> {
        let (file, writer) = DatabaseFile::open(&config.data_directory, config.busy_timeout)?;
        Ok(Self {
            file: Arc::new(file),
            writer: Arc::new(tokio::sync::Mutex::new(Some(writer))),
            readers: Arc::new(Readers {
                permits: Arc::new(Semaphore::new(config.max_readers)),
                idle: Mutex::new(Vec::new()),
            }),
            timeouts: Timeouts {
                answer: config.answer_timeout,
                outcome: config.outcome_timeout,
            },
        })
    }

    /// Runs a read to its end, also if the caller stops waiting; the caller waits until the deadline.
    pub(super) async fn read<T, Q>(&self, query: Q) -> Result<T, StorageError>
    where
        T: Send + 'static,
        Q: FnOnce(&mut SqliteConnection) -> Result<T, Abort<Infallible>> + Send + 'static,
    {
        let deadline = Instant::now() + self.timeouts.answer;
        let permit = match timeout_at(deadline, Arc::clone(&self.readers.permits).acquire_owned()).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(closed)) => return Err(StorageError::Defect(closed.into())),
            Err(_) => return Err(StorageError::Unavailable(TooSlow::Connection.into())),
        };
        let (file, readers) = (Arc::clone(&self.file), Arc::clone(&self.readers));
        let reading = tokio::task::spawn_blocking(move || {
            // Given back when the connection is.
            let _permit = permit;
            file.check_in_place()?;
            let mut connection = match readers.take() {
                Some(connection) => connection,
                None => file.connect(Access::Read)?,
            };
            let answer = query(&mut connection);
            // After a failure, a fresh connection may do better.
            if !matches!(answer, Err(Abort::Query(_))) {
                readers.give_back(connection);
            }
            answer.map_err(|abort| abort.into_storage_error(storage_error))
        });
        match timeout_at(deadline, reading).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) if error.is_panic() => Err(StorageError::Defect(error.into())),
            Ok(Err(error)) => Err(StorageError::Unavailable(error.into())),
            Err(_) => Err(StorageError::Unavailable(TooSlow::Answer.into())),
        }
    }
}

impl Readers {
    fn take(&self) -> Option<SqliteConnection> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn give_back(&self, connection: SqliteConnection) {
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(connection);
    }
}
