//! Maps errors of diesel and PostgreSQL to the domain's.

use diesel::result::{DatabaseErrorKind, Error as QueryError};
use keyward_domain::ports::StorageError;

/// Maps the error of a statement before COMMIT: the transaction rolls back and nothing is changed.
pub(super) fn storage_error(error: QueryError) -> StorageError {
    let may_pass = match &error {
        QueryError::DatabaseError(kind, information) => may_pass(kind, information.message()),
        QueryError::BrokenTransactionManager | QueryError::RollbackErrorOnCommit { .. } => true,
        // All other errors are about the statement itself. (The enum is non-exhaustive.)
        _ => false,
    };
    if may_pass {
        StorageError::Unavailable(error.into())
    } else {
        StorageError::Defect(error.into())
    }
}

/// Maps the error of a COMMIT after which the server answered nothing more. Only if the error itself means a
/// rollback is it certain that nothing was changed.
pub(super) fn commit_error(error: QueryError) -> StorageError {
    match &error {
        QueryError::DatabaseError(
            DatabaseErrorKind::UniqueViolation
            | DatabaseErrorKind::ForeignKeyViolation
            | DatabaseErrorKind::SerializationFailure
            | DatabaseErrorKind::ReadOnlyTransaction
            | DatabaseErrorKind::NotNullViolation
            | DatabaseErrorKind::CheckViolation
            | DatabaseErrorKind::RestrictViolation
            | DatabaseErrorKind::ExclusionViolation,
            _,
        ) => storage_error(error),
        _ => StorageError::OutcomeUnknown(error.into()),
    }
}

/// Whether the server has answered with this error, in a session that stays open. A client-side error does
/// not show what the server did. Neither does that of a pooler which has lost the server and answers in its
/// place: the next statement may reach another session.
pub(super) fn is_answer_of_server(error: &QueryError) -> bool {
    const OF_POOLERS: [&str; 2] = ["server conn crashed", "server closed the connection"];
    match error {
        QueryError::DatabaseError(_, information) => {
            let message = information.message();
            !is_cut(error) && !OF_POOLERS.iter().any(|beginning| message.starts_with(beginning))
        }
        _ => false,
    }
}

/// Whether the error may go away without a change of the program or schema.
fn may_pass(kind: &DatabaseErrorKind, message: &str) -> bool {
    match kind {
        // The connection is closed.
        DatabaseErrorKind::UnableToSendCommand | DatabaseErrorKind::ClosedConnection => true,
        // A conflict with a concurrent transaction, or with a standby's replay; a retry helps. There is no
        // automatic retry, because Keyward's lock order prevents both conflicts and deadlocks among its own
        // transactions.
        DatabaseErrorKind::SerializationFailure | DatabaseErrorKind::ReadOnlyTransaction => true,
        DatabaseErrorKind::Unknown => is_operational(message) || message.starts_with(PERMISSION_DENIED),
        // Constraint violations, which the domain prevents before the statement. (The enum is
        // non-exhaustive.)
        _ => false,
    }
}

/// Whether the connection was lost, and the statement with it.
pub(super) fn is_cut(error: &QueryError) -> bool {
    match error {
        QueryError::DatabaseError(
            DatabaseErrorKind::UnableToSendCommand | DatabaseErrorKind::ClosedConnection,
            _,
        ) => true,
        QueryError::DatabaseError(_, information) => {
            information.message().starts_with("terminating connection")
        }
        _ => false,
    }
}

/// How messages of PostgreSQL begin whose cause may pass at once.
const PASSING: [&str; 4] = [
    "canceling statement due to",
    "terminating connection",
    "the database system is",
    "deadlock detected",
];

/// Whether the cause was a timeout or the connection, so that an immediate retry may succeed.
pub(super) fn is_passing(error: &QueryError) -> bool {
    match error {
        QueryError::DatabaseError(
            DatabaseErrorKind::UnableToSendCommand
            | DatabaseErrorKind::ClosedConnection
            | DatabaseErrorKind::SerializationFailure,
            _,
        )
        | QueryError::BrokenTransactionManager
        | QueryError::RollbackErrorOnCommit { .. } => true,
        QueryError::DatabaseError(_, information) => begins_as_passing(information.message()),
        _ => false,
    }
}

fn begins_as_passing(message: &str) -> bool {
    PASSING.iter().any(|beginning| message.starts_with(beginning))
}

/// Messages of PostgreSQL for problems of the server, not of the statement: SQLSTATE classes 53 (insufficient
/// resources), 57 (operator intervention), 58 (system error), and lock failures.
fn is_operational(message: &str) -> bool {
    const PARTS: [&str; 3] = [NO_SPACE, "Input/output error", "Read-only file system"];
    begins_as_passing(message)
        || message.starts_with("out of ")
        || PARTS.iter().any(|part| message.contains(part))
}

/// Whether the session is read-only: its server has become a standby, or was set read-only when the session
/// began. A new session may be writable.
pub(crate) fn is_read_only(error: &QueryError) -> bool {
    matches!(
        error,
        QueryError::DatabaseError(DatabaseErrorKind::ReadOnlyTransaction, _)
    )
}

/// The beginning of PostgreSQL's message for a missing privilege, which the owner can grant at any time.
pub(super) const PERMISSION_DENIED: &str = "permission denied for ";

/// How PostgreSQL's message ends where its disk is full: the operating system's words.
const NO_SPACE: &str = "No space left on device";

/// PostgreSQL's message when a statement hits `lock_timeout`.
pub(super) const LOCK_TIMEOUT: &str = "canceling statement due to lock timeout";

/// Whether a statement waited for a lock longer than it may.
pub(crate) fn is_lock_timeout(error: &QueryError) -> bool {
    matches!(error, QueryError::DatabaseError(_, information) if information.message() == LOCK_TIMEOUT)
}

/// Whether the role lacks a privilege.
pub(crate) fn lacks_privilege(error: &QueryError) -> bool {
    matches!(error, QueryError::DatabaseError(_, information) if information.message().starts_with(PERMISSION_DENIED))
}

/// Whether a disk of the server is full.
pub(crate) fn is_disk_full(error: &QueryError) -> bool {
    matches!(error, QueryError::DatabaseError(_, information) if information.message().contains(NO_SPACE))
}

/// Whether a statement violated the unique constraint of this name.
pub(super) fn violates_unique(error: &QueryError, constraint: &str) -> bool {
    matches!(
        error,
        QueryError::DatabaseError(DatabaseErrorKind::UniqueViolation, information)
            if information.constraint_name() == Some(constraint)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: DatabaseErrorKind, message: &str) -> QueryError {
        QueryError::DatabaseError(kind, Box::new(message.to_owned()))
    }

    #[test]
    fn transient_errors_are_unavailable() {
        for message in [
            "canceling statement due to statement timeout",
            LOCK_TIMEOUT,
            "terminating connection due to administrator command",
            "the database system is shutting down",
            "out of shared memory",
            "could not extend file \"base/5/16384\": No space left on device",
            "permission denied for table audit_events",
        ] {
            let error = storage_error(of(DatabaseErrorKind::Unknown, message));
            assert!(matches!(error, StorageError::Unavailable(_)), "{message}");
        }
        for kind in [
            DatabaseErrorKind::ClosedConnection,
            DatabaseErrorKind::UnableToSendCommand,
            DatabaseErrorKind::ReadOnlyTransaction,
            DatabaseErrorKind::SerializationFailure,
        ] {
            assert!(matches!(
                storage_error(of(kind, "")),
                StorageError::Unavailable(_)
            ));
        }
    }

    #[test]
    fn errors_requiring_new_program_or_schema_are_defects() {
        let error = storage_error(of(
            DatabaseErrorKind::Unknown,
            "relation \"api_keys\" does not exist",
        ));
        assert!(matches!(error, StorageError::Defect(_)));
        let error = storage_error(of(DatabaseErrorKind::CheckViolation, "violates check constraint"));
        assert!(matches!(error, StorageError::Defect(_)));
    }

    #[test]
    fn interrupted_commit_has_an_unknown_outcome() {
        for kind in [
            DatabaseErrorKind::ClosedConnection,
            DatabaseErrorKind::UnableToSendCommand,
            DatabaseErrorKind::Unknown,
        ] {
            let error = commit_error(of(kind, "terminating connection due to administrator command"));
            assert!(matches!(error, StorageError::OutcomeUnknown(_)));
        }
        assert!(matches!(
            commit_error(of(DatabaseErrorKind::SerializationFailure, "")),
            StorageError::Unavailable(_)
        ));
    }
}
