//! The file, and how a port's method becomes one transaction.

use std::path::Path;
use std::sync::Arc;

use keyward_domain::ports::StorageError;
use redb::{Database, ReadTransaction, ReadableDatabase, WriteTransaction};
use tokio::task::spawn_blocking;

use crate::key_table::KEYS;
use crate::tables::{
    CREATED_WITH, EVENT_IDS, EVENTS, KEYS_BY_DIGEST, MEMBERSHIPS, MEMBERSHIPS_OF_PEOPLE, ORGANIZATIONS,
    ORGANIZATIONS_BY_SLUG, PEOPLE,
};

/// Keeps people and keys in one file. Clones share it.
///
/// redb allows one writing transaction at a time, and a commit returns when it is on the disk. That is all
/// that the ports ask for: the conditions that a change checks cannot change before it commits, and answered
/// changes are not lost.
#[derive(Clone)]
pub struct FileStore {
    database: Arc<Database>,
}

impl FileStore {
    /// Opens a file, or makes it.
    ///
    /// # Errors
    /// The file cannot be read or written, is something else, or is open already.
    pub fn open(file: &Path) -> Result<Self, StorageError> {
        let database = Database::create(file).map_err(failed)?;
        let transaction = database.begin_write().map_err(failed)?;
        create_tables(&transaction).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        Ok(Self {
            database: Arc::new(database),
        })
    }

    /// Reads, all as of one moment.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&ReadTransaction) -> Result<T, StorageError> + Send + 'static,
    ) -> Result<T, StorageError> {
        let database = Arc::clone(&self.database);
        let reading = spawn_blocking(move || read(&database.begin_read().map_err(failed)?));
        reading
            .await
            .map_err(|ended| StorageError::Defect(ended.into()))?
    }

    /// Changes everything that `change` writes, or nothing if it returns an error. The thread completes even
    /// if the caller is cancelled.
    pub(crate) async fn change<T, E>(
        &self,
        change: impl FnOnce(&WriteTransaction) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
    {
        let database = Arc::clone(&self.database);
        let changing = spawn_blocking(move || {
            let transaction = database.begin_write().map_err(failed)?;
            // A transaction that is dropped leaves nothing behind.
            let answer = change(&transaction)?;
            transaction
                .commit()
                .map_err(|error| StorageError::OutcomeUnknown(error.into()))?;
            Ok(answer)
        });
        changing
            .await
            .map_err(|ended| StorageError::OutcomeUnknown(ended.into()))?
    }
}

/// Reading asks for tables that exist.
fn create_tables(transaction: &WriteTransaction) -> Result<(), redb::TableError> {
    transaction.open_table(ORGANIZATIONS)?;
    transaction.open_table(ORGANIZATIONS_BY_SLUG)?;
    transaction.open_table(PEOPLE)?;
    transaction.open_table(MEMBERSHIPS)?;
    transaction.open_table(MEMBERSHIPS_OF_PEOPLE)?;
    transaction.open_table(KEYS)?;
    transaction.open_table(KEYS_BY_DIGEST)?;
    transaction.open_table(CREATED_WITH)?;
    transaction.open_table(EVENTS)?;
    transaction.open_table(EVENT_IDS)?;
    Ok(())
}

/// An error before the commit: nothing was changed.
pub(crate) fn failed(error: impl Into<redb::Error>) -> StorageError {
    match error.into() {
        error @ (redb::Error::Io(_) | redb::Error::PreviousIo | redb::Error::DatabaseAlreadyOpen) => {
            StorageError::Unavailable(error.into())
        }
        error => StorageError::Defect(error.into()),
    }
}
