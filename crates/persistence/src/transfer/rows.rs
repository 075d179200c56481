//! Bounded channels of row batches between a database and a stream: both sides wait for each other, so only a
//! few batches are in memory.

use std::io;

use tokio::sync::mpsc::error::SendError;
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::error::InvalidExport;
use super::tables::{Counts, Row};

/// The maximum number of rows in a batch. (PostgreSQL takes 65,535 values in one statement.)
pub(crate) const BATCH: usize = 500;
const BATCHES_ON_THE_WAY: usize = 2;

/// Sends the rows that a database exports.
pub struct RowSender(Sender<Vec<Row>>);

pub(super) fn from_database() -> (RowSender, Receiver<Vec<Row>>) {
    let (sender, receiver) = mpsc::channel(BATCHES_ON_THE_WAY);
    (RowSender(sender), receiver)
}

impl RowSender {
    pub(crate) async fn send(&self, rows: Vec<Row>) -> Result<(), SendError<Vec<Row>>> {
        self.0.send(rows).await
    }
}

/// Consecutive rows of an export.
pub(crate) struct Batch {
    /// The line number of the first row; the others are on the following lines.
    pub(crate) first_line: u64,
    pub(crate) rows: Vec<Row>,
}

/// The next item of an export.
pub(crate) enum ImportItem {
    Rows(Batch),
    /// The end of a complete export, with its row counts.
    End(Counts),
}

/// Receives the rows that a database imports.
pub struct RowReceiver(Receiver<ReadItem>);

/// An item of an export, or the error of a row that cannot be read.
pub(super) type ReadItem = Result<ImportItem, InvalidExport>;

pub(super) fn from_stream() -> (Sender<ReadItem>, RowReceiver) {
    let (sender, receiver) = mpsc::channel(BATCHES_ON_THE_WAY);
    (sender, RowReceiver(receiver))
}

impl RowReceiver {
    pub(crate) async fn next(&mut self) -> ReadItem {
        self.0.recv().await.unwrap_or_else(stream_aborted)
    }
}

/// The reader stopped without a result, for example by a panic, which must not count as the end.
fn stream_aborted() -> ReadItem {
    Err(InvalidExport::Unreadable(io::Error::other("reading broke off")))
}
