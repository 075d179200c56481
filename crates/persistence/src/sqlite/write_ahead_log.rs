//! The write-ahead log, which stays the same as long as the store is open.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, io, mem};

use diesel::prelude::SqliteConnection;
use keyward_domain::ports::StorageError;
use parking_lot::Mutex;

use super::file_identity::FileIdentity;
use super::moved::Moved;

/// The write-ahead log of an open database.
pub(super) struct WriteAheadLog {
    path: PathBuf,
    identity: Option<FileIdentity>,
    was_replaced: AtomicBool,
    /// SQLite removes the log with the last connection. This one is used for nothing else, so that the log
    /// stays the same as long as the store is open.
    connection: Mutex<Option<SqliteConnection>>,
}

impl WriteAheadLog {
    /// The log that this connection to the database has open.
    pub(super) fn of(database: &Path, connection: SqliteConnection) -> Self {
        // Beside the file itself, if the path is a link to it.
        let file = fs::canonicalize(database).unwrap_or_else(|_| database.to_owned());
        let mut path = file.into_os_string();
        path.push("-wal");
        let path = PathBuf::from(path);
        Self {
            identity: FileIdentity::at(&path).ok(),
            path,
            was_replaced: AtomicBool::new(false),
            connection: Mutex::new(Some(connection)),
        }
    }

    /// Writes to a log that was unlinked are lost if the process is killed, and SQLite would create another
    /// one for a new connection.
    pub(super) fn check_in_place(&self) -> Result<(), StorageError> {
        match self.place() {
            Ok(Place::Own) => Ok(()),
            Ok(Place::OfNone) => Err(unavailable(Moved::Log { path: self.shown() })),
            Ok(Place::OfAnother) => Err(unavailable(Moved::LogReplaced { path: self.shown() })),
            Err(error) => Err(unavailable(error)),
        }
    }

    /// All processes share the index of the log (`keyward.db-shm`). If that is of another log, this process
    /// would read other pages than the index says.
    pub(super) fn check_readable(&self) -> Result<(), StorageError> {
        match self.place() {
            Ok(Place::OfAnother) => Err(unavailable(Moved::LogReplaced { path: self.shown() })),
            _ => Ok(()),
        }
    }

    /// The file at the log's path. If it was replaced once, that log has changes that this one lacks, even if
    /// it was removed since.
    fn place(&self) -> io::Result<Place> {
        if self.was_replaced.load(Ordering::Relaxed) {
            return Ok(Place::OfAnother);
        }
        match self.path.metadata() {
            Ok(log) if Some(FileIdentity::of(&log)) == self.identity => Ok(Place::Own),
            // An empty log is left by a process that could not use the database: it expects the changes that
            // are in this one.
            Ok(log) if log.len() == 0 => Ok(Place::OfNone),
            Ok(_) => {
                self.was_replaced.store(true, Ordering::Relaxed);
                Ok(Place::OfAnother)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Place::OfNone),
            Err(error) => Err(error),
        }
    }

    fn shown(&self) -> String {
        self.path.display().to_string()
    }
}

/// Whether the log at the path is the one in use.
enum Place {
    Own,
    /// There is no log, or one without changes.
    OfNone,
    OfAnother,
}

fn unavailable(cause: impl Into<Box<dyn Error + Send + Sync>>) -> StorageError {
    StorageError::Unavailable(cause.into())
}

/// The last connection writes the log to the database file, and would write other pages than the index says if
/// that is of another log. If this connection stays open until the process ends, none is the last.
impl Drop for WriteAheadLog {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.get_mut().take()
            && matches!(self.place(), Ok(Place::OfAnother))
        {
            mem::forget(connection);
        }
    }
}
