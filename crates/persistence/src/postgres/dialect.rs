//! What [`sql`](super::sql) is asked with on PostgreSQL.

use std::convert::Infallible;

use diesel::QueryResult;
use diesel::dsl::{EqAny, sql};
use diesel::expression::SqlLiteral;
use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel::result::Error as QueryError;
use diesel::sql_types::{Bool, Text};
use keyward_domain::id::OrganizationId;
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use super::errors::violates_unique;
use super::prepared_once::PreparedOnce;
use super::schema::{api_keys, memberships};
use crate::abort::Work;
use crate::claim::Claim;
use crate::columns::StoredId;

pub(super) use super::audit_log::{feed, write_events};
pub(super) use super::change::{begin, for_any_connection};
pub(super) use super::count_change::count_change;
pub(super) use super::errors::storage_error;
pub(super) use super::leaving::valid_keys_of_member;
pub(super) use super::lineage::{line_above, some_below, some_between, valid_from, valid_in_line};
pub(super) use super::organization_keys::sources;
pub(super) use super::organization_keys::sources::containing_term;
pub(super) use super::store::PostgresStore as Store;
pub(super) use super::{import, last_uses, retention};
pub(super) use diesel::pg::Pg as Database;
pub(super) use diesel::sql_types::{Timestamptz as Moment, Uuid as Id};
pub(super) use diesel_async::{AsyncPgConnection as Connection, RunQueryDsl};

/// A connection on which a statement is sent although others may wait for their answers.
pub(super) type Pipelined<'c> = &'c Connection;

/// Sends statements that need no answer to each other, one right after the other: see [`change`](super::change). The first
/// error is the one that is told.
macro_rules! together {
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

/// A query whose rows nobody else changes until the end of the transaction. Others may refer to them meanwhile.
macro_rules! locked {
    ($query:expr) => {
        $query.for_no_key_update()
    };
}

/// A query whose rows nobody removes until the end of the transaction.
macro_rules! kept {
    ($query:expr) => {
        $query.for_key_share()
    };
}

/// A query of rows that no other transaction holds: they are held from now on, and nobody is waited for.
macro_rules! held_by_nobody {
    ($query:expr) => {
        $query.for_update().skip_locked()
    };
}

/// Likewise, where others may refer to the rows meanwhile.
macro_rules! locked_by_nobody {
    ($query:expr) => {
        $query.for_no_key_update().skip_locked()
    };
}

/// A query that may look at very many rows. The server ends it when it takes too long.
macro_rules! awaited {
    ($query:expr, $row:expr) => {
        $query
    };
}

/// That a text contains a term.
macro_rules! contains {
    ($text:expr, $term:expr) => {
        diesel::TextExpressionMethods::like($text, $crate::postgres::search::containing(&$term))
    };
}

/// A query of the keys, or of what has this identifier, that have this in a column, the newest first. It is said so that
/// PostgreSQL cannot take the order for one by identifier alone: it would go through everybody's, newest first, where it
/// expects to meet enough of these soon.
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

/// That a project is of the organization of a membership, which is given.
macro_rules! in_organization_of_membership {
    () => {
        projects::organization_id.eq(memberships::organization_id)
    };
}

/// That a key, whose consumer is given, is of the organization.
macro_rules! of_organization {
    ($organization:expr) => {
        api_keys::organization_id.eq($organization)
    };
}
pub(super) use {
    awaited, contains, held_by_nobody, in_organization_of_membership, kept, locked, locked_by_nobody, newest,
    of_organization, together,
};

/// The rows of a table as they are moved. What receives audit events numbers them anew in their order.
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

/// Rows as the server sends them.
macro_rules! streamed {
    ($query:expr, $connection:ident) => {
        $query.load_stream($connection).await?
    };
}

/// Adds rows in one statement.
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
    /// Makes a change that [begins](Self::change_that_begins), and finds out then whether it is refused: only changes of the
    /// same consumer wait for each other, and asking before would take one more way to the server and back.
    pub(super) async fn change_unless_refused<T, E, L, W>(&self, _look: L, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        L: Work<Connection, Option<Result<T, E>>, Infallible>,
        W: Work<Connection, T, E>,
    {
        self.change_that_begins(Claim::Nothing, work).await
    }
}

/// A statement whose text is always the same.
pub(super) const fn prepared_once<Q>(query: Q) -> PreparedOnce<Q> {
    PreparedOnce(query)
}

/// Whether there is a table of this name.
pub(super) async fn has_table(mut connection: Pipelined<'_>, table: &str) -> QueryResult<bool> {
    let found = sql::<Bool>("to_regclass(").bind::<Text, _>(table);
    let is_there = diesel::select(found.sql(") IS NOT NULL"));
    PreparedOnce(is_there).get_result(&mut connection).await
}

/// Texts of keys in the order of their code points, as everywhere.
pub(super) fn texts_by_code_point() -> SqlLiteral<Text> {
    sql("api_keys.search_text COLLATE \"C\"")
}

/// Keys with one of these identifiers.
pub(super) fn listed(ids: impl Iterator<Item = Uuid>) -> EqAny<api_keys::id, Vec<StoredId>> {
    api_keys::id.eq_any(ids.map(StoredId).collect::<Vec<_>>())
}

/// Locks keys in the order of their identifiers: when they were last used is written at any time, and several keys at once
/// are locked in that order there, too.
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

/// Nothing to wait for, where there are none, nor where they are of another organization.
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

/// Whether a user could not be added because another one has the name.
pub(super) fn username_is_taken(error: &QueryError) -> bool {
    violates_unique(error, "users_username_key")
}
