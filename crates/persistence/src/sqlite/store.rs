//! The store: one connection that writes, a few that read, and how reads run on them.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use diesel::prelude::SqliteConnection;
use keyward_domain::ports::StorageError;
use tokio::time::{Instant, timeout_at};

use super::config::SqliteConfig;
use super::database_file::DatabaseFile;
use super::errors::storage_error;
use super::lookup_connections::LookupConnections;
use super::moved::Moved;
use super::open_error::OpenError;
use super::readers::{Readers, SLOW_AFTER, Waiter};
use crate::abort::{Abort, TooSlow};
use crate::fair_semaphore::FairSemaphore;
use crate::key_change_turns::KeyChangeTurns;
use crate::known_migrations::KnownMigrations;
use crate::task;
use crate::traces::{self, Operation};

/// OpenTelemetry's name of the database.
pub(super) const SYSTEM: &str = "sqlite";

/// Every storage port of the domain, on one SQLite file. Clones share their connections; other processes may
/// use the same file at the same time.
///
/// All waits are bounded by [`SqliteConfig`], except a key's lookup on its caller's thread, if the disk
/// hangs. A read that takes too long is cancelled and fails with [`Unavailable`](StorageError::Unavailable),
/// and so does a change that has not begun to commit by then: it is rolled back. A change whose COMMIT is not
/// confirmed fails with [`OutcomeUnknown`](StorageError::OutcomeUnknown).
#[derive(Clone)]
pub struct SqliteStore {
    pub(super) file: Arc<DatabaseFile>,
    /// `None` after a failed change: the next change opens a new connection.
    pub(super) writer: Arc<tokio::sync::Mutex<Option<SqliteConnection>>>,
    /// The next change, which would else be the one that has waited longest.
    pub(super) writers: FairSemaphore,
    pub(super) key_change_turns: KeyChangeTurns,
    pub(super) readers: Arc<Readers>,
    pub(super) lookup_connections: Arc<LookupConnections>,
    pub(super) timeouts: Timeouts,
    pub(super) migrations: KnownMigrations,
}

#[derive(Clone, Copy)]
pub(super) struct Timeouts {
    pub(super) answer: Duration,
    pub(super) outcome: Duration,
}

impl SqliteStore {
    /// Opens the database file, or creates an empty one. Blocks on disk I/O.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(config: SqliteConfig) -> Result<Self, OpenError> {
        let (file, writer) = DatabaseFile::open(&config.data_directory, config.busy_timeout, config.reserve)?;
        Ok(Self {
            file: Arc::new(file),
            writer: Arc::new(tokio::sync::Mutex::new(Some(writer))),
            writers: FairSemaphore::new(1),
            key_change_turns: KeyChangeTurns::of_store(config.max_readers),
            readers: Arc::new(Readers::new(config.max_readers)),
            lookup_connections: Arc::new(LookupConnections::new()),
            timeouts: Timeouts {
                answer: config.answer_timeout,
                outcome: config.outcome_timeout,
            },
            migrations: KnownMigrations::sqlite(),
        })
    }

    /// Why this process cannot read the database again, if another file is in its place.
    #[must_use]
    pub fn replacement(&self) -> Option<Moved> {
        self.file.replacement()
    }

    /// Runs a read until its deadline, or until the caller stops waiting. A slow read moves to one of a few
    /// slow slots, so that others can start.
    pub(super) async fn read_blocking<T, Q>(&self, query: Q) -> Result<T, StorageError>
    where
        T: Send + 'static,
        Q: FnOnce(&mut SqliteConnection) -> Result<T, Abort<Infallible>> + Send + 'static,
    {
        let span = traces::span::<Q>(SYSTEM, Operation::Read);
        let deadline = Instant::now() + self.timeouts.answer;
        let slot = match timeout_at(deadline, self.readers.slot()).await {
            Ok(slot) => Arc::new(slot),
            Err(_) => return Err(StorageError::Unavailable(TooSlow::Connection.into())),
        };
        // Dropped when this function returns or is cancelled, which cancels the read.
        let waiter = Arc::new(Waiter);
        let asked_by = Arc::downgrade(&waiter);
        let (file, readers, taken) = (
            Arc::clone(&self.file),
            Arc::clone(&self.readers),
            Arc::clone(&slot),
        );
        let mut reading = task::spawn_blocking(move || {
            // Held until the connection is returned.
            let _taken = taken;
            file.check_in_place()?;
            let mut reader = readers.take(&file, asked_by)?;
            let answer = query(&mut reader.connection);
            // After a failed query, the connection is discarded.
            match &answer {
                Err(Abort::Query(error)) => file.note_damage(error),
                _ => readers.give_back(reader),
            }
            answer.map_err(|abort| abort.into_storage_error(storage_error))
        });
        let soon = Instant::now() + SLOW_AFTER;
        let read = match timeout_at(soon.min(deadline), &mut reading).await {
            Ok(read) => Ok(read),
            Err(_) => {
                self.readers.move_to_slow_slots(&slot);
                timeout_at(deadline, reading).await
            }
        };
        let answer = match read {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) if error.is_panic() => Err(StorageError::Defect(error.into())),
            Ok(Err(error)) => Err(StorageError::Unavailable(error.into())),
            Err(_) => Err(StorageError::Unavailable(TooSlow::Answer.into())),
        };
        traces::end(&span, &answer);
        answer
    }
}
