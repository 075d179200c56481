//! The steps of an import that are specific to SQLite.

use diesel::connection::SimpleConnection;
use diesel::prelude::{QueryResult, QueryableByName, RunQueryDsl, SqliteConnection};
use diesel::sql_types::Text;

/// One row per statement, so that an error names the line of its row.
pub(super) const ROWS_AT_ONCE: usize = 1;

/// Does nothing: the import holds SQLite's write lock.
pub(super) async fn lock_tables(_: &mut SqliteConnection) -> QueryResult<()> {
    Ok(())
}

/// An index and the SQL that creates it.
#[derive(QueryableByName)]
pub(super) struct Index {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    sql: String,
}

/// Drops the non-unique indexes until the rows are imported: building an index of all rows at once takes a
/// fraction of the time of updating it row by row. Unique indexes stay, so that a duplicate is reported with
/// its line.
pub(super) async fn drop_indexes(connection: &mut SqliteConnection) -> QueryResult<Vec<Index>> {
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

pub(super) async fn recreate_indexes(
    connection: &mut SqliteConnection,
    indexes: Vec<Index>,
) -> QueryResult<()> {
    indexes
        .iter()
        .try_for_each(|index| connection.batch_execute(&index.sql))
}
