//! What keeps a database file from being opened, in words for whoever runs the server.

use std::error::Error;
use std::io;
use std::path::PathBuf;

/// Why a database file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The data directory is not there and cannot be made.
    #[error("{} cannot be created", .directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// There is something else in its place.
    #[error("{} is not a directory", .path.display())]
    NotADirectory {
        /// What was to be the data directory.
        path: PathBuf,
    },
    /// SQLite takes paths in UTF-8 only.
    #[error("the path {} is not UTF-8", .directory.display())]
    NotUtf8 {
        /// The directory.
        directory: PathBuf,
    },
    /// The file cannot be made, or even be looked at.
    #[error("the database file {} cannot be opened or created", .file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The file, or the directory, may not be read and written. SQLite needs files of its own beside the database.
    #[error(
        "the database file {} cannot be read and written: check who owns it and its directory, and who may write there",
        .file.display()
    )]
    NoAccess {
        /// The file.
        file: PathBuf,
    },
    /// The file is something else.
    #[error("{} is not a SQLite database", .file.display())]
    NotADatabase {
        /// The file.
        file: PathBuf,
    },
    /// Parts of the file are lost.
    #[error("the database file {} is damaged: put a backup in its place", .file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
    },
    /// The file system cannot share memory between processes, as network file systems cannot.
    #[error(
        "the file system of {} does not allow SQLite's write-ahead log: put the data directory on a local disk",
        .file.display()
    )]
    NoWriteAheadLog {
        /// The file.
        file: PathBuf,
    },
    /// SQLite refuses the file for another reason.
    #[error("the database file {} cannot be used", .file.display())]
    Database {
        /// The file.
        file: PathBuf,
        /// What SQLite says.
        source: Box<dyn Error + Send + Sync>,
    },
}
