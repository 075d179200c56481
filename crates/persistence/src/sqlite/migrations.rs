//! Migrates the schema.

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use diesel::connection::{Connection, InstrumentationEvent};
use diesel::prelude::SqliteConnection;
use diesel::result::{DatabaseErrorKind, Error as QueryError};
use diesel::sqlite::Sqlite;
use diesel_migrations::MigrationHarness;
use keyward_domain::ports::StorageError;
use parking_lot::Mutex;

use super::database_file::{Access, DatabaseFile};
use super::errors::{is_busy, is_damaged, may_pass, storage_error};
use super::ready::at_once;
use super::sql::schema_state::schema_state;
use super::store::SqliteStore;
use crate::abort::Abort;
use crate::known_migrations::KnownMigrations;
use crate::schema_state::{Migrated, SchemaState, UnusableSchema};

/// How long to wait for another process that migrates.
const WAIT_FOR_OTHER_PROCESS: Duration = Duration::from_secs(30);

/// Why the schema could not be migrated.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The file cannot be read or written, or the disk is full.
    #[error("the database file cannot be written (check the disk, and who may write there)")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// Another process holds the write lock. A later retry helps.
    #[error("another process holds the database file: try again when it has ended")]
    Blocked,
    /// This version can neither use the schema nor migrate it.
    #[error(transparent)]
    Unusable(#[from] UnusableSchema),
    /// The database file is corrupted.
    #[error(
        "the database file is damaged: move it, keyward.db-wal and keyward.db-shm away together, and put a backup in its place"
    )]
    Damaged,
    /// A migration failed, and was rolled back.
    #[error("a migration failed and was rolled back (the database must be empty, or Keyward's own)")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
}

impl From<QueryError> for MigrateError {
    fn from(error: QueryError) -> Self {
        if is_busy(&error) {
            return Self::Blocked;
        }
        if is_damaged(&error) {
            return Self::Damaged;
        }
        storage_error(error).into()
    }
}

impl From<StorageError> for MigrateError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Unavailable(source) => Self::Unavailable(source),
            other => Self::Failed(other.into()),
        }
    }
}

impl From<Abort<Infallible>> for MigrateError {
    fn from(abort: Abort<Infallible>) -> Self {
        match abort {
            Abort::Refused(never) => match never {},
            Abort::Query(error) => error.into(),
            Abort::Storage(error) => error.into(),
        }
    }
}

impl SqliteStore {
    /// Migrates the schema to this version. Any number of processes may call it at once: one migrates, the
    /// others wait for it. A schema that a newer version has extended compatibly is left unchanged.
    ///
    /// # Errors
    /// See [`MigrateError`].
    pub async fn migrate(&self) -> Result<Migrated, MigrateError> {
        let known = self.migrations.clone();
        self.blocking(|file| migrate(file, known)).await
    }

    /// Compares the schema with this version, before any other query. Changes nothing.
    ///
    /// # Errors
    /// See [`MigrateError`].
    pub async fn inspect_schema(&self) -> Result<SchemaState, MigrateError> {
        let known = self.migrations.clone();
        self.blocking(move |file| {
            let mut connection = file.connect_with_wait(Access::Read, WAIT_FOR_OTHER_PROCESS)?;
            inspect_schema(&mut connection, &known)
        })
        .await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&DatabaseFile) -> Result<T, MigrateError> + Send + 'static,
    ) -> Result<T, MigrateError> {
        let file = self.file.clone();
        match tokio::task::spawn_blocking(move || work(&file)).await {
            Ok(done) => done,
            Err(error) => Err(MigrateError::Failed(error.into())),
        }
    }
}

fn migrate(file: &DatabaseFile, known: KnownMigrations) -> Result<Migrated, MigrateError> {
    let mut connection = file.connect_with_wait(Access::Rebuild, WAIT_FOR_OTHER_PROCESS)?;
    if !inspect_schema(&mut connection, &known)?.needs_migration()? {
        return Ok(Migrated::Nothing);
    }
    migrate_schema(&mut connection, known)
}

fn migrate_schema(
    connection: &mut SqliteConnection,
    known: KnownMigrations,
) -> Result<Migrated, MigrateError> {
    let first_error = FirstError::noted_on(connection);
    match (migrate_in_transaction(connection, known), first_error.take()) {
        (Err(MigrateError::Failed(_)), Some(error)) => Err(error.into()),
        (outcome, _) => outcome,
    }
}

/// Keeps the first error of a migration: when SQLite rolls back by itself (disk full, I/O error), diesel
/// reports only that there was nothing to roll back.
#[derive(Clone, Default)]
struct FirstError(Arc<Mutex<Option<String>>>);

impl FirstError {
    fn noted_on(connection: &mut SqliteConnection) -> Self {
        let noted = Self::default();
        let noting = noted.clone();
        connection.set_instrumentation(move |event: InstrumentationEvent<'_>| {
            if let InstrumentationEvent::FinishQuery {
                error: Some(QueryError::DatabaseError(DatabaseErrorKind::Unknown, information)),
                ..
            } = event
            {
                noting
                    .0
                    .lock()
                    .get_or_insert_with(|| information.message().to_owned());
            }
        });
        noted
    }

    /// The first error, if it is about the file rather than a statement.
    fn take(&self) -> Option<QueryError> {
        let words = self.0.lock().take()?;
        let error = QueryError::DatabaseError(DatabaseErrorKind::Unknown, Box::new(words));
        may_pass(&error).then_some(error)
    }
}

fn migrate_in_transaction(
    connection: &mut SqliteConnection,
    known: KnownMigrations,
) -> Result<Migrated, MigrateError> {
    // One transaction for all migrations: it locks out other processes and is atomic.
    let mut outcome = Ok(Migrated::Nothing);
    let committed = connection.immediate_transaction(|connection| {
        outcome = migrate_locked(connection, known);
        match outcome {
            Ok(_) => Ok(()),
            Err(_) => Err(QueryError::RollbackTransaction),
        }
    });
    match (outcome, committed) {
        (Ok(_), Err(error)) => Err(error.into()),
        (outcome, _) => outcome,
    }
}

fn migrate_locked(
    connection: &mut SqliteConnection,
    known: KnownMigrations,
) -> Result<Migrated, MigrateError> {
    // The previous holder of the lock may have applied all migrations.
    let state = inspect_schema(connection, &known)?;
    if !state.needs_migration()? {
        return Ok(Migrated::Nothing);
    }
    let newest = known.newest::<Sqlite>().map_err(MigrateError::Failed)?;
    match connection.run_pending_migrations(known) {
        Ok(_) => Ok(state.migrated_to(newest)),
        Err(error) => Err(MigrateError::Failed(error)),
    }
}

fn inspect_schema(
    connection: &mut SqliteConnection,
    known: &KnownMigrations,
) -> Result<SchemaState, MigrateError> {
    Ok(at_once(Box::pin(schema_state(connection, known)))?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use diesel::connection::SimpleConnection;
    use tempfile::TempDir;

    use super::{MigrateError, migrate_schema};
    use crate::known_migrations::KnownMigrations;
    use crate::sqlite::database_file::DatabaseFile;

    #[test]
    fn migration_on_a_full_disk_reports_it() {
        let directory = TempDir::new().unwrap();
        // Fewer pages than the tables need.
        for pages in [5, 20, 40] {
            let (_, mut connection) =
                DatabaseFile::open(directory.path(), Duration::from_secs(1), 0).unwrap();
            let limit = format!("PRAGMA max_page_count = {pages}");
            connection.batch_execute(&limit).unwrap();
            let Err(MigrateError::Unavailable(cause)) =
                migrate_schema(&mut connection, KnownMigrations::sqlite())
            else {
                panic!("not for want of room: {pages} pages");
            };
            assert_eq!(cause.to_string(), "database or disk is full");
        }
    }
}
