//! Bringing the schema up to date.

use std::collections::BTreeSet;
use std::error::Error;
use std::time::Duration;

use diesel::migration::{Migration, MigrationSource};
use diesel::prelude::{QueryableByName, RunQueryDsl, SqliteConnection};
use diesel::result::Error as QueryError;
use diesel::sql_types::{Bool, Text};
use diesel::sqlite::Sqlite;
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use keyward_domain::ports::StorageError;

use super::database_file::{Access, DatabaseFile};
use super::errors::{is_busy, is_damaged, storage_error};
use super::search_texts::fill_in_search_texts;
use super::store::SqliteStore;
use crate::abort::Abort;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations/sqlite");

/// Another process that migrates gets done within this.
const WAIT_FOR_OTHER_PROCESS: Duration = Duration::from_secs(30);

/// Why the schema is not up to date.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The file cannot be read or written, or the disk is full.
    #[error("the database file cannot be written (check the disk, and who may write there)")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// Another process holds the write lock. Trying again later helps.
    #[error("another process holds the database file: try again when it has ended")]
    Blocked,
    /// A newer Keyward has migrated the database.
    #[error(
        "the database has migration {version}, which this version of Keyward does not know: start the newer version"
    )]
    NewerSchema {
        /// The newest version that is unknown here.
        version: String,
    },
    /// Parts of the file are lost.
    #[error("the database file is damaged: put a backup in its place")]
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

#[derive(QueryableByName)]
struct AppliedMigration {
    #[diesel(sql_type = Text)]
    version: String,
}

impl SqliteStore {
    /// Brings the schema up to date, and fills in what an older version left out. Any number of processes may do so at
    /// once: one migrates, the others wait for it.
    ///
    /// # Errors
    /// See [`MigrateError`].
    pub async fn migrate(&self) -> Result<(), MigrateError> {
        let file = self.file.clone();
        match tokio::task::spawn_blocking(move || migrate(&file)).await {
            Ok(migrated) => migrated,
            Err(error) => Err(MigrateError::Failed(error.into())),
        }
    }

    /// Whether the database answers and has every migration that this version knows. It may have newer ones, so that
    /// two versions can run side by side while one replaces the other.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn is_ready(&self) -> Result<bool, StorageError> {
        self.read(|connection| {
            let applied = applied_versions(connection)?;
            let known = known_versions().map_err(StorageError::Defect)?;
            Ok::<_, Abort<_>>(known.is_subset(&applied))
        })
        .await
    }
}

fn migrate(file: &DatabaseFile) -> Result<(), MigrateError> {
    let mut connection = file.connect_patiently(Access::Write, WAIT_FOR_OTHER_PROCESS)?;
    if !is_up_to_date(&mut connection)? {
        migrate_schema(&mut connection)?;
    }
    Ok(fill_in_search_texts(&mut connection)?)
}

fn migrate_schema(connection: &mut SqliteConnection) -> Result<(), MigrateError> {
    // One transaction for all that is to be done: it keeps other processes out, and leaves nothing half done.
    let mut outcome = Ok(());
    let committed = connection.immediate_transaction(|connection| {
        outcome = migrate_locked(connection);
        match outcome {
            Ok(()) => Ok(()),
            Err(_) => Err(QueryError::RollbackTransaction),
        }
    });
    outcome.and(committed.map_err(MigrateError::from))
}

fn migrate_locked(connection: &mut SqliteConnection) -> Result<(), MigrateError> {
    // The process that had the lock before may have done it all.
    if is_up_to_date(connection)? {
        return Ok(());
    }
    match connection.run_pending_migrations(MIGRATIONS) {
        Ok(_) => Ok(()),
        Err(error) => Err(MigrateError::Failed(error)),
    }
}

fn is_up_to_date(connection: &mut SqliteConnection) -> Result<bool, MigrateError> {
    let known = known_versions().map_err(MigrateError::Failed)?;
    let applied = applied_versions(connection)?;
    match applied.difference(&known).last() {
        Some(version) => Err(MigrateError::NewerSchema {
            version: version.clone(),
        }),
        None => Ok(applied == known),
    }
}

/// Stands for the tables of this version.
pub(crate) fn newest_migration() -> Result<String, Box<dyn Error + Send + Sync>> {
    let newest = known_versions()?.pop_last();
    newest.ok_or_else(|| "there are no migrations".into())
}

fn known_versions() -> Result<BTreeSet<String>, Box<dyn Error + Send + Sync>> {
    let migrations: Vec<Box<dyn Migration<Sqlite>>> = MIGRATIONS.migrations()?;
    Ok(migrations
        .iter()
        .map(|migration| migration.name().version().to_string())
        .collect())
}

fn applied_versions(connection: &mut SqliteConnection) -> Result<BTreeSet<String>, QueryError> {
    // diesel keeps its list in a table, which an empty database does not have.
    let has_list: bool = diesel::select(diesel::dsl::sql::<Bool>(
        "EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '__diesel_schema_migrations')",
    ))
    .get_result(connection)?;
    if !has_list {
        return Ok(BTreeSet::new());
    }
    let applied: Vec<AppliedMigration> =
        diesel::sql_query("SELECT version FROM __diesel_schema_migrations").load(connection)?;
    Ok(applied.into_iter().map(|migration| migration.version).collect())
}
