//! The write-ahead log, which stays the same as long as the store is open.

use std::path::{Path, PathBuf};
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
            connection: Mutex::new(Some(connection)),
        }
    }

    /// What is written to a log that has lost its name is lost if the process is killed, and SQLite would make
    /// another one for a new connection.
    pub(super) fn check_in_place(&self) -> Result<(), StorageError> {
        let path = || self.path.display().to_string();
        let moved = match FileIdentity::at(&self.path) {
            Ok(identity) if Some(identity) == self.identity => return Ok(()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StorageError::Unavailable(error.into()));
            }
            Ok(_) if self.is_replaced() => Moved::LogReplaced { path: path() },
            Ok(_) | Err(_) => Moved::Log { path: path() },
        };
        Err(StorageError::Unavailable(moved.into()))
    }

    /// Whether another log that has changes is in its place. One without any is left by a process that could
    /// not use the database: it expects the changes that are in this log.
    fn is_replaced(&self) -> bool {
        let is_other = FileIdentity::at(&self.path).is_ok_and(|identity| Some(identity) != self.identity);
        is_other && fs::metadata(&self.path).is_ok_and(|log| log.len() > 0)
    }
}

/// The last connection writes the log to the database file. All processes share the index of the log
/// (`keyward.db-shm`), so if that is of another log, it would write other pages than the index says. If this
/// connection stays open until the process ends, none is the last.
impl Drop for WriteAheadLog {
    fn drop(&mut self) {
        let connection = self.connection.get_mut();
        if let Some(connection) = connection.take()
            && self.is_replaced()
        {
            mem::forget(connection);
        }
    }
}
