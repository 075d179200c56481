//! Errors of export and import.

use std::error::Error;
use std::io;

use diesel::result::Error as QueryError;
use keyward_domain::ports::StorageError;

use crate::abort::Abort;

/// Why an export is incomplete. An import refuses the part that was written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The output cannot be written, for example because the disk is full.
    #[error("the export cannot be written")]
    Unwritable(#[source] io::Error),
    /// The database cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why nothing was imported. Nothing was changed, except possibly after [`StorageError::OutcomeUnknown`].
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The database is not empty.
    #[error("the database is not empty: import into a new one, so that nothing is mixed or lost")]
    NotEmpty,
    /// The input is not a complete export.
    #[error(transparent)]
    Invalid(#[from] InvalidExport),
    /// A row violates a constraint, or has a value that the database cannot store.
    #[error("the database refuses {}", lines(*.first_line, *.last_line))]
    RowRefused {
        /// The first line of the refused batch, counted from 1.
        first_line: u64,
        /// The last line of the refused batch, counted from 1.
        last_line: u64,
        /// The database's error.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The process's database role may not lock or fill all tables.
    #[error("the database's user lacks a right that imports need")]
    NotAllowed(#[source] Box<dyn Error + Send + Sync>),
    /// The database cannot be written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why an export is invalid. No message repeats a line's content.
#[derive(Debug, thiserror::Error)]
pub enum InvalidExport {
    /// The first line is not that of an export.
    #[error("line 1 is not the first line of an export of Keyward")]
    NotAnExport,
    /// A newer Keyward made it.
    #[error("line 1: a newer Keyward made this export, so import it with that version")]
    Newer,
    /// A Keyward from before the first release made it.
    #[error("line 1: this export is from before Keyward's first release and cannot be imported")]
    TooOld,
    /// Its format is older than this version's; or its schema is, in the same format.
    #[error(
        "line 1: an older Keyward made this export, so import it with that version, and let this one update the \
         database afterwards"
    )]
    Older,
    /// A line is malformed.
    #[error("line {line} is garbled at its column {column}")]
    Garbled {
        /// The line, counted from 1.
        line: u64,
        /// The byte in it, counted from 1.
        column: usize,
    },
    /// A password hash with excessive costs, which each sign-in would have to pay.
    #[error(
        "line {line}: checking a password against the hash in users.password_hash of {user} costs more than against a hash \
         of Keyward's, so it is none"
    )]
    ExcessiveHash {
        /// The line, counted from 1.
        line: u64,
        /// The identifier of its user.
        user: String,
    },
    /// Keyward could not read the row back.
    #[error(
        "line {line} cannot be read as Keyward reads its database ({problem}): correct that row in the database that the \
         export came from, and export again"
    )]
    UnreadableRow {
        /// The line, counted from 1.
        line: u64,
        /// Table, column, identifier and problem, without the value.
        problem: StorageError,
    },
    /// A line is longer than any valid one.
    #[error("line {line} is longer than any line of an export")]
    LongLine {
        /// The line, counted from 1.
        line: u64,
    },
    /// The end is missing.
    #[error("the export was cut off: it ends at line {line}, without the last line")]
    CutOff {
        /// The missing or incomplete line, counted from 1.
        line: u64,
    },
    /// The checksum or row counts in the last line do not match.
    #[error("the export was altered: line {line}, the last one, does not fit the lines before it")]
    Altered {
        /// The last line, counted from 1.
        line: u64,
    },
    /// Something follows the last line.
    #[error("line {line} follows the last line of the export")]
    Continued {
        /// The line, counted from 1.
        line: u64,
    },
    /// Each row is readable, but together they break a rule.
    #[error(
        "rows of the export contradict each other ({0}): correct that row in the database that the export came from, \
         and export again"
    )]
    Contradiction(StorageError),
    /// The operating system cannot read it.
    #[error("the export cannot be read")]
    Unreadable(#[source] io::Error),
}

fn lines(first: u64, last: u64) -> String {
    if first == last {
        format!("line {first}")
    } else {
        format!("one of the lines {first} to {last}")
    }
}

#[derive(Debug, thiserror::Error)]
#[error("a row of {table} cannot be read")]
struct UnreadableRow {
    table: &'static str,
    source: QueryError,
}

/// Adds the table to the error of reading its rows; diesel names only the column.
pub(crate) fn cannot_read<E>(table: &'static str, error: QueryError) -> Abort<E> {
    match error {
        source @ QueryError::DeserializationError(_) => {
            Abort::Storage(StorageError::Defect(UnreadableRow { table, source }.into()))
        }
        other => Abort::Query(other),
    }
}
