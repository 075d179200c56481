//! The PostgreSQL parts that [`sql`](super::sql) is compiled with.

use std::convert::Infallible;

use diesel::QueryResult;
use diesel::dsl::{EqAny, sql};
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel::result::Error as QueryError;
use diesel::sql_types::{Bool, Text};
use keyward_domain::api_key::LongestLife;
use keyward_domain::id::OrganizationId;
use keyward_domain::ports::StorageError;
use tokio::time::Instant;
use uuid::Uuid;

use super::errors::violates_unique;
use super::first_rows::FirstRows;
use super::prepared_once::PreparedOnce;
use super::schema::{api_keys, memberships};
use crate::abort::Work;
use crate::claim::Claim;
use crate::columns::StoredId;
use crate::key_change_turns::TurnRequest;

pub(super) use super::audit_log::{feed, write_events};
pub(super) use super::begin::{begin, for_any_connection};
pub(super) use super::count_change::count_change;
pub(super) use super::errors::storage_error;
pub(super) use super::key_tree::{ancestor_chain, some_below, some_between, valid_from, valid_in_chain};
pub(super) use super::leaked_keys::leaked_keys;
pub(super) use super::leaving::valid_keys_of_member;
pub(super) use super::organization_keys::{self, containing_term};
pub(super) use super::request_lock::{begin_request, begin_unless};
pub(super) use super::standby::commits_wait_for_standbys;
pub(super) use super::store::PostgresStore as Store;
pub(super) use super::{import, last_uses, retention};
pub(super) use diesel::pg::Pg as Database;
pub(super) use diesel::sql_types::{Bool as Flag, Int4 as Number, Timestamptz as Moment, Uuid as Id};
pub(super) use diesel_async::{AsyncPgConnection as Connection, RunQueryDsl};

/// A connection that pipelines statements: one can be sent before earlier ones are answered.
pub(super) type Pipelined<'c> = &'c Connection;

/// Pipelines independent statements: see [`change`](super::change). Returns the first error.
macro_rules! pipeline {
    ($connection:ident, $first:expr, $second:expr $(,)?) => {{
        let $connection: $crate::postgres::dialect::Pipelined<'_> = $connection;
        futures_util::future::try_join($first, $second).await?
    }};
    ($connection:ident, $first:expr, $second:expr, $third:expr $(,)?) => {{
        let $connection: $crate::postgres::dialect::Pipelined<'_> = $connection;
        futures_util::future::try_join3($first, $second, $third).await?
    }};
    ($connection:ident, $first:expr, $second:expr, $third:expr, $fourth:expr $(,)?) => {{
        let $connection: $crate::postgres::dialect::Pipelined<'_> = $connection;
        futures_util::future::try_join4($first, $second, $third, $fourth).await?
    }};
    ($connection:ident, $first:expr, $second:expr, $third:expr, $fourth:expr, $fifth:expr $(,)?) => {{
        let $connection: $crate::postgres::dialect::Pipelined<'_> = $connection;
        futures_util::future::try_join5($first, $second, $third, $fourth, $fifth).await?
    }};
}

/// Locks the rows against changes until the end of the transaction (FOR NO KEY UPDATE); others may add
/// references to them.
macro_rules! locked {
    ($query:expr) => {
        $query.for_no_key_update()
    };
}

/// Locks the rows against removal until the end of the transaction (FOR KEY SHARE).
macro_rules! kept {
    ($query:expr) => {
        $query.for_key_share()
    };
}

/// Locks the rows, and skips those that another transaction has locked or refers to anew (SKIP LOCKED).
macro_rules! skip_referenced {
    ($query:expr) => {
        $query.for_update().skip_locked()
    };
}

/// The same, but others may add references to the rows meanwhile.
macro_rules! skip_locked {
    ($query:expr) => {
        $query.for_no_key_update().skip_locked()
    };
}

/// The first rows of a query whose row of a joined table no other transaction has locked. These rows of that table
/// are locked.
macro_rules! first_unlocked {
    ($query:expr, $joined:ident, $rows:expr) => {
        $crate::postgres::first_rows::FirstRows {
            query: $query,
            rows: $rows,
            locking: concat!(" FOR NO KEY UPDATE OF \"", stringify!($joined), "\" SKIP LOCKED"),
        }
    };
}

/// A query that may scan many rows. The server's statement timeout cancels it.
macro_rules! cancellable {
    ($query:expr, $row:expr) => {
        $query
    };
}

/// A search, which PostgreSQL plans for its values each time: diesel prepares a statement with raw SQL again
/// for each use. Prepared once, it would get a generic plan after five uses. That plan expects a third of all
/// keys when a search names the newest 5,000, and that a tenth of the matches is wanted. An exact lookup by
/// identifier keeps its plan.
macro_rules! planned_each_time {
    ($query:expr) => {
        $query.filter(diesel::dsl::sql::<diesel::sql_types::Bool>("TRUE"))
    };
}

/// The condition that a text contains a term.
macro_rules! contains {
    ($text:expr, $term:expr) => {
        diesel::TextExpressionMethods::like($text, $crate::postgres::search::containing(&$term))
    };
}

/// The condition that a text's first or last line is all of a name.
macro_rules! named {
    ($text:expr, $name:expr) => {{
        let [first, last] = $crate::postgres::search::first_and_last_line(&$name);
        let is_first = diesel::TextExpressionMethods::like($text, first);
        let is_last = diesel::TextExpressionMethods::like($text, last);
        let is_all = diesel::ExpressionMethods::eq($text, $name.to_owned());
        diesel::BoolExpressionMethods::or(is_all, diesel::BoolExpressionMethods::or(is_first, is_last))
    }};
}

/// Orders the rows with a given column value newest first. The order includes that column, because ordered by
/// identifier alone PostgreSQL may scan the rows of all organizations, newest first, when it expects to find
/// enough matches soon.
macro_rules! newest {
    ($query:expr, $column:expr, $value:expr) => {
        newest!($query, $column, $value, api_keys::id)
    };
    ($query:expr, $column:expr, $value:expr, $id:expr) => {
        $query
            .filter($column.between($value, $value))
            .order(($column.desc(), $id.desc()))
    };
}

/// The same, for a statement that is planned once. With a list of one value, the plan for any value expects
/// as many rows as an average one has, which for a single organization are all. Between two values, it
/// expects a fraction of these at a higher price, and PostgreSQL would plan each time.
macro_rules! newest_planned_once {
    ($query:expr, $column:expr, $value:expr) => {
        $query
            .filter($column.eq_any([$value]))
            .order(($column.desc(), api_keys::id.desc()))
    };
}

diesel::define_sql_function! {
    /// SQL's `coalesce`. Applied to an identifier twice, it is the identifier, but hides that from the
    /// planner.
    #[sql_name = "coalesce"]
    fn either(first: Id, second: Id) -> Id;
}

/// Sorts keys, the newest first. Ordered by the identifier itself, PostgreSQL might scan all keys, newest
/// first, when it expects to find enough matches soon.
macro_rules! sorted_newest {
    ($keys:expr) => {
        $keys.order($crate::postgres::dialect::either(api_keys::id, api_keys::id).desc())
    };
}

/// Keys of the index of ends, whose condition the planner must find in the query.
macro_rules! indexed_end {
    ($keys:expr) => {
        $keys.filter(diesel::dsl::sql::<diesel::sql_types::Bool>(
            "api_keys.revoked_at > '-infinity'",
        ))
    };
}

/// The condition that a project belongs to the organization of a given membership.
macro_rules! in_organization_of_membership {
    () => {
        projects::organization_id.eq(memberships::organization_id)
    };
}

/// The condition that a key of a given consumer belongs to the organization.
macro_rules! of_organization {
    ($organization:expr) => {
        api_keys::organization_id.eq($organization)
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
        schema::audit_events::table
            .select($Record::postgres_columns())
            .order(schema::audit_events::position)
    };
    ($table:ident: $Record:ident) => {
        schema::$table::table
            .select($Record::postgres_columns())
            .order(schema::$table::table.primary_key())
    };
}

/// Streams rows as the server sends them.
macro_rules! streamed {
    ($query:expr, $connection:ident) => {
        $query.load_stream($connection).await?
    };
}

/// Inserts rows in one statement.
macro_rules! insert_all {
    ($table:expr, $rows:ident, $connection:ident) => {
        diesel::insert_into($table)
            .values($rows)
            .execute($connection)
            .await?
    };
}
pub(super) use {insert_all, moved, streamed};

impl Store {
    /// Makes a change that [begins](Self::change_that_begins) and checks under the lock whether it is
    /// refused: only changes of the same consumer wait for each other, and a check beforehand would cost
    /// another round trip.
    pub(super) async fn change_unless_refused<T, E, L, W>(
        &self,
        turn: TurnRequest,
        _look: L,
        work: W,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        L: Work<Connection, Option<Result<T, E>>, Infallible>,
        W: Work<Connection, T, E>,
    {
        self.change_begun(Instant::now(), Some(turn), Claim::Nothing, work)
            .await
    }
}

/// Marks a statement whose text never changes, so that it is prepared once per connection.
pub(super) const fn prepared_once<Q>(query: Q) -> PreparedOnce<Q> {
    PreparedOnce(query)
}

/// The first rows of a query.
pub(super) const fn first_rows<Q>(query: Q, rows: i64) -> FirstRows<Q> {
    FirstRows {
        query,
        rows,
        locking: "",
    }
}

/// Whether there is a table of this name.
pub(super) async fn has_table(mut connection: Pipelined<'_>, table: &str) -> QueryResult<bool> {
    let found = sql::<Bool>("to_regclass(").bind::<Text, _>(table);
    let is_there = diesel::select(found.sql(") IS NOT NULL"));
    PreparedOnce(is_there).get_result(&mut connection).await
}

/// Keys with one of these identifiers.
pub(super) fn listed(ids: impl Iterator<Item = Uuid>) -> EqAny<api_keys::id, Vec<StoredId>> {
    api_keys::id.eq_any(ids.map(StoredId).collect::<Vec<_>>())
}

/// Locks keys in the order of their identifiers. The writer of last uses locks several keys in the same
/// order, so the two cannot deadlock.
pub(super) async fn lock_keys(mut connection: Pipelined<'_>, keys: &[Uuid]) -> QueryResult<()> {
    if keys.len() > 1 {
        api_keys::table
            .filter(api_keys::id.eq_any(keys))
            .order(api_keys::id)
            .select(api_keys::id)
            .for_no_key_update()
            .load::<Uuid>(&mut connection)
            .await?;
    }
    Ok(())
}

/// Locks the memberships of these consumers; those of other organizations are skipped.
pub(super) async fn lock_consumers(
    mut connection: Pipelined<'_>,
    organization: OrganizationId,
    consumers: &[Uuid],
) -> QueryResult<()> {
    if !consumers.is_empty() {
        memberships::table
            .filter(memberships::organization_id.eq(organization.as_uuid()))
            .filter(memberships::id.eq_any(consumers))
            .order(memberships::id)
            .select(memberships::id)
            .for_no_key_update()
            .load::<Uuid>(&mut connection)
            .await?;
    }
    Ok(())
}

/// The end of this lifetime from a key's creation, in hours, because a day has 23 or 25 hours in some time
/// zones of a session.
pub(super) fn created_and_later(longest: LongestLife) -> String {
    let hours = u32::from(longest.days()) * 24;
    format!("api_keys.created_at + interval '{hours} hours'")
}

/// Whether an insert failed because another user has the username.
pub(super) fn username_is_taken(error: &QueryError) -> bool {
    violates_unique(error, "users_username_key")
}
