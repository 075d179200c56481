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

use super::errors::violates_unique;
use super::sql::audit_log::write_event;
use crate::abort::Abort;
use crate::claim::Claim;

pub(super) use super::leaving::preview as leaving_preview;
pub(super) use super::search::coalesce;
pub(super) use super::store::SqliteStore as Store;
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
pub(super) use {awaited, contains, kept, locked, together};

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
