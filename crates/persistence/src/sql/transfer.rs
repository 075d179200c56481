//! The statements of export and import, in a transaction without timeouts.

use diesel::QueryResult;
use diesel::dsl::{exists, not, sql};
use diesel::prelude::{ExpressionMethods, NullableExpressionMethods, OptionalExtension, QueryDsl, Table};
use diesel::sql_types::Nullable;
use futures_util::TryStreamExt;
use keyward_domain::ports::StorageError;

use super::dialect::{Connection, Id, RunQueryDsl, import, insert_all, moved, storage_error, streamed};
use super::schema::{self, api_keys, memberships, organizations};
use super::validity::is_permanent_owner;
use crate::abort::Abort;
use crate::columns::StoredId;
use crate::retention::RESET_RETENTION_CLOCK;
use crate::stored_row::StoredRow;
use crate::transfer::records::*;
use crate::transfer::{
    BATCH, Batch, Counts, ImportError, ImportItem, InvalidExport, Row, RowReceiver, RowSender, cannot_read,
    with_tables,
};

macro_rules! define {
    ($($table:ident: $Record:ident,)*) => {
        /// One statement per table, whose rows are streamed.
        pub(crate) async fn send<E>(connection: &mut Connection, rows: &RowSender) -> Result<(), Abort<E>> {
            $(
                let stored = streamed!(moved!($table: $Record), connection);
                let mut batches = stored.map_ok(Row::$table).try_chunks(BATCH);
                while let Some(batch) = batches.try_next().await.map_err(|error| cannot_read(stringify!($table), error.1))? {
                    if rows.send(batch).await.is_err() {
                        return Ok(());
                    }
                }
                drop(batches);
            )*
            Ok(())
        }

        async fn is_empty(connection: &mut Connection) -> QueryResult<bool> {
            $(
                let rows = schema::$table::table.select(schema::$table::table.primary_key());
                if diesel::select(exists(rows)).get_result(connection).await? {
                    return Ok(false);
                }
            )*
            Ok(true)
        }

        async fn insert(connection: &mut Connection, rows: &[Row]) -> QueryResult<()> {
            $(
                let records: Vec<&$Record> = rows
                    .iter()
                    .filter_map(|row| if let Row::$table(record) = row { Some(record) } else { None })
                    .collect();
                if !records.is_empty() {
                    insert_all!(schema::$table::table, records, connection);
                }
            )*
            Ok(())
        }
    };
}

with_tables!(define);

/// Imports all rows; the caller commits next.
pub(crate) async fn receive(
    connection: &mut Connection,
    rows: &mut RowReceiver,
) -> Result<Counts, Abort<ImportError>> {
    import::lock_tables(connection).await?;
    // The initial installation row, before any setup, is replaced by the imported one.
    let not_begun = schema::installation::table
        .filter(schema::installation::set_up_at.is_null())
        .filter(schema::installation::setup_link_digest.is_null());
    diesel::delete(not_begun).execute(connection).await?;
    if !is_empty(connection).await? {
        return Err(Abort::Refused(ImportError::NotEmpty));
    }
    let aside = import::drop_indexes(connection).await?;
    loop {
        match rows
            .next()
            .await
            .map_err(|invalid| Abort::Refused(invalid.into()))?
        {
            ImportItem::Rows(batch) => receive_batch(connection, &batch).await?,
            ImportItem::End(counts) => {
                import::recreate_indexes(connection, aside).await?;
                check_rules(connection).await?;
                diesel::sql_query(RESET_RETENTION_CLOCK)
                    .execute(connection)
                    .await?;
                return Ok(counts);
            }
        }
    }
}

/// Checks rules that span several rows: each organization has a permanent owner, and each key is deeper in its key tree
/// than its parent; a revocation would not find it otherwise. Not deeper by one, since retention may have removed keys
/// between them.
async fn check_rules(connection: &mut Connection) -> Result<(), Abort<ImportError>> {
    let refused = |table, id: StoredId, column, problem: &str| {
        let problem = StoredRow::new(table, id.0).corrupt(column, problem.to_owned());
        Err(Abort::Refused(InvalidExport::Contradiction(problem).into()))
    };
    let owned = memberships::table
        .filter(is_permanent_owner())
        .select(memberships::organization_id);
    let ownerless: Option<StoredId> = organizations::table
        // Not `ne_all`: PostgreSQL makes no hash table of `<> ALL`, and compares each organization with each owner.
        .filter(not(organizations::id.eq_any(owned)))
        .select(organizations::id)
        .order(organizations::id)
        .limit(1)
        .get_result(connection)
        .await
        .optional()?;
    if let Some(id) = ownerless {
        return refused("organizations", id, "id", "no owner without a planned end");
    }
    let parents = diesel::alias!(api_keys as parents);
    let effective_parent =
        sql::<Nullable<Id>>("coalesce(api_keys.adoptive_parent_key_id, api_keys.created_by_key_id)");
    let parent = parents
        .filter(parents.field(api_keys::id).nullable().eq(effective_parent))
        .filter(parents.field(api_keys::tree_depth).ge(api_keys::tree_depth));
    let not_below: Option<StoredId> = api_keys::table
        .filter(exists(parent))
        .select(api_keys::id)
        .order(api_keys::id)
        .limit(1)
        .get_result(connection)
        .await
        .optional()?;
    match not_below {
        Some(id) => refused("api_keys", id, "tree_depth", "not greater than its parent's"),
        None => Ok(()),
    }
}

async fn receive_batch(connection: &mut Connection, batch: &Batch) -> Result<(), Abort<ImportError>> {
    let first_lines = (batch.first_line..).step_by(import::ROWS_AT_ONCE);
    for (first_line, rows) in first_lines.zip(batch.rows.chunks(import::ROWS_AT_ONCE)) {
        insert(connection, rows)
            .await
            .map_err(|error| match storage_error(error) {
                StorageError::Defect(source) => Abort::Refused(ImportError::RowRefused {
                    first_line,
                    last_line: first_line + (rows.len() as u64).saturating_sub(1),
                    source,
                }),
                other => Abort::Storage(other),
            })?;
    }
    Ok(())
}
