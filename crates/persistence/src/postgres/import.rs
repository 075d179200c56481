//! What an import needs of PostgreSQL.

use diesel::QueryResult;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};

use crate::transfer::{BATCH, TABLES};

/// One statement for each table that has rows in the batch.
pub(super) const ROWS_AT_ONCE: usize = BATCH;

/// Locks the tables against other writers.
pub(super) async fn keep_others_out(connection: &mut AsyncPgConnection) -> QueryResult<()> {
    let lock = format!("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE", TABLES.join(", "));
    connection.batch_execute(&lock).await
}

/// No index is dropped: PostgreSQL maintains them during the import.
pub(super) struct AllStayed;

pub(super) async fn set_indexes_aside(_: &mut AsyncPgConnection) -> QueryResult<AllStayed> {
    Ok(AllStayed)
}

pub(super) async fn put_indexes_back(_: &mut AsyncPgConnection, _: AllStayed) -> QueryResult<()> {
    Ok(())
}
