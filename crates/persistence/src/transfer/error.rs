//! Why nothing was exported or imported.

use std::error::Error;
use std::io;

use diesel::result::Error as QueryError;
use keyward_domain::ports::StorageError;

use crate::abort::Abort;

/// Why an export is not whole. What was written of it is refused by an import.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Nobody takes it, or the disk is full.
    #[error("the export cannot be written")]
    Unwritable(#[source] io::Error),
    /// The database cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why nothing was imported. Nothing was changed, unless storage says that nobody knows.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Something is kept there already.
    #[error("the database is not empty: import into a new one, so that nothing is mixed or lost")]
    NotEmpty,
    /// The export is not whole, or none at all.
    #[error(transparent)]
    Invalid(#[from] InvalidExport),
    /// A row breaks a rule of the database, or holds what it cannot keep.
    #[error("the database refuses {}", lines(*.first_line, *.last_line))]
    RowRefused {
        /// The first line of which it may be the row.
        first_line: u64,
        /// The last one.
        last_line: u64,
        /// What the database says.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The database cannot be written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// What is wrong with an export. No message repeats what a line holds.
#[derive(Debug, thiserror::Error)]
pub enum InvalidExport {
    /// It begins with something else.
    #[error("line 1 is not the first line of an export of Keyward")]
    NotAnExport,
    /// A newer Keyward made it.
    #[error("line 1: a newer Keyward made this export, so import it with that version")]
    Newer,
    /// A Keyward from before the first release made it.
    #[error("line 1: this export is from before Keyward's first release and cannot be imported")]
    TooOld,
    /// An older Keyward made it.
    #[error(
        "line 1: an older Keyward made this export, so import it with that version, and let this one update the \
         database afterwards"
    )]
    Older,
    /// A line is not what stands in an export.
    #[error("line {line} is garbled at its column {column}")]
    Garbled {
        /// The line, counted from 1.
        line: u64,
        /// The byte in it, counted from 1.
        column: usize,
    },
    /// Each sign-in would cost whatever the export says.
    #[error(
        "line {line}: checking a password against the hash in users.password_hash of {user} costs more than against a hash \
         of Keyward's, so it is none"
    )]
    ExcessiveHash {
        /// The line, counted from 1.
        line: u64,
        /// Whose hash it is.
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
        /// Which row and column it is, and what is wrong with it, without the value.
        problem: StorageError,
    },
    /// No export has such a line.
    #[error("line {line} is longer than any line of an export")]
    LongLine {
        /// The line, counted from 1.
        line: u64,
    },
    /// The end is missing.
    #[error("the export was cut off: it ends at line {line}, without the last line")]
    CutOff {
        /// The line that is missing or not whole, counted from 1.
        line: u64,
    },
    /// The last line does not fit what came before it.
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

/// Why a table's rows cannot be read. diesel names the column of a value that makes no sense, but not the table.
pub(crate) fn cannot_read<E>(table: &'static str, error: QueryError) -> Abort<E> {
    match error {
        source @ QueryError::DeserializationError(_) => {
            Abort::Storage(StorageError::Defect(UnreadableRow { table, source }.into()))
        }
        other => Abort::Query(other),
    }
}
