//! Moving an installation out of a SQLite file and into it, on a connection of its own.

use std::convert::Infallible;

use async_trait::async_trait;
use diesel::connection::SimpleConnection;
use keyward_domain::ports::StorageError;
use tokio::runtime::Handle;

use super::change::commit;
use super::database_file::{Access, DatabaseFile};
use super::errors::{commit_error, storage_error};
use super::sql::transfer::{receive, send};
use super::store::SqliteStore;
use crate::abort::Abort;
use crate::progress::Progress;
use crate::transfer::{Counts, ImportError, RowReceiver, RowSender, Transfer};

// The other end of the stream is waited for on a thread of its own, as SQLite's disk is.
#[async_trait]
impl Transfer for SqliteStore {
    async fn send_rows(&self, rows: RowSender) -> Result<(), StorageError> {
        let file = self.file.clone();
        let sending = tokio::task::spawn_blocking(move || {
            let mut connection = file.connect(Access::Read)?;
            // One transaction, which sees the state at its first statement. Closing the connection ends it.
            connection.batch_execute("BEGIN").map_err(storage_error)?;
            let sent = Handle::current().block_on(send(&mut connection, &rows));
            sent.map_err(|abort: Abort<Infallible>| abort.into_storage_error(storage_error))
        });
        match sending.await {
            Ok(sent) => sent,
            Err(error) => Err(StorageError::Defect(error.into())),
        }
    }

    async fn receive_rows(&self, rows: RowReceiver) -> Result<Counts, ImportError> {
        let file = self.file.clone();
        match tokio::task::spawn_blocking(move || receive_into(&file, rows)).await {
            Ok(received) => received,
            Err(error) => Err(StorageError::Defect(error.into()).into()),
        }
    }
}

fn receive_into(file: &DatabaseFile, mut rows: RowReceiver) -> Result<Counts, ImportError> {
    let connection = file.connect(Access::Rebuild)?;
    let progress = Progress::default();
    let (_, received) = commit(connection, &progress, |connection| {
        Handle::current().block_on(receive(connection, &mut rows))
    });
    received.map_err(|abort| abort.into_error(progress.is_committing(), storage_error, commit_error))
}
