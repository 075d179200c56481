//! Why a database file cannot be opened, with messages for administrators.

use std::error::Error;
use std::io;
use std::path::PathBuf;

/// Why a database file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The data directory does not exist and cannot be created.
    #[error("{} cannot be created", .directory.display())]
    Directory {
        /// The path of the data directory.
        directory: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The path of the data directory leads to something else.
    #[error("{} is not a directory", .path.display())]
    NotADirectory {
        /// The path that is no directory.
        path: PathBuf,
    },
    /// The path is not UTF-8, which SQLite requires.
    #[error("the path {} is not UTF-8", .directory.display())]
    NotUtf8 {
        /// The path of the data directory.
        directory: PathBuf,
    },
    /// The file cannot be created or inspected.
    #[error("the database file {} cannot be opened or created", .file.display())]
    File {
        /// The path of the database file.
        file: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The database is missing or empty, and its write-ahead log is not: SQLite would delete the changes in it.
    #[error(
        "the database {} is missing, but {} has its latest changes: put keyward.db back beside it; or, to restore a backup \
         or to begin anew, move it and {} away first",
        .file.display(),
        .log.display(),
        .index.display()
    )]
    LogLeft {
        /// The path of the database file.
        file: PathBuf,
        /// The path of its write-ahead log.
        log: PathBuf,
        /// The path of the index of the write-ahead log, which SQLite makes and removes with it.
        index: PathBuf,
    },
    /// Keyward lacks permission to read and write the file or its directory, in which SQLite creates files of
    /// its own.
    #[error(
        "the database file {} cannot be read and written: check who owns it and its directory, who \
         may write there, and whether its file system is read-only",
        .file.display()
    )]
    NoAccess {
        /// The path of the database file.
        file: PathBuf,
    },
    /// The file is not a SQLite database.
    #[error("{} is not a SQLite database", .file.display())]
    NotADatabase {
        /// The path of the database file.
        file: PathBuf,
    },
    /// The database file is corrupted.
    #[error(
        "the database file {} is damaged: move it, keyward.db-wal and keyward.db-shm away together, and put a backup in \
         its place",
        .file.display()
    )]
    Damaged {
        /// The path of the database file.
        file: PathBuf,
    },
    /// The file system does not support shared memory between processes, as with network file systems.
    #[error(
        "the file system of {} does not allow SQLite's write-ahead log: put the data directory on a local disk",
        .file.display()
    )]
    NoWriteAheadLog {
        /// The path of the database file.
        file: PathBuf,
    },
    /// Another error of SQLite.
    #[error("the database file {} cannot be used", .file.display())]
    Database {
        /// The path of the database file.
        file: PathBuf,
        /// The error that SQLite reports.
        source: Box<dyn Error + Send + Sync>,
    },
}
