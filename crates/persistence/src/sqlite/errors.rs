//! Maps errors of diesel and SQLite to the domain's.

use diesel::result::{DatabaseErrorKind, Error as QueryError};
use keyward_domain::ports::StorageError;

// diesel hides SQLite's result code, but passes on its message (`sqlite3ErrStr` in SQLite's main.c).
const BUSY: &str = "database is locked";
const TABLE_LOCKED: &str = "database table is locked";
const SHARED_CACHE_LOCKED: &str = "database schema is locked";
const FULL: &str = "database or disk is full";
const READ_ONLY: &str = "attempt to write a readonly database";
const IO: &str = "disk I/O error";
pub(super) const CANNOT_OPEN: &str = "unable to open database file";
const OUT_OF_MEMORY: &str = "out of memory";
const LOCKING: &str = "locking protocol";
const NOT_A_DATABASE: &str = "file is not a database";
const DAMAGED: &str = "database disk image is malformed";
/// The name of a table or index follows (`corruptSchema` in SQLite's prepare.c).
const DAMAGED_SCHEMA: &str = "malformed database schema (";

/// Maps the error of a statement before COMMIT: the transaction rolls back and nothing is changed.
pub(super) fn storage_error(error: QueryError) -> StorageError {
    if may_pass(&error) {
        StorageError::Unavailable(error.into())
    } else {
        StorageError::Defect(error.into())
    }
}

/// Maps the error of a COMMIT. It is certain that nothing was changed only if SQLite refused to begin
/// writing, or could not write the whole transaction. After an I/O error the whole transaction may already be
/// on disk, and be recovered when the file is opened next.
pub(super) fn commit_error(error: QueryError) -> StorageError {
    let nothing_changed = is_busy(&error) || is_full(&error) || is_read_only(&error) || is_refused(&error);
    if nothing_changed {
        storage_error(error)
    } else {
        StorageError::OutcomeUnknown(error.into())
    }
}

/// Whether the error may go away without a change of the program or file.
pub(super) fn may_pass(error: &QueryError) -> bool {
    const OPERATIONAL: [&str; 6] = [FULL, READ_ONLY, IO, CANNOT_OPEN, OUT_OF_MEMORY, LOCKING];
    match error {
        QueryError::DatabaseError(DatabaseErrorKind::Unknown, _) => {
            is_busy(error) || OPERATIONAL.iter().any(|message| is(error, message))
        }
        // Constraint violations, which the domain prevents before the statement, and errors of the statement
        // itself. (The enum is non-exhaustive.)
        _ => false,
    }
}

/// Whether another connection held the lock for longer than `busy_timeout`.
pub(crate) fn is_busy(error: &QueryError) -> bool {
    is(error, BUSY) || is(error, TABLE_LOCKED) || is(error, SHARED_CACHE_LOCKED)
}

/// Whether the disk is full.
pub(crate) fn is_full(error: &QueryError) -> bool {
    is(error, FULL)
}

/// Whether reading or writing a file failed. On a full disk, SQLite reports this for its shared memory,
/// `keyward.db-shm`.
pub(super) fn is_io(error: &QueryError) -> bool {
    is(error, IO)
}

/// Whether the file may not be written.
pub(crate) fn is_read_only(error: &QueryError) -> bool {
    is(error, READ_ONLY)
}

/// Whether Keyward lacks permission to read and write the file or its folder.
pub(super) fn lacks_access(error: &QueryError) -> bool {
    is_read_only(error) || is(error, CANNOT_OPEN)
}

/// Whether the file is not a SQLite database.
pub(super) fn is_not_a_database(error: &QueryError) -> bool {
    is(error, NOT_A_DATABASE)
}

/// Whether the database file is corrupted.
pub(crate) fn is_damaged(error: &QueryError) -> bool {
    is(error, DAMAGED) || is_not_a_database(error) || begins(error, DAMAGED_SCHEMA)
}

/// Whether a statement violated the uniqueness of `table.column`.
pub(super) fn violates_unique(error: &QueryError, column: &str) -> bool {
    matches!(
        error,
        QueryError::DatabaseError(DatabaseErrorKind::UniqueViolation, information)
            if information.message().strip_prefix("UNIQUE constraint failed: ") == Some(column)
    )
}

/// Whether a deferred constraint failed at COMMIT.
fn is_refused(error: &QueryError) -> bool {
    matches!(
        error,
        QueryError::DatabaseError(DatabaseErrorKind::ForeignKeyViolation, _)
    )
}

fn is(error: &QueryError, message: &str) -> bool {
    matches!(error, QueryError::DatabaseError(_, information) if information.message() == message)
}

fn begins(error: &QueryError, beginning: &str) -> bool {
    matches!(error, QueryError::DatabaseError(_, information) if information.message().starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(message: &str) -> QueryError {
        QueryError::DatabaseError(DatabaseErrorKind::Unknown, Box::new(message.to_owned()))
    }

    #[test]
    fn transient_sqlite_errors_are_unavailable() {
        for message in [
            BUSY,
            TABLE_LOCKED,
            FULL,
            READ_ONLY,
            IO,
            CANNOT_OPEN,
            OUT_OF_MEMORY,
            LOCKING,
        ] {
            let error = storage_error(of(message));
            assert!(matches!(error, StorageError::Unavailable(_)), "{message}");
        }
    }

    #[test]
    fn errors_requiring_new_program_or_file_are_defects() {
        for message in ["no such table: api_keys", NOT_A_DATABASE, DAMAGED] {
            let error = storage_error(of(message));
            assert!(matches!(error, StorageError::Defect(_)), "{message}");
        }
    }

    #[test]
    fn unwritten_commit_changed_nothing() {
        for message in [BUSY, FULL, READ_ONLY] {
            let error = commit_error(of(message));
            assert!(matches!(error, StorageError::Unavailable(_)), "{message}");
        }
    }

    #[test]
    fn interrupted_commit_has_an_unknown_outcome() {
        for message in [IO, OUT_OF_MEMORY, DAMAGED] {
            let error = commit_error(of(message));
            assert!(matches!(error, StorageError::OutcomeUnknown(_)), "{message}");
        }
    }
}
