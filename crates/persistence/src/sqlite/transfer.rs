//! Moving an installation out of a SQLite file and into it, on a connection of its own.

use std::convert::Infallible;

use async_trait::async_trait;
use diesel::connection::SimpleConnection;
use diesel::prelude::{QueryResult, QueryableByName, RunQueryDsl, SqliteConnection};
use diesel::sql_types::Text;
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

/// A row that is refused is named by its line.
pub(super) const ROWS_AT_ONCE: usize = 1;

// The other end of the stream is waited for on a thread of its own, as SQLite's disk is.
#[async_trait]
impl Transfer for SqliteStore {
    async fn send_rows(&self, rows: RowSender) -> Result<(), StorageError> {
        let file = self.file.clone();
        let sending = tokio::task::spawn_blocking(move || {
            let mut connection = file.connect(Access::Read)?;
            // One transaction: it sees what was committed before its first statement. Closing the connection ends it.
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

/// The write lock does.
pub(super) async fn keep_others_out(_: &mut SqliteConnection) -> QueryResult<()> {
    Ok(())
}

/// An index as SQLite keeps it.
#[derive(QueryableByName)]
pub(super) struct Index {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    sql: String,
}

/// Removes the indexes that only make questions fast, until the rows are in: making an index of all rows at once takes a
/// fraction of the time that adding each row to it does. Unique ones stay, to refuse a row by its line.
pub(super) async fn set_indexes_aside(connection: &mut SqliteConnection) -> QueryResult<Vec<Index>> {
    let indexes: Vec<Index> = diesel::sql_query(
        "SELECT name, sql FROM sqlite_schema
         WHERE type = 'index' AND sql IS NOT NULL AND sql NOT LIKE 'CREATE UNIQUE %' ORDER BY rowid",
    )
    .load(connection)?;
    for index in &indexes {
        let name = index.name.replace('"', "\"\"");
        connection.batch_execute(&format!("DROP INDEX \"{name}\""))?;
    }
    Ok(indexes)
}

pub(super) async fn put_indexes_back(
    connection: &mut SqliteConnection,
    indexes: Vec<Index>,
) -> QueryResult<()> {
    indexes
        .iter()
        .try_for_each(|index| connection.batch_execute(&index.sql))
}
