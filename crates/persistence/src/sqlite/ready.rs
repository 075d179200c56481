//! Statements as futures that are ready at once, and a store that is asked with them.
//!
//! [`sql`](super::sql) awaits its statements. Here, each is over when it has been asked. So what is built of them is polled once,
//! in the closure that runs a read or a change on one thread.
//!
//! There is no verb that adds several rows at once, since diesel opens a transaction of its own for it, which fails in the
//! one that is open. And no `first`: it binds a LIMIT, for which SQLite would compile the statement again at each use.

use std::borrow::BorrowMut;
use std::convert::Infallible;
use std::future::{Ready, ready};

use diesel::QueryResult;
use diesel::prelude::SqliteConnection as Connection;
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keyward_domain::ports::StorageError;

use super::store::SqliteStore as Store;
use crate::abort::{Abort, Work};
use crate::claim::Claim;

/// diesel's verbs, as diesel-async has them.
pub(super) trait RunQueryDsl: diesel::RunQueryDsl<Connection> {
    /// How many rows the statement changed.
    fn execute(self, connection: &mut impl BorrowMut<Connection>) -> Ready<QueryResult<usize>>
    where
        Self: ExecuteDsl<Connection>,
    {
        ready(diesel::RunQueryDsl::execute(self, connection.borrow_mut()))
    }

    /// All rows that the query finds.
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

    /// Makes a change that takes of the [reserve](Self::change_blocking_with).
    pub(super) async fn change<T, E, W>(&self, claim: Claim, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        W: Work<Connection, T, E> + Clone,
    {
        self.change_blocking_with(claim, move |connection| at_once(work(connection)))
            .await
    }

    /// Makes a change that takes of the reserve. What [`begin`] begins on PostgreSQL has begun here.
    pub(super) async fn change_that_begins<T, E, W>(&self, claim: Claim, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        W: Work<Connection, T, E> + Clone,
    {
        self.change(claim, work).await
    }

    /// Likewise, unless a [look](Self::change_blocking_after_look) tells what comes of it.
    pub(super) async fn change_after_look<T, E, L, W>(&self, look: L, claim: Claim, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        L: Work<Connection, Option<Result<T, E>>, Infallible>,
        W: Work<Connection, T, E> + Clone,
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
        L: Work<Connection, Option<Result<T, E>>, Infallible>,
        W: Work<Connection, T, E> + Clone,
    {
        self.change_after_look(look, Claim::Nothing, work).await
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
    fn statements_that_wait_for_something_else_are_a_defect() {
        let outcome: Result<(), Abort<StorageError>> = at_once(Box::pin(pending()));
        assert!(matches!(outcome, Err(Abort::Storage(StorageError::Defect(_)))));
    }
}
