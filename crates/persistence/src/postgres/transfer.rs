//! Moving an installation out of PostgreSQL and into it, on a connection that may take its time.

use std::convert::Infallible;
use std::time::Duration;

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::prelude::{ExpressionMethods, QueryDsl, Table};
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use futures_util::TryStreamExt;
use keyward_domain::ports::StorageError;
use tokio::time::timeout;

use super::connection::SessionLimits;
use super::errors::{commit_error, storage_error};
use super::schema;
use super::store::PostgresStore;
use crate::abort::{Abort, TooSlow};
use crate::retention::LAST_LOOK_OF_IMPORT;
use crate::transfer::records::*;
use crate::transfer::{
    Arrival, BATCH, Batch, Counts, ImportError, Row, RowReceiver, RowSender, TABLES, Transfer, cannot_read,
    with_tables,
};

/// Whoever waits for a table makes everybody behind them wait, so it is not waited for long.
const WAIT_FOR_TABLE: Duration = Duration::from_secs(3);

#[async_trait]
impl Transfer for PostgresStore {
    async fn send_rows(&self, rows: RowSender) -> Result<(), StorageError> {
        let mut connection = self.patient_connection().await?;
        let sending = tokio::spawn(async move {
            connection
                .build_transaction()
                .repeatable_read()
                .read_only()
                .run(async |connection| send(connection, &rows).await)
                .await
        });
        match sending.await {
            Ok(sent) => sent.map_err(|abort: Abort<Infallible>| abort.into_storage_error(storage_error)),
            Err(error) => Err(StorageError::Defect(error.into())),
        }
    }

    async fn receive_rows(&self, rows: RowReceiver) -> Result<Counts, ImportError> {
        let connection = self.patient_connection().await?;
        match tokio::spawn(receive(connection, rows)).await {
            Ok(received) => received,
            Err(error) => Err(StorageError::Defect(error.into()).into()),
        }
    }
}

impl PostgresStore {
    /// A connection of its own, which waits for the other end of the stream as long as that takes.
    async fn patient_connection(&self) -> Result<AsyncPgConnection, StorageError> {
        let limits = SessionLimits {
            statement: Duration::ZERO,
            lock: WAIT_FOR_TABLE,
            idle_in_transaction: Duration::ZERO,
        };
        match timeout(self.timeouts.answer, self.server.establish(limits)).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) => Err(StorageError::Unavailable(error.into())),
            Err(_) => Err(StorageError::Unavailable(TooSlow::Connection.into())),
        }
    }
}

/// What the rows of a table are sent in the order of: what receives audit events numbers them anew in their order.
macro_rules! sent_by {
    (audit_events) => {
        schema::audit_events::position
    };
    ($table:ident) => {
        schema::$table::table.primary_key()
    };
}

macro_rules! define {
    ($($table:ident: $Record:ident,)*) => {
        /// One statement for each table, whose rows the server sends as they are taken.
        async fn send(connection: &mut AsyncPgConnection, rows: &RowSender) -> Result<(), Abort<Infallible>> {
            $(
                let stored = schema::$table::table
                    .select($Record::postgres_columns())
                    .order(sent_by!($table))
                    .load_stream(connection)
                    .await?;
                let mut batches = stored.map_ok(Row::$table).try_chunks(BATCH);
                while let Some(batch) = batches.try_next().await.map_err(|error| cannot_read(stringify!($table), error.1))? {
                    if rows.send(batch).await.is_err() {
                        return Ok(());
                    }
                }
            )*
            Ok(())
        }

        async fn is_empty(connection: &mut AsyncPgConnection) -> Result<bool, diesel::result::Error> {
            $(
                let rows = schema::$table::table.select(schema::$table::table.primary_key());
                if diesel::select(exists(rows)).get_result(connection).await? {
                    return Ok(false);
                }
            )*
            Ok(true)
        }

        /// One statement for each table that has rows in the batch.
        async fn insert(connection: &mut AsyncPgConnection, rows: &[Row]) -> Result<(), diesel::result::Error> {
            $(
                let records: Vec<_> = rows
                    .iter()
                    .filter_map(|row| if let Row::$table(record) = row { Some(record) } else { None })
                    .collect();
                if !records.is_empty() {
                    diesel::insert_into(schema::$table::table)
                        .values(records)
                        .execute(connection)
                        .await?;
                }
            )*
            Ok(())
        }
    };
}

with_tables!(define);

async fn receive(mut connection: AsyncPgConnection, mut rows: RowReceiver) -> Result<Counts, ImportError> {
    let mut is_committing = false;
    let outcome = connection
        .transaction(async |connection| {
            make_room(connection).await?;
            loop {
                match rows
                    .next()
                    .await
                    .map_err(|invalid| Abort::Refused(invalid.into()))?
                {
                    Arrival::Rows(batch) => receive_batch(connection, &batch).await?,
                    Arrival::End(counts) => {
                        connection.batch_execute(LAST_LOOK_OF_IMPORT).await?;
                        is_committing = true;
                        return Ok(counts);
                    }
                }
            }
        })
        .await;
    match outcome {
        Ok(counts) => Ok(counts),
        Err(Abort::Refused(refusal)) => Err(refusal),
        Err(Abort::Storage(error)) => Err(error.into()),
        Err(Abort::Query(error)) if is_committing => Err(commit_error(error).into()),
        Err(Abort::Query(error)) => Err(storage_error(error).into()),
    }
}

/// Sees that nothing is kept here, and that nothing comes in between. The row of an installation that nobody has begun
/// to set up says nothing, and makes way.
async fn make_room(connection: &mut AsyncPgConnection) -> Result<(), Abort<ImportError>> {
    let lock = format!("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE", TABLES.join(", "));
    connection.batch_execute(&lock).await?;
    let installation = schema::installation::table
        .filter(schema::installation::set_up_at.is_null())
        .filter(schema::installation::setup_link_digest.is_null());
    diesel::delete(installation).execute(connection).await?;
    if is_empty(connection).await? {
        Ok(())
    } else {
        Err(Abort::Refused(ImportError::NotEmpty))
    }
}

async fn receive_batch(connection: &mut AsyncPgConnection, batch: &Batch) -> Result<(), Abort<ImportError>> {
    insert(connection, &batch.rows)
        .await
        .map_err(|error| match storage_error(error) {
            StorageError::Defect(source) => Abort::Refused(ImportError::RowRefused {
                first_line: batch.first_line,
                last_line: batch.last_line(),
                source,
            }),
            other => Abort::Storage(other),
        })
}
