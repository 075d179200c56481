//! What diesel and PostgreSQL report, as the domain names it.

use diesel::result::{DatabaseErrorKind, Error as QueryError};
use keyward_domain::ports::StorageError;

/// The error of a statement before COMMIT: whatever it is, the transaction rolls back and nothing is changed.
pub(super) fn storage_error(error: QueryError) -> StorageError {
    let may_pass = match &error {
        QueryError::DatabaseError(kind, information) => may_pass(kind, information.message()),
        QueryError::BrokenTransactionManager | QueryError::RollbackErrorOnCommit { .. } => true,
        // Everything else is about the statement itself. (The enum may grow.)
        _ => false,
    };
    if may_pass {
        StorageError::Unavailable(error.into())
    } else {
        StorageError::Defect(error.into())
    }
}

/// The error of a COMMIT. Only where the server itself says that it rolled back, nothing is changed for sure.
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

/// Whether an error is over some day without anybody changing the program.
fn may_pass(kind: &DatabaseErrorKind, message: &str) -> bool {
    match kind {
        // The connection broke, or was broken already.
        DatabaseErrorKind::UnableToSendCommand | DatabaseErrorKind::ClosedConnection => true,
        // A conflict with a concurrent transaction, or with a standby's replay: asking again helps. Nothing retries
        // here, because the locks are taken in an order in which neither this nor a deadlock comes from our own work.
        DatabaseErrorKind::SerializationFailure | DatabaseErrorKind::ReadOnlyTransaction => true,
        DatabaseErrorKind::Unknown => is_operational(message) || message.starts_with(PERMISSION_DENIED),
        // Rules of the schema, which the domain keeps before the database is asked. (The enum may grow.)
        _ => false,
    }
}

/// Whether the connection is gone, and its statement with it.
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

/// Whether it was a matter of time or of the connection, so that another attempt may well succeed at once.
pub(super) fn is_passing(error: &QueryError) -> bool {
    const BEGINNINGS: [&str; 4] = [
        "canceling statement due to",
        "terminating connection",
        "the database system is",
        "deadlock detected",
    ];
    match error {
        QueryError::DatabaseError(
            DatabaseErrorKind::UnableToSendCommand
            | DatabaseErrorKind::ClosedConnection
            | DatabaseErrorKind::SerializationFailure,
            _,
        )
        | QueryError::BrokenTransactionManager
        | QueryError::RollbackErrorOnCommit { .. } => true,
        QueryError::DatabaseError(_, information) => BEGINNINGS
            .iter()
            .any(|beginning| information.message().starts_with(beginning)),
        _ => false,
    }
}

/// What PostgreSQL says when it is the server's state that is wrong and not the statement: error classes 53 (full), 57
/// (an operator intervenes, or time is up), 58 (the system fails), and locks.
fn is_operational(message: &str) -> bool {
    const BEGINNINGS: [&str; 5] = [
        "canceling statement due to",
        "terminating connection",
        "the database system is",
        "deadlock detected",
        "out of ",
    ];
    const PARTS: [&str; 3] = [
        "No space left on device",
        "Input/output error",
        "Read-only file system",
    ];
    BEGINNINGS.iter().any(|beginning| message.starts_with(beginning))
        || PARTS.iter().any(|part| message.contains(part))
}

/// Whether the session may only read: its server has become a standby, or was set so when the session began. Sessions
/// stay what they are, so another one may be better.
pub(super) fn is_read_only(error: &QueryError) -> bool {
    matches!(
        error,
        QueryError::DatabaseError(DatabaseErrorKind::ReadOnlyTransaction, _)
    )
}

/// What PostgreSQL says first when the role lacks a right, which its owner can grant at any time.
pub(super) const PERMISSION_DENIED: &str = "permission denied for ";

/// What PostgreSQL says when a statement gave up waiting for a lock.
pub(super) const LOCK_TIMEOUT: &str = "canceling statement due to lock timeout";

/// Whether a statement broke the uniqueness that has this name.
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
    fn what_passes_without_a_new_program_or_schema_is_unavailable() {
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
    fn what_only_a_new_program_or_schema_can_mend_is_a_defect() {
        let error = storage_error(of(
            DatabaseErrorKind::Unknown,
            "relation \"api_keys\" does not exist",
        ));
        assert!(matches!(error, StorageError::Defect(_)));
        let error = storage_error(of(DatabaseErrorKind::CheckViolation, "violates check constraint"));
        assert!(matches!(error, StorageError::Defect(_)));
    }

    #[test]
    fn a_commit_that_breaks_off_has_an_unknown_outcome() {
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
