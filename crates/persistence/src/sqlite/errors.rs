//! What diesel and SQLite report, as the domain names it.

use diesel::result::{DatabaseErrorKind, Error as QueryError};
use keyward_domain::ports::StorageError;

// diesel keeps SQLite's result code to itself, but passes its words on (`sqlite3ErrStr` in SQLite's main.c).
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

/// The error of a statement before COMMIT: whatever it is, the transaction rolls back and nothing is changed.
pub(super) fn storage_error(error: QueryError) -> StorageError {
    if may_pass(&error) {
        StorageError::Unavailable(error.into())
    } else {
        StorageError::Defect(error.into())
    }
}

/// The error of a COMMIT. Nothing is changed for sure only where SQLite refused to begin writing, or could not write
/// to the end of the transaction. After an I/O error the whole transaction may be on the disk already, and come to life
/// when the file is opened next.
pub(super) fn commit_error(error: QueryError) -> StorageError {
    let nothing_changed = is_busy(&error) || is(&error, FULL) || is(&error, READ_ONLY) || is_refused(&error);
    if nothing_changed {
        storage_error(error)
    } else {
        StorageError::OutcomeUnknown(error.into())
    }
}

/// Whether an error is over some day without anybody changing the program.
pub(super) fn may_pass(error: &QueryError) -> bool {
    const OPERATIONAL: [&str; 6] = [FULL, READ_ONLY, IO, CANNOT_OPEN, OUT_OF_MEMORY, LOCKING];
    match error {
        QueryError::DatabaseError(DatabaseErrorKind::Unknown, _) => {
            is_busy(error) || OPERATIONAL.iter().any(|message| is(error, message))
        }
        // Rules of the schema, which the domain keeps before the database is asked, and everything that is about the
        // statement itself. (The enum may grow.)
        _ => false,
    }
}

/// Whether another connection was in the way for longer than `busy_timeout`.
pub(super) fn is_busy(error: &QueryError) -> bool {
    is(error, BUSY) || is(error, TABLE_LOCKED) || is(error, SHARED_CACHE_LOCKED)
}

/// Whether the disk has no room.
pub(super) fn is_full(error: &QueryError) -> bool {
    is(error, FULL)
}

/// Whether reading or writing a file failed. On a full disk that is what SQLite says of its shared memory, `keyward.db-shm`.
pub(super) fn is_io(error: &QueryError) -> bool {
    is(error, IO)
}

/// Whether the file, or the folder around it, may not be read and written.
pub(super) fn lacks_access(error: &QueryError) -> bool {
    is(error, READ_ONLY) || is(error, CANNOT_OPEN)
}

/// Whether the file is something else.
pub(super) fn is_not_a_database(error: &QueryError) -> bool {
    is(error, NOT_A_DATABASE)
}

/// Whether the file was a database once, and parts of it are lost.
pub(super) fn is_damaged(error: &QueryError) -> bool {
    is(error, DAMAGED)
}

/// Whether a statement broke the uniqueness of a column, `table.column`.
pub(super) fn violates_unique(error: &QueryError, column: &str) -> bool {
    matches!(
        error,
        QueryError::DatabaseError(DatabaseErrorKind::UniqueViolation, information)
            if information.message().strip_prefix("UNIQUE constraint failed: ") == Some(column)
    )
}

/// Whether a constraint that is checked at COMMIT does not hold.
fn is_refused(error: &QueryError) -> bool {
    matches!(
        error,
        QueryError::DatabaseError(DatabaseErrorKind::ForeignKeyViolation, _)
    )
}

fn is(error: &QueryError, message: &str) -> bool {
    matches!(error, QueryError::DatabaseError(_, information) if information.message() == message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(message: &str) -> QueryError {
        QueryError::DatabaseError(DatabaseErrorKind::Unknown, Box::new(message.to_owned()))
    }

    #[test]
    fn what_passes_by_itself_is_unavailable() {
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
    fn what_only_a_new_program_or_file_can_mend_is_a_defect() {
        for message in ["no such table: api_keys", NOT_A_DATABASE, DAMAGED] {
            let error = storage_error(of(message));
            assert!(matches!(error, StorageError::Defect(_)), "{message}");
        }
    }

    #[test]
    fn a_commit_that_was_not_written_changed_nothing() {
        for message in [BUSY, FULL, READ_ONLY] {
            let error = commit_error(of(message));
            assert!(matches!(error, StorageError::Unavailable(_)), "{message}");
        }
    }

    #[test]
    fn a_commit_that_breaks_off_has_an_unknown_outcome() {
        for message in [IO, OUT_OF_MEMORY, DAMAGED] {
            let error = commit_error(of(message));
            assert!(matches!(error, StorageError::OutcomeUnknown(_)), "{message}");
        }
    }
}
