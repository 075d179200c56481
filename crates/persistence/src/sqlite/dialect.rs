//! What [`sql`](super::sql) is asked with on SQLite.
//!
//! It awaits its statements. Here, each is over when it has been asked: the futures of [`RunQueryDsl`] are ready at once. So
//! what is built of them is polled once, in the closure that runs a read or a change on one thread.
//!
//! There is no verb that adds several rows at once, since diesel opens a transaction of its own for it, which fails in the
//! one that is open. And no `first`: it binds a LIMIT, for which SQLite would compile the statement again at each use.

use std::borrow::BorrowMut;
use std::convert::Infallible;
use std::future::{Ready, ready};

use diesel::QueryResult;
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::result::Error as QueryError;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keyward_domain::audit::AuditEvent;
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use super::errors::violates_unique;
use super::sql::audit_log::write_event;
use crate::abort::Abort;
use crate::claim::Claim;

pub(super) use super::changes::count_change;
pub(super) use super::leaving::preview as leaving_preview;
pub(super) use super::lineage::{line_above, some_below, some_between, valid_from, valid_in_line};
pub(super) use super::listed::listed;
pub(super) use super::organization_keys::revoke::revoke as revoke_selected;
pub(super) use super::organization_keys::sources::containing_term;
pub(super) use super::organization_keys::{sources, within};
pub(super) use super::search::coalesce;
pub(super) use super::store::SqliteStore as Store;
pub(super) use super::{last_uses, retention};
pub(super) use diesel::prelude::SqliteConnection as Connection;
pub(super) use diesel::sqlite::Sqlite as Database;

/// A connection on which a statement is asked, as PostgreSQL's are sent, after others and before others.
pub(super) type Pipelined<'c> = &'c mut Connection;

/// Asks for several things, one after the other.
macro_rules! together {
    ($connection:ident, $($asked:expr),+ $(,)?) => {
        ($($asked.await?),+)
    };
}

/// A query whose rows nobody else changes until the end of the transaction: in a change, that is so of all rows.
macro_rules! locked {
    ($query:expr) => {
        $query
    };
}

/// A query whose rows nobody removes until the end of the transaction: likewise.
macro_rules! kept {
    ($query:expr) => {
        $query
    };
}

/// A query that may look at very many rows. It ends when nobody waits for it any more, as [`still_awaited`] says.
///
/// [`still_awaited`]: super::still_awaited
macro_rules! awaited {
    ($query:expr, $row:expr) => {
        diesel::QueryDsl::filter($query, $crate::sqlite::still_awaited::still_awaited($row))
    };
}

/// That a text contains a term.
macro_rules! contains {
    ($text:expr, $term:expr) => {
        diesel::ExpressionMethods::gt($crate::sqlite::search::instr($text, $term), 0)
    };
}

/// Texts in the order of their code points, as everywhere.
macro_rules! by_code_point {
    ($text:path) => {
        $text
    };
}

/// A query of the keys that have this in a column, the newest first.
macro_rules! newest {
    ($query:expr, $column:expr, $value:expr) => {
        $query.filter($column.eq($value)).order(api_keys::id.desc())
    };
}

/// That a key, whose consumer is given, is of the organization. The `+` keeps SQLite from going through all keys of the
/// organization; and asked of the membership, it would look for that first, and sort the keys.
macro_rules! of_organization {
    ($organization:expr) => {
        diesel::dsl::sql::<diesel::sql_types::Bool>("+`api_keys`.`organization_id` = ")
            .bind::<diesel::sql_types::Binary, _>($organization)
    };
}
pub(super) use {awaited, by_code_point, contains, kept, locked, newest, of_organization, together};

/// diesel's verbs, as diesel-async has them.
pub(super) trait RunQueryDsl: diesel::RunQueryDsl<Connection> {
    /// How many rows the statement changed.
    fn execute(self, connection: &mut impl BorrowMut<Connection>) -> Ready<QueryResult<usize>>
    where
        Self: ExecuteDsl<Connection>,
    {
        ready(diesel::RunQueryDsl::execute(self, connection.borrow_mut()))
    }

    /// All rows.
    fn load<'query, U>(self, connection: &mut impl BorrowMut<Connection>) -> Ready<QueryResult<Vec<U>>>
    where
        Self: LoadQuery<'query, Connection, U>,
    {
        ready(diesel::RunQueryDsl::load(self, connection.borrow_mut()))
    }

    /// All rows, of a statement that changed them.
    fn get_results<'query, U>(self, connection: &mut impl BorrowMut<Connection>) -> Ready<QueryResult<Vec<U>>>
    where
        Self: LoadQuery<'query, Connection, U>,
    {
        ready(diesel::RunQueryDsl::get_results(self, connection.borrow_mut()))
    }

    /// The only row, or the first one.
    fn get_result<'query, U>(self, connection: &mut impl BorrowMut<Connection>) -> Ready<QueryResult<U>>
    where
        Self: LoadQuery<'query, Connection, U>,
    {
        ready(diesel::RunQueryDsl::get_result(self, connection.borrow_mut()))
    }
}

impl<Q: diesel::RunQueryDsl<Connection>> RunQueryDsl for Q {}

/// Something waits in what is asked of SQLite.
#[derive(Debug, thiserror::Error)]
#[error("a statement for SQLite waits for something else than SQLite")]
struct Pending;

/// What came of statements that have all been asked.
fn at_once<T, E>(asked: BoxFuture<'_, Result<T, Abort<E>>>) -> Result<T, Abort<E>> {
    asked
        .now_or_never()
        .unwrap_or_else(|| Err(StorageError::Defect(Pending.into()).into()))
}

impl Store {
    /// Runs a [read](Self::read_blocking).
    pub(super) async fn read<T, Q>(&self, query: Q) -> Result<T, StorageError>
    where
        T: Send + 'static,
        Q: for<'c> FnOnce(&'c mut Connection) -> BoxFuture<'c, Result<T, Abort<Infallible>>> + Send + 'static,
    {
        self.read_blocking(move |connection| at_once(query(connection)))
            .await
    }

    /// Makes a [change](Self::change_blocking).
    pub(super) async fn change<T, E, W>(&self, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        W: for<'c> FnOnce(&'c mut Connection) -> BoxFuture<'c, Result<T, Abort<E>>> + Send + 'static,
    {
        self.change_blocking(move |connection| at_once(work(connection)))
            .await
    }

    /// Makes a change that takes of the [reserve](Self::change_blocking_with).
    pub(super) async fn change_with<T, E, W>(&self, claim: Claim, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        W: for<'c> FnOnce(&'c mut Connection) -> BoxFuture<'c, Result<T, Abort<E>>> + Clone + Send + 'static,
    {
        self.change_blocking_with(claim, move |connection| at_once(work(connection)))
            .await
    }

    /// Makes a change that takes of the reserve. What [`begin`] begins on PostgreSQL has begun here.
    pub(super) async fn change_that_begins<T, E, W>(&self, claim: Claim, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        W: for<'c> FnOnce(&'c mut Connection) -> BoxFuture<'c, Result<T, Abort<E>>> + Clone + Send + 'static,
    {
        self.change_with(claim, work).await
    }

    /// Likewise, unless a [look](Self::change_blocking_after_look) tells what comes of it.
    pub(super) async fn change_after_look<T, E, L, W>(&self, look: L, claim: Claim, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        L: for<'c> FnOnce(
                &'c mut Connection,
            ) -> BoxFuture<'c, Result<Option<Result<T, E>>, Abort<Infallible>>>
            + Send
            + 'static,
        W: for<'c> FnOnce(&'c mut Connection) -> BoxFuture<'c, Result<T, Abort<E>>> + Clone + Send + 'static,
    {
        self.change_blocking_after_look(
            move |connection| at_once(look(connection)),
            claim,
            move |connection| at_once(work(connection)),
        )
        .await
    }

    /// Makes a change that takes nothing of the reserve, unless a look finds that it is refused: that takes the one writer
    /// from nobody.
    pub(super) async fn change_unless_refused<T, E, L, W>(&self, look: L, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        L: for<'c> FnOnce(
                &'c mut Connection,
            ) -> BoxFuture<'c, Result<Option<Result<T, E>>, Abort<Infallible>>>
            + Send
            + 'static,
        W: for<'c> FnOnce(&'c mut Connection) -> BoxFuture<'c, Result<T, Abort<E>>> + Clone + Send + 'static,
    {
        self.change_after_look(look, Claim::Nothing, work).await
    }
}

/// The transaction of a change has begun.
pub(super) async fn begin(_: Pipelined<'_>) -> QueryResult<()> {
    Ok(())
}

/// The same closure: only as an argument is it inferred to take a connection of any lifetime.
pub(super) const fn for_any_connection<T, E, W>(work: W) -> W
where
    W: for<'c> FnOnce(&'c mut Connection) -> BoxFuture<'c, Result<T, Abort<E>>>,
{
    work
}

/// A statement whose text is always the same.
pub(super) const fn prepared_once<Q>(query: Q) -> Q {
    query
}

/// Nobody else changes any key until the end of the transaction.
pub(super) async fn lock_keys(_: Pipelined<'_>, _: &[Uuid]) -> QueryResult<()> {
    Ok(())
}

/// Writes events in the transaction of the changes they tell of.
pub(super) async fn write_events(connection: Pipelined<'_>, events: Vec<AuditEvent>) -> QueryResult<()> {
    for event in events {
        write_event(connection, event).await?;
    }
    Ok(())
}

/// Whether a user could not be added because another one has the name.
pub(super) fn username_is_taken(error: &QueryError) -> bool {
    violates_unique(error, "users.username")
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use keyward_domain::ports::StorageError;

    use super::at_once;
    use crate::abort::Abort;

    #[test]
    fn statements_that_wait_for_something_else_are_a_defect() {
        let outcome: Result<(), Abort<StorageError>> = at_once(Box::pin(pending()));
        assert!(matches!(outcome, Err(Abort::Storage(StorageError::Defect(_)))));
    }
}
