//! Export and import: moves all data of an installation between databases, as JSON Lines.
//!
//! | to read about | look at |
//! |---|---|
//! | which tables and columns there are | `tables.rs`, `records.rs` |
//! | how values are written | `columns.rs` |
//! | the first and the last line | `format.rs` |
//! | the statements | `sql/transfer.rs`, `postgres/transfer.rs`, `sqlite/transfer.rs` |
//!
//! # To add a table or a column
//! Add it to `records.rs`, a table also to `tables.rs`. Tests fail until
//! `tests/persistence/transfer/everything.rs` has a row of it. There is nothing to do about exports of older
//! versions: each is imported by the version that made it.

mod columns;
mod error;
mod format;
mod reading;
pub(crate) mod records;
mod rows;
mod tables;
mod writing;

use std::io::{Read, Write};

use async_trait::async_trait;
use keyward_domain::ports::StorageError;
use tokio::task::{JoinError, spawn_blocking};

pub use error::{ExportError, ImportError, InvalidExport};
pub use rows::{RowReceiver, RowSender};
pub use tables::Counts;

pub(crate) use error::cannot_read;
pub(crate) use rows::{BATCH, Batch, ImportItem};
pub(crate) use tables::{Row, TABLES, with_tables};

use format::FirstLine;
use writing::Unfinished;

/// A migrated database that can be moved.
#[async_trait]
pub trait Transfer: Send + Sync {
    /// Sends every row from one snapshot, table by table, in primary-key order, and audit events in commit
    /// order. Returns early without an error when the receiver is dropped.
    ///
    /// # Errors
    /// The database cannot be read; the rows sent so far are incomplete.
    async fn send_rows(&self, rows: RowSender) -> Result<(), StorageError>;

    /// Imports every row into an empty database, in one transaction, and returns the row counts.
    ///
    /// # Errors
    /// See [`ImportError`].
    async fn receive_rows(&self, rows: RowReceiver) -> Result<Counts, ImportError>;
}

/// Exports all data of the installation, and returns the row counts.
///
/// An export holds password hashes and digests of tokens, as the database does. It is the same, byte for
/// byte, for the same rows, whichever database they are in.
///
/// # Errors
/// See [`ExportError`].
pub async fn export(from: &dyn Transfer, output: impl Write + Send + 'static) -> Result<Counts, ExportError> {
    let first_line = FirstLine::of_this_version().map_err(StorageError::Defect)?;
    let (sender, rows) = rows::from_database();
    let writing = spawn_blocking(move || Unfinished::write(output, &first_line, rows));
    let read = from.send_rows(sender).await;
    let unfinished = writing.await.map_err(stream_aborted)?;
    // The write error first: when writing fails, reading stops because of it.
    let unfinished = unfinished.map_err(ExportError::Unwritable)?;
    read?;
    let finishing = spawn_blocking(move || unfinished.finish());
    finishing
        .await
        .map_err(stream_aborted)?
        .map_err(ExportError::Unwritable)
}

/// Imports an export into an empty database, atomically, and returns the row counts. Refuses a password hash
/// that is too costly to verify, and a row that the domain could not read back.
///
/// # Errors
/// See [`ImportError`].
pub async fn import(
    to: &dyn Transfer,
    input: impl Read + Send + 'static,
    is_affordable: fn(&str) -> bool,
) -> Result<Counts, ImportError> {
    let first_line = FirstLine::of_this_version().map_err(StorageError::Defect)?;
    let (sender, rows) = rows::from_stream();
    // Not awaited: after the database has refused, this thread may block on input that never comes.
    spawn_blocking(move || reading::read_all(input, &first_line, is_affordable, &sender));
    to.receive_rows(rows).await
}

fn stream_aborted(error: JoinError) -> StorageError {
    StorageError::Defect(error.into())
}
