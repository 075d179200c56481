//! Moving an installation out of a SQLite file and into it, on a connection of its own.

use std::convert::Infallible;

use async_trait::async_trait;
use diesel::connection::{DefaultLoadingMode, SimpleConnection};
use diesel::dsl::exists;
use diesel::prelude::{
    ExpressionMethods, JoinOnDsl, QueryDsl, QueryResult, QueryableByName, RunQueryDsl, SqliteConnection,
    Table,
};
use diesel::sql_types::Text;
use keyward_domain::ports::StorageError;

use super::change::commit;
use super::database_file::{Access, DatabaseFile};
use super::errors::{commit_error, storage_error};
use super::schema;
use super::store::SqliteStore;
use crate::abort::Abort;
use crate::progress::Progress;
use crate::retention::LAST_LOOK_OF_IMPORT;
use crate::transfer::records::*;
use crate::transfer::{
    Arrival, BATCH, Batch, Counts, ImportError, Row, RowReceiver, RowSender, Transfer, cannot_read,
    with_tables,
};

#[async_trait]
impl Transfer for SqliteStore {
    async fn send_rows(&self, rows: RowSender) -> Result<(), StorageError> {
        let file = self.file.clone();
        let sending = tokio::task::spawn_blocking(move || {
            let mut connection = file.connect(Access::Read)?;
            send(&mut connection, &rows).map_err(|abort| abort.into_storage_error(storage_error))
        });
        match sending.await {
            Ok(sent) => sent,
            Err(error) => Err(StorageError::Defect(error.into())),
        }
    }

    async fn receive_rows(&self, rows: RowReceiver) -> Result<Counts, ImportError> {
        let file = self.file.clone();
        match tokio::task::spawn_blocking(move || receive(&file, rows)).await {
            Ok(received) => received,
            Err(error) => Err(StorageError::Defect(error.into()).into()),
        }
    }
}

/// The rows of a table in the order in which they are sent: what receives audit events numbers them anew in theirs.
macro_rules! in_order {
    (audit_events: $Record:ident) => {
        schema::audit_positions::table
            .inner_join(
                schema::audit_events::table
                    .on(schema::audit_events::id.eq(schema::audit_positions::event_id)),
            )
            .order(schema::audit_positions::position)
            .select($Record::sqlite_columns())
    };
    ($table:ident: $Record:ident) => {
        schema::$table::table
            .select($Record::sqlite_columns())
            .order(schema::$table::table.primary_key())
    };
}

macro_rules! define {
    ($($table:ident: $Record:ident,)*) => {
        /// One transaction: it sees what was committed before its first statement. Closing the connection ends it.
        fn send(connection: &mut SqliteConnection, rows: &RowSender) -> Result<(), Abort<Infallible>> {
            connection.batch_execute("BEGIN")?;
            $(
                let mut stored = in_order!($table: $Record)
                    .load_iter::<_, DefaultLoadingMode>(connection)?
                    // Asked once more after the end, SQLite would begin again.
                    .fuse();
                loop {
                    let batch = stored.by_ref().take(BATCH).map(|row| row.map(Row::$table));
                    let batch: Result<Vec<Row>, _> = batch.collect();
                    let batch = batch.map_err(|error| cannot_read(stringify!($table), error))?;
                    if batch.is_empty() {
                        break;
                    }
                    if rows.blocking_send(batch).is_err() {
                        return Ok(());
                    }
                }
                drop(stored);
            )*
            Ok(())
        }

        fn is_empty(connection: &mut SqliteConnection) -> Result<bool, diesel::result::Error> {
            $(
                let rows = schema::$table::table.select(schema::$table::table.primary_key());
                if diesel::select(exists(rows)).get_result(connection)? {
                    return Ok(false);
                }
            )*
            Ok(true)
        }

        fn insert(connection: &mut SqliteConnection, row: &Row) -> Result<usize, diesel::result::Error> {
            match row {
                $(
                    Row::$table(record) => diesel::insert_into(schema::$table::table)
                        .values(record)
                        .execute(connection),
                )*
            }
        }
    };
}

with_tables!(define);

fn receive(file: &DatabaseFile, mut rows: RowReceiver) -> Result<Counts, ImportError> {
    let connection = file.connect(Access::Rebuild)?;
    let progress = Progress::default();
    let (_, outcome) = commit(connection, &progress, |connection| {
        make_room(connection)?;
        let indexes = set_indexes_aside(connection)?;
        loop {
            match rows
                .blocking_next()
                .map_err(|invalid| Abort::Refused(invalid.into()))?
            {
                Arrival::Rows(batch) => receive_batch(connection, &batch)?,
                Arrival::End(counts) => {
                    for index in indexes {
                        connection.batch_execute(&index.sql)?;
                    }
                    connection.batch_execute(LAST_LOOK_OF_IMPORT)?;
                    return Ok(counts);
                }
            }
        }
    });
    match outcome {
        Ok(counts) => Ok(counts),
        Err(Abort::Refused(refusal)) => Err(refusal),
        Err(Abort::Storage(error)) => Err(error.into()),
        Err(Abort::Query(error)) if progress.is_committing() => Err(commit_error(error).into()),
        Err(Abort::Query(error)) => Err(storage_error(error).into()),
    }
}

/// Sees that nothing is kept here. The row of an installation that nobody has begun to set up says nothing, and makes
/// way.
fn make_room(connection: &mut SqliteConnection) -> Result<(), Abort<ImportError>> {
    let installation = schema::installation::table
        .filter(schema::installation::set_up_at.is_null())
        .filter(schema::installation::setup_link_digest.is_null());
    diesel::delete(installation).execute(connection)?;
    if is_empty(connection)? {
        Ok(())
    } else {
        Err(Abort::Refused(ImportError::NotEmpty))
    }
}

/// An index as SQLite keeps it.
#[derive(QueryableByName)]
struct Index {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    sql: String,
}

/// Removes the indexes that only make questions fast, until the rows are in: making an index of all rows at once takes a
/// fraction of the time that adding each row to it does. Unique ones stay, to refuse a row by its line.
fn set_indexes_aside(connection: &mut SqliteConnection) -> QueryResult<Vec<Index>> {
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

fn receive_batch(connection: &mut SqliteConnection, batch: &Batch) -> Result<(), Abort<ImportError>> {
    for (line, row) in (batch.first_line..).zip(&batch.rows) {
        insert(connection, row).map_err(|error| match storage_error(error) {
            StorageError::Defect(source) => Abort::Refused(ImportError::RowRefused {
                first_line: line,
                last_line: line,
                source,
            }),
            other => Abort::Storage(other),
        })?;
    }
    Ok(())
}
