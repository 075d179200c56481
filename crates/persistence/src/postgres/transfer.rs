//! Export from and import into PostgreSQL, on a connection without statement timeouts.

use std::convert::Infallible;
use std::time::Duration;

use async_trait::async_trait;
use diesel_async::{AsyncConnection, AsyncPgConnection};
use keyward_domain::ports::StorageError;
use tokio::time::timeout;

use super::connection::SessionLimits;
use super::errors::{commit_error, lacks_privilege, storage_error};
use super::sql::transfer::{receive, send};
use super::store::PostgresStore;
use crate::abort::{Abort, TooSlow};
use crate::transfer::{Counts, ImportError, RowReceiver, RowSender, Transfer};

/// An import that waits for a table lock blocks all later users of the table, so it does not wait long.
const WAIT_FOR_TABLE: Duration = Duration::from_secs(3);

#[async_trait]
impl Transfer for PostgresStore {
    async fn send_rows(&self, rows: RowSender) -> Result<(), StorageError> {
        let mut connection = self.connection_without_timeouts().await?;
        let sending = tokio::spawn(async move {
            connection
                .build_transaction()
                .repeatable_read()
                .read_only()
                .run(async |connection| send(connection, &rows).await)
                .await
        });
        match sending.await {
            Ok(sent) => sent.map_err(|abort: Abort<Infallible>| abort.into_storage_error(storage_error)),
            Err(error) => Err(StorageError::Defect(error.into())),
        }
    }

    async fn receive_rows(&self, mut rows: RowReceiver) -> Result<Counts, ImportError> {
        let mut connection = self.connection_without_timeouts().await?;
        let receiving = tokio::spawn(async move {
            let mut is_committing = false;
            let received = connection
                .transaction(async |connection| {
                    let received = receive(connection, &mut rows).await;
                    is_committing = received.is_ok();
                    received
                })
                .await;
            received.map_err(|abort| abort.into_error(is_committing, storage_error, commit_error))
        });
        match receiving.await {
            Ok(received) => received.map_err(naming_missing_right),
            Err(error) => Err(StorageError::Defect(error.into()).into()),
        }
    }
}

/// An import fails at once if its role lacks a right, unlike a server, which waits until it is granted: the
/// administrator can use another role.
fn naming_missing_right(error: ImportError) -> ImportError {
    match error {
        ImportError::Storage(StorageError::Unavailable(source))
            if source.downcast_ref().is_some_and(lacks_privilege) =>
        {
            ImportError::NotAllowed(source)
        }
        other => other,
    }
}

impl PostgresStore {
    /// A dedicated connection without timeouts, since the other end of the stream may be slow.
    async fn connection_without_timeouts(&self) -> Result<AsyncPgConnection, StorageError> {
        let limits = SessionLimits {
            statement: Duration::ZERO,
            lock: WAIT_FOR_TABLE,
            idle_in_transaction: Duration::ZERO,
        };
        match timeout(self.timeouts.answer, self.server.establish(limits, "")).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) => Err(StorageError::Unavailable(error.into())),
            Err(_) => Err(StorageError::Unavailable(TooSlow::Connection.into())),
        }
    }
}
