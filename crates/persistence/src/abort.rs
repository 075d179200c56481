//! Why a transaction or a read came to nothing.

use std::convert::Infallible;

use diesel::result::Error as QueryError;
use futures_util::future::BoxFuture;
use keyward_domain::ports::StorageError;

/// Why a transaction is rolled back, or a read gives nothing.
pub(crate) enum Abort<E> {
    /// The domain's rules forbid it.
    Refused(E),
    /// A statement failed.
    Query(QueryError),
    /// What was read makes no sense, or time ran out.
    Storage(StorageError),
}

/// What is done with a connection, and may come to nothing.
pub(crate) trait Work<C, T, E>:
    for<'c> FnOnce(&'c mut C) -> BoxFuture<'c, Result<T, Abort<E>>> + Send + 'static
{
}

impl<W, C, T, E> Work<C, T, E> for W where
    W: for<'c> FnOnce(&'c mut C) -> BoxFuture<'c, Result<T, Abort<E>>> + Send + 'static
{
}

/// Such work, whose `?` knows that it may come to nothing.
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
    /// What a look says that makes the checks of a change: the answer, if they refuse.
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
    /// Why a change came to nothing. The error of a statement is named otherwise where the transaction was committing.
    pub(crate) fn into_error(
        self,
        is_committing: bool,
        name: fn(QueryError) -> StorageError,
        name_of_commit: fn(QueryError) -> StorageError,
    ) -> E {
        match self {
            Self::Refused(refusal) => refusal,
            Self::Storage(error) => error.into(),
            Self::Query(error) if is_committing => name_of_commit(error).into(),
            Self::Query(error) => name(error).into(),
        }
    }
}

impl Abort<Infallible> {
    /// What failed, where nothing can be refused; `name` is how the database's errors are called here.
    pub(crate) fn into_storage_error(self, name: fn(QueryError) -> StorageError) -> StorageError {
        match self {
            Self::Refused(never) => match never {},
            Self::Query(error) => name(error),
            Self::Storage(error) => error,
        }
    }
}

/// What took too long.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TooSlow {
    #[error("no connection became free in time")]
    Connection,
    #[error("the database did not answer in time")]
    Answer,
    #[error("the database did not confirm the commit in time")]
    Commit,
}
