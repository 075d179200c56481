//! Bounded channels of row batches between a database and a stream: both sides wait for each other, so only a
//! few batches are in memory.

use std::io;

use tokio::sync::mpsc::{self, Receiver, Sender};

use super::error::InvalidExport;
use super::tables::{Counts, Row};

/// The maximum number of rows in a batch. (PostgreSQL takes 65,535 values in one statement.)
pub(crate) const BATCH: usize = 500;
const BATCHES_ON_THE_WAY: usize = 2;

/// The other side of the channel was dropped, so that no more rows can be sent.
pub(crate) struct ReceiverGone;

/// Sends the rows that a database exports.
pub struct RowSender(Sender<Vec<Row>>);

pub(super) struct RowsToWrite(Receiver<Vec<Row>>);

pub(super) fn from_database() -> (RowSender, RowsToWrite) {
    let (sender, receiver) = mpsc::channel(BATCHES_ON_THE_WAY);
    (RowSender(sender), RowsToWrite(receiver))
}

impl RowSender {
    pub(crate) async fn send(&self, rows: Vec<Row>) -> Result<(), ReceiverGone> {
        self.0.send(rows).await.map_err(|_| ReceiverGone)
    }
}

impl RowsToWrite {
    /// The next batch; `None` after the last.
    pub(super) fn blocking_next(&mut self) -> Option<Vec<Row>> {
        self.0.blocking_recv()
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
pub struct RowReceiver(Receiver<Result<ImportItem, InvalidExport>>);

pub(super) struct RowsFromStream(Sender<Result<ImportItem, InvalidExport>>);

pub(super) fn from_stream() -> (RowsFromStream, RowReceiver) {
    let (sender, receiver) = mpsc::channel(BATCHES_ON_THE_WAY);
    (RowsFromStream(sender), RowReceiver(receiver))
}

impl RowsFromStream {
    pub(super) fn blocking_send(
        &self,
        arrival: Result<ImportItem, InvalidExport>,
    ) -> Result<(), ReceiverGone> {
        self.0.blocking_send(arrival).map_err(|_| ReceiverGone)
    }
}

impl RowReceiver {
    pub(crate) async fn next(&mut self) -> Result<ImportItem, InvalidExport> {
        self.0.recv().await.unwrap_or_else(stream_aborted)
    }
}

/// The reader stopped without a result, for example by a panic, which must not count as the end.
fn stream_aborted() -> Result<ImportItem, InvalidExport> {
    Err(InvalidExport::Unreadable(io::Error::other("reading broke off")))
}
