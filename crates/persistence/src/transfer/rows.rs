//! Rows on their way between a database and a stream, a batch at a time: both sides wait for each other, so there are
//! never more than a few batches in memory.

use std::io;

use tokio::sync::mpsc::{self, Receiver, Sender};

use super::error::InvalidExport;
use super::tables::{Counts, Row};

/// The most rows of one batch. (PostgreSQL takes 65,535 values in one statement.)
pub(crate) const BATCH: usize = 500;
const BATCHES_ON_THE_WAY: usize = 2;

/// Nobody takes any more.
pub(crate) struct NotWanted;

/// Takes the rows that a database gives.
pub struct RowSender(Sender<Vec<Row>>);

pub(super) struct RowsToWrite(Receiver<Vec<Row>>);

pub(super) fn from_database() -> (RowSender, RowsToWrite) {
    let (sender, receiver) = mpsc::channel(BATCHES_ON_THE_WAY);
    (RowSender(sender), RowsToWrite(receiver))
}

impl RowSender {
    pub(crate) async fn send(&self, rows: Vec<Row>) -> Result<(), NotWanted> {
        self.0.send(rows).await.map_err(|_| NotWanted)
    }
}

impl RowsToWrite {
    /// The next ones; nothing when the database has given all it gives.
    pub(super) fn blocking_next(&mut self) -> Option<Vec<Row>> {
        self.0.blocking_recv()
    }
}

/// Consecutive rows of an export.
pub(crate) struct Batch {
    /// The line of the first one. The others follow on the next lines.
    pub(crate) first_line: u64,
    pub(crate) rows: Vec<Row>,
}

/// What comes next of an export.
pub(crate) enum Arrival {
    Rows(Batch),
    /// It is whole, and had so many rows.
    End(Counts),
}

/// Gives a database the rows that it is to take.
pub struct RowReceiver(Receiver<Result<Arrival, InvalidExport>>);

pub(super) struct RowsFromStream(Sender<Result<Arrival, InvalidExport>>);

pub(super) fn from_stream() -> (RowsFromStream, RowReceiver) {
    let (sender, receiver) = mpsc::channel(BATCHES_ON_THE_WAY);
    (RowsFromStream(sender), RowReceiver(receiver))
}

impl RowsFromStream {
    pub(super) fn blocking_send(&self, arrival: Result<Arrival, InvalidExport>) -> Result<(), NotWanted> {
        self.0.blocking_send(arrival).map_err(|_| NotWanted)
    }
}

impl RowReceiver {
    pub(crate) async fn next(&mut self) -> Result<Arrival, InvalidExport> {
        self.0.recv().await.unwrap_or_else(broke_off)
    }
}

/// Whoever reads it stopped without a word, as happens in a panic. It must not pass for the end.
fn broke_off() -> Result<Arrival, InvalidExport> {
    Err(InvalidExport::Unreadable(io::Error::other("reading broke off")))
}
