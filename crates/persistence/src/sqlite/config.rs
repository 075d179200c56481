//! The configuration of a store.

use std::path::PathBuf;
use std::time::Duration;

use super::database_file::FILE_NAME;
use super::left_log::refuse_left_log;
use super::open_error::OpenError;

/// Where the database is, and how long to wait for it.
#[derive(Clone, Debug)]
pub struct SqliteConfig {
    /// The folder of `keyward.db` and of SQLite's files beside it. It must be on a local disk.
    pub data_directory: PathBuf,
    /// The maximum number of concurrent reads; twice as many slow reads, and lookups of keys, may run
    /// besides. Changes are always serialized. Default: 4.
    pub max_readers: usize,
    /// How many bytes of disk space are reserved for revoking keys and signing in, in a file beside the
    /// database. While they cannot be allocated, other changes are refused. Default: 16 MiB.
    pub reserve: u64,
    /// How long to wait for another process's change. Default: 1.5 s.
    pub busy_timeout: Duration,
    /// The timeout until a read is answered, or a change begins to commit; after that it is abandoned and
    /// changes nothing. Default: 1.9 s.
    pub answer_timeout: Duration,
    /// The timeout of a change that began to commit; after that its outcome is unknown. Default: 8 s.
    pub outcome_timeout: Duration,
}

impl SqliteConfig {
    /// The default configuration for a database in this folder, which may not exist yet.
    #[must_use]
    pub fn in_directory(data_directory: impl Into<PathBuf>) -> Self {
        Self {
            data_directory: data_directory.into(),
            max_readers: 4,
            reserve: 16 * 1024 * 1024,
            busy_timeout: Duration::from_millis(1_500),
            answer_timeout: Duration::from_millis(1_900),
            outcome_timeout: Duration::from_secs(8),
        }
    }

    /// The path of the database, which is created by [`SqliteStore::open`](super::SqliteStore::open).
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.data_directory.join(FILE_NAME)
    }

    /// Refuses a database that is missing or empty, but not its write-ahead log. Opening it does so, too.
    ///
    /// # Errors
    /// [`OpenError::LogLeft`]
    pub fn refuse_left_log(&self) -> Result<(), OpenError> {
        refuse_left_log(&self.file())
    }
}
