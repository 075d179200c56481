//! Whether changes are possible, found out by making one.

use keyward_domain::ports::StorageError;

/// Why a trial change did not happen. It would have changed nothing that anybody reads.
#[derive(Debug, thiserror::Error)]
pub enum TrialFailure {
    /// The disk of the embedded database is full, or was, and what was kept for revoking keys is not whole again.
    #[error(transparent)]
    DiskFull(StorageError),
    /// The database takes no changes: it is read-only or full, its role lacks a right, or its file is not there.
    #[error(transparent)]
    Refused(StorageError),
    /// It was not done in time, or met a connection that broke. That may be load.
    #[error(transparent)]
    Slow(StorageError),
}
