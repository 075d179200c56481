//! How changes begin, wherever their first statement is sent.

use diesel::QueryResult;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use futures_util::future::BoxFuture;

use crate::abort::Abort;

/// Begins the transaction of a change. In a pipeline, this is the first statement.
pub(super) async fn begin(mut connection: &AsyncPgConnection) -> QueryResult<()> {
    connection.batch_execute("BEGIN").await
}

/// The same closure: only as an argument is it inferred to take a connection of any lifetime.
pub(super) const fn for_any_connection<T, E, W>(work: W) -> W
where
    W: for<'c> FnOnce(&'c mut AsyncPgConnection) -> BoxFuture<'c, Result<T, Abort<E>>>,
{
    work
}
