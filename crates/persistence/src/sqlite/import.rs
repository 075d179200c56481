//! What an import needs of SQLite.

use diesel::connection::SimpleConnection;
use diesel::prelude::{QueryResult, QueryableByName, RunQueryDsl, SqliteConnection};
use diesel::sql_types::Text;

/// A row that is refused is named by its line.
pub(super) const ROWS_AT_ONCE: usize = 1;

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
