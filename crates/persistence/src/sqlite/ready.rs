//! Statements as ready futures, and the store's methods that run them.
//!
//! [`sql`](super::sql) awaits its statements. Here, each statement runs synchronously and its future is
//! ready, so a whole read or change is polled once, in a closure on one thread.
//!
//! There is no method to insert several rows, since diesel opens a transaction for it, which fails inside
//! another one. And no `first`: it binds a LIMIT, which makes SQLite recompile the statement at each use.

use std::borrow::BorrowMut;
use std::convert::Infallible;
use std::future::{Ready, ready};

use diesel::QueryResult;
use diesel::prelude::SqliteConnection as Connection;
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keyward_domain::ports::StorageError;
use tokio::time::Instant;

use super::store::SqliteStore as Store;
use crate::abort::{Abort, Work};
use crate::claim::Claim;
use crate::key_change_turns::TurnRequest;

/// diesel's query methods, with the signatures of diesel-async.
pub(super) trait RunQueryDsl: diesel::RunQueryDsl<Connection> {
    /// Returns the number of changed rows.
    fn execute(self, connection: &mut impl BorrowMut<Connection>) -> Ready<QueryResult<usize>>
    where
        Self: ExecuteDsl<Connection>,
    {
        ready(diesel::RunQueryDsl::execute(self, connection.borrow_mut()))
    }

    /// Returns all rows of a query.
    fn load<'query, U>(self, connection: &mut impl BorrowMut<Connection>) -> Ready<QueryResult<Vec<U>>>
    where
        Self: LoadQuery<'query, Connection, U>,
    {
        ready(diesel::RunQueryDsl::load(self, connection.borrow_mut()))
    }

    /// Returns all rows that a statement changed.
    fn get_results<'query, U>(self, connection: &mut impl BorrowMut<Connection>) -> Ready<QueryResult<Vec<U>>>
    where
        Self: LoadQuery<'query, Connection, U>,
    {
        ready(diesel::RunQueryDsl::get_results(self, connection.borrow_mut()))
    }

    /// Returns the first row.
    fn get_result<'query, U>(self, connection: &mut impl BorrowMut<Connection>) -> Ready<QueryResult<U>>
    where
        Self: LoadQuery<'query, Connection, U>,
    {
        ready(diesel::RunQueryDsl::get_result(self, connection.borrow_mut()))
    }
}

impl<Q: diesel::RunQueryDsl<Connection>> RunQueryDsl for Q {}

/// A future was not ready, which is a defect: SQLite's statements never wait.
#[derive(Debug, thiserror::Error)]
#[error("a statement for SQLite waits for something else than SQLite")]
struct Pending;

/// The result of a future whose statements are all ready.
pub(super) fn at_once<T, E>(asked: BoxFuture<'_, Result<T, Abort<E>>>) -> Result<T, Abort<E>> {
    asked
        .now_or_never()
        .unwrap_or_else(|| Err(StorageError::Defect(Pending.into()).into()))
}

impl Store {
    /// Runs a [read](Self::read_blocking).
    pub(super) async fn read<T, Q>(&self, query: Q) -> Result<T, StorageError>
    where
        T: Send + 'static,
        Q: Work<Connection, T, Infallible>,
    {
        self.read_blocking(move |connection| at_once(query(connection)))
            .await
    }

    /// Makes a change that may use the [reserve](Self::change_begun).
    pub(super) async fn change<T, E, W>(&self, claim: Claim, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        W: Work<Connection, T, E> + Clone,
    {
        self.change_begun(Instant::now(), None, claim, work).await
    }

    /// Makes a change that may use the reserve. [`begin`] does nothing here, because the transaction has
    /// begun.
    pub(super) async fn change_that_begins<T, E, W>(&self, claim: Claim, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        W: Work<Connection, T, E> + Clone,
    {
        self.change(claim, work).await
    }

    /// Makes a change that may not use the reserve, unless a read finds that it is refused; the read does not
    /// need the write lock.
    pub(super) async fn change_unless_refused<T, E, L, W>(
        &self,
        turn: TurnRequest,
        precheck: L,
        work: W,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        L: Work<Connection, Option<Result<T, E>>, Infallible> + Clone,
        W: Work<Connection, T, E> + Clone,
    {
        self.change_after_precheck(Some(turn), precheck, Claim::Nothing, work)
            .await
    }
}

/// The same closure: only as an argument is it inferred to take a connection of any lifetime.
pub(super) const fn for_any_connection<T, E, W>(work: W) -> W
where
    W: for<'c> FnOnce(&'c mut Connection) -> BoxFuture<'c, Result<T, Abort<E>>>,
{
    work
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use keyward_domain::ports::StorageError;

    use super::at_once;
    use crate::abort::Abort;

    #[test]
    fn statement_waiting_for_something_else_is_a_defect() {
        let outcome: Result<(), Abort<StorageError>> = at_once(Box::pin(pending()));
        assert!(matches!(outcome, Err(Abort::Storage(StorageError::Defect(_)))));
    }
}
