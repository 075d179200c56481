//! A write-ahead log whose database is missing.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::open_error::OpenError;

/// Refuses a write-ahead log whose database is missing or empty. SQLite would delete the log when it creates
/// the database, and the changes in it would be lost even if the file was put back. (A log that lies beside
/// another file than its own cannot be recognized: its salts are not in the database.)
pub(super) fn refuse_left_log(file: &Path) -> Result<(), OpenError> {
    let beside = |suffix: &str| {
        let mut path = file.as_os_str().to_owned();
        path.push(suffix);
        PathBuf::from(path)
    };
    let log = beside("-wal");
    let is_empty = |path: &Path| match fs::symlink_metadata(path) {
        Ok(metadata) => metadata.is_file() && metadata.len() == 0,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    // In this order: another process that creates the database writes to the file before the log.
    if !is_empty(&log) && is_empty(file) {
        return Err(OpenError::LogLeft {
            file: file.to_owned(),
            log,
            index: beside("-shm"),
        });
    }
    Ok(())
}
