//! Causes of database failures that an operator can remove.

use std::error::Error;

use diesel::ConnectionError;
use diesel::result::Error as QueryError;
use keyward_domain::ports::StorageError;

use crate::postgres::ConnectionRefused;
use crate::postgres::errors as postgres;
use crate::shared_error::Shared;
use crate::sqlite::Moved;
use crate::sqlite::errors as sqlite;
use crate::sqlite::reserve::NotWhole;

/// A cause that an operator can remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// PostgreSQL's server refuses connections with this URL. The error says what to do.
    ConnectionRefused,
    /// PostgreSQL's role lacks a privilege.
    MissingPrivilege,
    /// The server is a standby or set to read-only, or the file may not be written.
    ReadOnly,
    /// Another session or process held a lock for too long.
    Locked,
    /// The disk of the database is full, or the embedded database's reserve cannot be filled.
    DiskFull,
    /// Another file is in the place of the embedded database's, or none. The error says what to do.
    FileReplaced,
    /// The file of the embedded database is damaged.
    FileDamaged,
}

impl Obstacle {
    /// The obstacle that caused this error, if it is one of these.
    #[must_use]
    pub fn of(error: &StorageError) -> Option<Self> {
        std::iter::successors(error.source(), |&cause| cause.source()).find_map(Self::of_cause)
    }

    fn of_cause(cause: &(dyn Error + 'static)) -> Option<Self> {
        if let Some(error) = cause.downcast_ref::<QueryError>() {
            return Self::of_statement(error);
        }
        if let Some(ConnectionError::CouldntSetupConfiguration(error)) = cause.downcast_ref() {
            return Self::of_statement(error);
        }
        if let Some(shared) = cause.downcast_ref::<Shared>() {
            return Self::of(shared.error());
        }
        if cause.is::<ConnectionRefused>() {
            return Some(Self::ConnectionRefused);
        }
        if cause.is::<Moved>() {
            return Some(Self::FileReplaced);
        }
        cause.is::<NotWhole>().then_some(Self::DiskFull)
    }

    fn of_statement(error: &QueryError) -> Option<Self> {
        if postgres::lacks_privilege(error) {
            Some(Self::MissingPrivilege)
        } else if postgres::is_read_only(error) || sqlite::is_read_only(error) {
            Some(Self::ReadOnly)
        } else if postgres::is_lock_timeout(error) || sqlite::is_busy(error) {
            Some(Self::Locked)
        } else if postgres::is_disk_full(error) || sqlite::is_full(error) {
            Some(Self::DiskFull)
        } else {
            sqlite::is_damaged(error).then_some(Self::FileDamaged)
        }
    }
}

#[cfg(test)]
mod tests {
    use diesel::result::DatabaseErrorKind;

    use super::*;
    use crate::shared_error::SharedError;

    #[test]
    fn obstacle_is_found_in_errors_of_both_databases() {
        const UNKNOWN: DatabaseErrorKind = DatabaseErrorKind::Unknown;
        let read_only = "cannot execute INSERT in a read-only transaction";
        for (kind, message, obstacle) in [
            (
                UNKNOWN,
                "permission denied for table users",
                Obstacle::MissingPrivilege,
            ),
            (
                DatabaseErrorKind::ReadOnlyTransaction,
                read_only,
                Obstacle::ReadOnly,
            ),
            (
                UNKNOWN,
                "attempt to write a readonly database",
                Obstacle::ReadOnly,
            ),
            (
                UNKNOWN,
                "canceling statement due to lock timeout",
                Obstacle::Locked,
            ),
            (UNKNOWN, "database is locked", Obstacle::Locked),
            (
                UNKNOWN,
                "could not extend file: No space left on device",
                Obstacle::DiskFull,
            ),
            (UNKNOWN, "database or disk is full", Obstacle::DiskFull),
            (UNKNOWN, "database disk image is malformed", Obstacle::FileDamaged),
            (UNKNOWN, "file is not a database", Obstacle::FileDamaged),
        ] {
            let cause = || QueryError::DatabaseError(kind, Box::new(message.to_owned()));
            let shared = SharedError::from(StorageError::Unavailable(cause().into()));
            let at_setup = ConnectionError::CouldntSetupConfiguration(cause());
            for error in [
                StorageError::Unavailable(cause().into()),
                StorageError::Defect(at_setup.into()),
                shared.into(),
            ] {
                assert_eq!(Obstacle::of(&error), Some(obstacle), "{message}: {error:?}");
            }
        }
        let lost = QueryError::DatabaseError(DatabaseErrorKind::ClosedConnection, Box::new(String::new()));
        assert_eq!(Obstacle::of(&StorageError::Unavailable(lost.into())), None);
    }
}
