//! Files of an open database that are not where they were.

/// The path of the open database, or of its write-ahead log, now leads to another file, or to none.
#[derive(Debug, thiserror::Error)]
pub enum Moved {
    /// The database file.
    #[error("{path} was moved, replaced or removed: put it back, or restart to use what is there")]
    Database {
        /// Its original path.
        path: String,
    },
    /// The log, in whose place is none that has changes.
    #[error(
        "{path} was moved or removed: put it back, or stop the server with SIGTERM, which writes its changes to the \
         database file"
    )]
    Log {
        /// Its original path.
        path: String,
    },
    /// The log, in whose place is one that has changes.
    #[error(
        "{path} was replaced by another log, which has later changes: do not put the old one back over it, but keep both, \
         stop every process that uses the database, and start again"
    )]
    LogReplaced {
        /// Its original path.
        path: String,
    },
}
