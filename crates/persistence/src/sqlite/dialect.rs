//! The SQLite parts that [`sql`](super::sql) is compiled with.

use diesel::QueryResult;
use diesel::dsl::sql;
use diesel::query_dsl::methods::LimitDsl;
use diesel::result::Error as QueryError;
use diesel::sql_types::{Bool, Text};
use keyward_domain::api_key::LongestLife;
use keyward_domain::id::{MembershipId, OrganizationId};
use keyward_domain::keys::IdempotencyKey;
use uuid::Uuid;

use super::errors::violates_unique;

pub(super) use super::audit_log::{feed, write_events};
pub(super) use super::count_change::count_change;
pub(super) use super::errors::storage_error;
pub(super) use super::key_tree::{ancestor_chain, some_below, some_between, valid_from, valid_in_chain};
pub(super) use super::leaked_keys::leaked_keys;
pub(super) use super::leaving::valid_keys_of_member;
pub(super) use super::listed::listed;
pub(super) use super::organization_keys::{self, containing_term};
pub(super) use super::ready::{RunQueryDsl, for_any_connection};
pub(super) use super::store::SqliteStore as Store;
pub(super) use super::{import, last_uses, retention};
pub(super) use diesel::prelude::SqliteConnection as Connection;
pub(super) use diesel::sql_types::{BigInt as Flag, BigInt as Moment, BigInt as Number, Binary as Id};
pub(super) use diesel::sqlite::Sqlite as Database;

/// The counterpart of PostgreSQL's pipelined connection: statements run one after the other.
pub(super) type Pipelined<'c> = &'c mut Connection;

/// Runs several statements one after the other.
macro_rules! pipeline {
    ($connection:ident, $($asked:expr),+ $(,)?) => {
        ($($asked.await?),+)
    };
}

/// A query that locks its rows against changes until the end of the transaction; a change holds SQLite's
/// write lock anyway.
macro_rules! locked {
    ($query:expr) => {
        $query
    };
}

/// A query that locks its rows against removal until the end of the transaction, as for `locked`.
macro_rules! kept {
    ($query:expr) => {
        $query
    };
}

/// A query of rows that no other transaction has locked: all of them, as for `locked`.
macro_rules! skip_referenced {
    ($query:expr) => {
        $query
    };
}

/// The same as `skip_referenced`.
macro_rules! skip_locked {
    ($query:expr) => {
        $query
    };
}

/// The first rows of a query: no other transaction has locked anything.
macro_rules! first_unlocked {
    ($query:expr, $joined:ident, $rows:expr) => {
        $query.limit($rows)
    };
}

/// A query that may scan many rows. It is cancelled when its caller stops waiting: see [`not_cancelled`].
///
/// [`not_cancelled`]: super::not_cancelled
macro_rules! cancellable {
    ($query:expr, $row:expr) => {
        diesel::QueryDsl::filter($query, $crate::sqlite::not_cancelled::not_cancelled($row))
    };
}

/// A search. SQLite plans no statement for its values.
macro_rules! planned_each_time {
    ($query:expr) => {
        std::convert::identity($query)
    };
}

/// The condition that a text contains a term.
macro_rules! contains {
    ($text:expr, $term:expr) => {
        diesel::ExpressionMethods::gt($crate::sqlite::search::instr($text, $term), 0)
    };
}

/// The condition that a text's first or last line is all of a name.
macro_rules! named {
    ($text:expr, $name:expr) => {{
        let [first, last] = [format!("{}\n", $name), format!("\n{}", $name)];
        let ending = $crate::sqlite::search::substr($text, -$crate::limit::at_most(last.chars().count()));
        let is_first = diesel::ExpressionMethods::eq($crate::sqlite::search::instr($text, first), 1);
        let is_last = diesel::ExpressionMethods::eq(ending, last);
        let is_all = diesel::ExpressionMethods::eq($text, $name.to_owned());
        diesel::BoolExpressionMethods::or(is_all, diesel::BoolExpressionMethods::or(is_first, is_last))
    }};
}

/// Orders the rows with a given column value newest first.
macro_rules! newest {
    ($query:expr, $column:expr, $value:expr) => {
        newest!($query, $column, $value, api_keys::id)
    };
    ($query:expr, $column:expr, $value:expr, $id:expr) => {
        $query.filter($column.eq($value)).order($id.desc())
    };
}

/// The same as `newest`.
macro_rules! newest_planned_once {
    ($query:expr, $column:expr, $value:expr) => {
        newest!($query, $column, $value)
    };
}

/// Sorts keys, the newest first. The `+` keeps SQLite from scanning all keys by identifier.
macro_rules! sorted_newest {
    ($keys:expr) => {
        $keys.order(diesel::dsl::sql::<diesel::sql_types::Binary>("+id").desc())
    };
}

/// Keys of the index of ends. SQLite finds its condition in that of a planned end.
macro_rules! indexed_end {
    ($keys:expr) => {
        $keys
    };
}

/// The condition that a project belongs to the organization of a given membership. The `+` keeps SQLite from
/// scanning and sorting all projects of the organization.
macro_rules! in_organization_of_membership {
    () => {
        diesel::dsl::sql::<diesel::sql_types::Bool>(
            "+`projects`.`organization_id` = `memberships`.`organization_id`",
        )
    };
}

/// The condition that a key of a given consumer belongs to the organization. The `+` keeps SQLite from
/// scanning all keys of the organization; a condition on the membership instead would make it start there and
/// sort the keys.
macro_rules! of_organization {
    ($organization:expr) => {
        diesel::dsl::sql::<diesel::sql_types::Bool>("+`api_keys`.`organization_id` = ")
            .bind::<diesel::sql_types::Binary, _>($organization)
    };
}
pub(super) use {
    cancellable, contains, first_unlocked, in_organization_of_membership, indexed_end, kept, locked, named,
    newest, newest_planned_once, of_organization, pipeline, planned_each_time, skip_locked, skip_referenced,
    sorted_newest,
};

/// The rows of a table in export order. The importing database renumbers audit events in this order.
macro_rules! moved {
    (audit_events: $Record:ident) => {
        schema::audit_positions::table
            .inner_join(diesel::JoinOnDsl::on(
                schema::audit_events::table,
                schema::audit_events::id.eq(schema::audit_positions::event_id),
            ))
            .order(schema::audit_positions::position)
            .select($Record::sqlite_columns())
    };
    ($table:ident: $Record:ident) => {
        schema::$table::table
            .select($Record::sqlite_columns())
            .order(schema::$table::table.primary_key())
    };
}

/// Streams rows as they are found. It stops polling after the last row, because SQLite would start over.
macro_rules! streamed {
    ($query:expr, $connection:ident) => {
        futures_util::stream::iter(
            diesel::RunQueryDsl::load_iter::<_, diesel::connection::DefaultLoadingMode>($query, $connection)?
                .fuse(),
        )
    };
}

/// Inserts rows one by one: for several at once, diesel opens its own transaction.
macro_rules! insert_all {
    ($table:expr, $rows:ident, $connection:ident) => {
        for row in $rows {
            diesel::insert_into($table)
                .values(row)
                .execute($connection)
                .await?;
        }
    };
}
pub(super) use {insert_all, moved, streamed};

/// The transaction of a change has begun already.
pub(super) struct Begun;

/// One server serves a file, and knows which requests it handles.
pub(super) async fn begin_request(
    _: Pipelined<'_>,
    _: MembershipId,
    _: Option<IdempotencyKey>,
) -> QueryResult<Option<Begun>> {
    Ok(Some(Begun))
}

pub(super) async fn begin_unless(Begun: Begun, _: Pipelined<'_>) -> QueryResult<()> {
    Ok(())
}

/// Does nothing: the transaction of a change has begun already.
pub(super) async fn begin(_: Pipelined<'_>) -> QueryResult<()> {
    Ok(())
}

/// Whether commits wait for standbys: a file has none.
pub(super) async fn commits_wait_for_standbys(_: Pipelined<'_>) -> QueryResult<bool> {
    Ok(false)
}

/// Whether there is a table of this name.
pub(super) async fn has_table(mut connection: Pipelined<'_>, table: &str) -> QueryResult<bool> {
    let found = sql::<Bool>("EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ").bind::<Text, _>(table);
    diesel::select(found.sql(")")).get_result(&mut connection).await
}

/// The first rows of a query.
pub(super) fn first_rows<Q: LimitDsl>(query: Q, rows: i64) -> <Q as LimitDsl>::Output {
    query.limit(rows)
}

/// Marks a statement whose text never changes; SQLite needs nothing for it.
pub(super) const fn prepared_once<Q>(query: Q) -> Q {
    query
}

/// Does nothing: a change holds SQLite's write lock.
pub(super) async fn lock_keys(_: Pipelined<'_>, _: &[Uuid]) -> QueryResult<()> {
    Ok(())
}

/// Does nothing: a change holds SQLite's write lock.
pub(super) async fn lock_consumers(_: Pipelined<'_>, _: OrganizationId, _: &[Uuid]) -> QueryResult<()> {
    Ok(())
}

/// The end of this lifetime from a key's creation, in milliseconds.
pub(super) fn created_and_later(longest: LongestLife) -> String {
    let milliseconds = i64::from(longest.days()) * 86_400_000;
    format!("api_keys.created_at + {milliseconds}")
}

/// Whether an insert failed because another user has the username.
pub(super) fn username_is_taken(error: &QueryError) -> bool {
    violates_unique(error, "users.username")
}
