//! Tests whether changes are possible by making one.

use keyward_domain::ports::StorageError;

/// Why a trial change failed. It has no visible effect when it succeeds.
#[derive(Debug, thiserror::Error)]
pub enum TrialFailure {
    /// A statement of this process, perhaps an earlier one, found that the file of the embedded database is
    /// damaged.
    #[error(transparent)]
    Damaged(StorageError),
    /// The disk of the embedded database is full, or its reserve does not have its full size again.
    #[error(transparent)]
    DiskFull(StorageError),
    /// The database refuses changes: it is read-only or full, the role lacks a privilege, or the file is
    /// missing.
    #[error(transparent)]
    Refused(StorageError),
    /// It timed out or its connection broke, perhaps because of load.
    #[error(transparent)]
    Slow(StorageError),
}
