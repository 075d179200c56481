//! Why a transaction was rolled back, or a read returned nothing.

use std::convert::Infallible;

use diesel::result::Error as QueryError;
use futures_util::future::BoxFuture;
use keyward_domain::ports::StorageError;

/// Why a transaction is rolled back, or a read returns nothing.
pub(crate) enum Abort<E> {
    /// A rule of the domain forbids the change.
    Refused(E),
    /// A statement failed.
    Query(QueryError),
    /// A stored value cannot be read, or the deadline passed.
    Storage(StorageError),
}

/// An async closure that takes a connection and may abort.
pub(crate) trait Work<C, T, E>:
    for<'c> FnOnce(&'c mut C) -> BoxFuture<'c, Result<T, Abort<E>>> + Send + 'static
{
}

impl<W, C, T, E> Work<C, T, E> for W where
    W: for<'c> FnOnce(&'c mut C) -> BoxFuture<'c, Result<T, Abort<E>>> + Send + 'static
{
}

/// Boxes a [`Work`] closure, so that `?` in it converts into [`Abort`].
pub(crate) fn boxed<'c, T, E>(
    work: impl Future<Output = Result<T, Abort<E>>> + Send + 'c,
) -> BoxFuture<'c, Result<T, Abort<E>>> {
    Box::pin(work)
}

impl<E> From<QueryError> for Abort<E> {
    fn from(error: QueryError) -> Self {
        Self::Query(error)
    }
}

impl<E> From<StorageError> for Abort<E> {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl<E> Abort<E> {
    /// Turns the checks of a change, made without a lock, into the refusal to answer with; `None` if they
    /// pass.
    pub(crate) fn refusal_of<C, T>(
        checked: Result<C, Self>,
    ) -> Result<Option<Result<T, E>>, Abort<Infallible>> {
        match checked {
            Ok(_) => Ok(None),
            Err(Self::Refused(reason)) => Ok(Some(Err(reason))),
            Err(Self::Query(error)) => Err(Abort::Query(error)),
            Err(Self::Storage(error)) => Err(Abort::Storage(error)),
        }
    }
}

impl<E: From<StorageError>> Abort<E> {
    /// The error of a change. `name` maps the error of a statement, which means something else if it may be
    /// committed.
    pub(crate) fn into_error(
        self,
        may_be_committed: bool,
        name: fn(QueryError) -> StorageError,
        name_of_commit: fn(QueryError) -> StorageError,
    ) -> E {
        match self {
            Self::Refused(refusal) => refusal,
            Self::Storage(error) => error.into(),
            Self::Query(error) if may_be_committed => name_of_commit(error).into(),
            Self::Query(error) => name(error).into(),
        }
    }
}

impl Abort<Infallible> {
    /// The storage error of work that refuses nothing; `name` maps the database's errors.
    pub(crate) fn into_storage_error(self, name: fn(QueryError) -> StorageError) -> StorageError {
        match self {
            Self::Refused(never) => match never {},
            Self::Query(error) => name(error),
            Self::Storage(error) => error,
        }
    }
}

/// The step that took too long.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TooSlow {
    #[error("other changes of this consumer's keys took too long")]
    Turn,
    #[error("no connection became free in time")]
    Connection,
    #[error("the database did not answer in time")]
    Answer,
    #[error("the database did not confirm the commit in time")]
    Commit,
}
