//! What [`sql`](super::sql) is asked with on PostgreSQL.

use diesel::result::Error as QueryError;
use futures_util::future::BoxFuture;
use keyward_domain::ports::StorageError;

use super::errors::violates_unique;
use crate::abort::Abort;
use crate::claim::Claim;

pub(super) use super::audit_log::write_events;
pub(super) use super::leaving::preview as leaving_preview;
pub(super) use super::search::coalesce;
pub(super) use super::store::PostgresStore as Store;
pub(super) use diesel::pg::Pg as Database;
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
pub(super) use {awaited, contains, kept, locked, together};

impl Store {
    /// Makes a [change](Self::change). PostgreSQL's disk is its own: nothing of it is reserved here.
    pub(super) async fn change_with<T, E, W>(&self, _claim: Claim, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
        W: for<'c> FnOnce(&'c mut Connection) -> BoxFuture<'c, Result<T, Abort<E>>> + Send + 'static,
    {
        self.change(work).await
    }
}

/// Whether a user could not be added because another one has the name.
pub(super) fn username_is_taken(error: &QueryError) -> bool {
    violates_unique(error, "users_username_key")
}
