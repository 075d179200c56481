//! The steps of an import that are specific to PostgreSQL.

use diesel::QueryResult;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};

use crate::transfer::{BATCH, TABLES};

/// One statement for each table that has rows in the batch.
pub(super) const ROWS_AT_ONCE: usize = BATCH;

/// Locks the tables against other writers.
pub(super) async fn lock_tables(connection: &mut AsyncPgConnection) -> QueryResult<()> {
    let lock = format!("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE", TABLES.join(", "));
    connection.batch_execute(&lock).await
}

/// No index is dropped: PostgreSQL maintains them during the import.
pub(super) struct NoDroppedIndexes;

pub(super) async fn drop_indexes(_: &mut AsyncPgConnection) -> QueryResult<NoDroppedIndexes> {
    Ok(NoDroppedIndexes)
}

pub(super) async fn recreate_indexes(_: &mut AsyncPgConnection, _: NoDroppedIndexes) -> QueryResult<()> {
    Ok(())
}
