//! Bringing the schema up to date.

use std::collections::BTreeSet;
use std::error::Error;
use std::time::Duration;

use diesel::migration::{Migration, MigrationSource};
use diesel::pg::Pg;
use diesel::prelude::{OptionalExtension, QueryDsl};
use diesel::result::Error as QueryError;
use diesel::sql_types::{Bool, Text};
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use futures_util::future::try_join;
use keyward_domain::ports::StorageError;
use tokio::time::timeout;

use super::connection::{EstablishError, SessionLimits};
use super::connection_refused::ConnectionRefused;
use super::errors::{LOCK_TIMEOUT, PERMISSION_DENIED, storage_error};
use super::prepared_once::PreparedOnce;
use super::schema::schema_compatibility;
use super::store::PostgresStore;
use crate::abort::{Abort, TooSlow};
use crate::schema_state::{AppliedMigration, Migrated, SchemaState};

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations/postgres");

/// Stands for what [`PostgresStore::migrate`] does: the text of all migrations. It changes when they change.
pub const MIGRATIONS_KEY: &str = concat!(
    include_str!("../../migrations/postgres/2026-11-21-090000_first_schema/up.sql"),
    include_str!("../../migrations/postgres/2026-11-21-150000_running_an_organization/up.sql"),
    include_str!("../../migrations/postgres/2026-11-21-160000_invitation_forms/up.sql"),
    include_str!("../../migrations/postgres/2026-11-21-170000_retention/up.sql"),
    include_str!("../../migrations/postgres/2026-11-22-090000_key_lines/up.sql"),
    include_str!("../../migrations/postgres/2026-11-22-100000_key_rights/up.sql"),
    include_str!("../../migrations/postgres/2026-11-22-110000_remembered_browsers/up.sql"),
    include_str!("../../migrations/postgres/2026-11-22-130000_schema_compatibility/up.sql"),
    include_str!("../../migrations/postgres/2026-11-22-130100_retention_clock/up.sql"),
    include_str!("../../migrations/postgres/2026-11-22-140000_change_rate/up.sql"),
    include_str!("../../migrations/postgres/2026-11-22-143000_refused_attempts/up.sql"),
    include_str!("../../migrations/postgres/2026-11-22-144000_idle_keys/up.sql"),
    include_str!("../../migrations/postgres/2026-11-22-144500_key_search/up.sql"),
    include_str!("../../migrations/postgres/2026-11-22-150000_audit_feed/up.sql"),
);

/// Only one process migrates a database at a time; this is what it locks. (ASCII: `keyward`.)
const ADVISORY_LOCK: i64 = 0x006b_6579_7761_7264;
/// Another process that migrates gets done, or gives up, within this.
const WAIT_FOR_OTHER_PROCESS: Duration = Duration::from_secs(30);
/// Whoever waits for a table makes everybody behind them wait, so it is not waited for long.
const WAIT_FOR_TABLE: Duration = Duration::from_secs(3);

/// Why the schema is not up to date.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The database does not answer. Trying again later may help.
    #[error("the database cannot be reached (check that it runs, and the host and port in the database URL)")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// The database's server answers, and lets nobody in with this URL.
    #[error(transparent)]
    Refused(#[from] ConnectionRefused),
    /// A transaction, or another process that migrates, holds what the migration needs. Trying again later helps.
    #[error(
        "the migration gave up: something else holds a lock that it needs, such as a long transaction or another \
         migration; try again when that has ended"
    )]
    Blocked,
    /// A newer Keyward has migrated the database to what this version cannot work with.
    #[error(
        "the database has migration {version}, which this version of Keyward does not know: start the newer version"
    )]
    NewerSchema {
        /// The newest version that is unknown here.
        version: String,
    },
    /// Most names could not be kept.
    #[error(
        "the database keeps text as {encoding}, and Keyward needs UTF8: create a database with ENCODING 'UTF8' TEMPLATE \
         template0"
    )]
    Encoding {
        /// As PostgreSQL calls it.
        encoding: String,
    },
    /// The user may not do what a migration does.
    #[error(
        "the database's user lacks a right that migrations need (make it the owner of the database, or migrate as the \
         owner)"
    )]
    NotAllowed(#[source] Box<dyn Error + Send + Sync>),
    /// A migration failed, and was rolled back.
    #[error("a migration failed and was rolled back (the database must be empty, or Keyward's own)")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
}

impl PostgresStore {
    /// Brings the schema up to date, and fills in what an older version left out. Any number of processes may do so at
    /// once: one migrates, the others wait for it. Tables of a newer version that only added to them are left alone.
    ///
    /// # Errors
    /// See [`MigrateError`].
    pub async fn migrate(&self) -> Result<Migrated, MigrateError> {
        let (connection, state) = self.first_look().await?;
        let migrated = match state {
            SchemaState::NewerIncompatible { newest } => {
                return Err(MigrateError::NewerSchema { version: newest });
            }
            SchemaState::NewerCompatible { .. } => return Ok(Migrated::Nothing),
            SchemaState::Current => Migrated::Nothing,
            SchemaState::Empty | SchemaState::Outdated { .. } => migrate_schema(connection).await?,
        };
        self.fill_in_search_texts().await.map_err(could_not_fill_in)?;
        self.fill_in_organizations_of_keys()
            .await
            .map_err(could_not_fill_in)?;
        self.fill_in_idle_days_of_keys()
            .await
            .map_err(could_not_fill_in)?;
        Ok(migrated)
    }

    /// How the tables stand to this version, before anything is asked of them. It changes nothing.
    ///
    /// # Errors
    /// See [`MigrateError`].
    pub async fn look(&self) -> Result<SchemaState, MigrateError> {
        Ok(self.first_look().await?.1)
    }

    /// On a connection of its own. Migrating may take as long as it takes, but only on a server that answers.
    async fn first_look(&self) -> Result<(AsyncPgConnection, SchemaState), MigrateError> {
        let limits = SessionLimits {
            statement: Duration::ZERO,
            lock: WAIT_FOR_OTHER_PROCESS,
            idle_in_transaction: Duration::ZERO,
        };
        let too_slow = |_| {
            let words = format!("{}: {}", self.server.address(), TooSlow::Answer);
            MigrateError::Unavailable(words.into())
        };
        let within = self.timeouts.answer;
        let establishing = timeout(within, self.server.establish(limits)).await;
        let established = establishing.map_err(too_slow)?;
        // Through such a pooler anything may fail from here on, setting up a session included.
        let is_connected = established.as_ref().err().is_none_or(EstablishError::is_of_setup);
        if is_connected && self.server.is_pooled_by_transaction(within).await {
            return Err(ConnectionRefused::PooledByTransaction.into());
        }
        let mut connection = established?;
        let looking = timeout(within, schema_state(&mut connection)).await;
        let state = looking.map_err(too_slow)?.map_err(query_failed)?;
        Ok((connection, state.map_err(MigrateError::Failed)?))
    }

    /// How the tables stand to this version, while it serves them.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn schema_state(&self) -> Result<SchemaState, StorageError> {
        self.read(|connection| {
            Box::pin(async move {
                let state = schema_state(connection).await?;
                Ok::<_, Abort<_>>(state.map_err(StorageError::Defect)?)
            })
        })
        .await
    }

    /// Whether the database answers with tables that this version can work with. They may be those of a newer version, so
    /// that two versions can run side by side while one replaces the other.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn is_ready(&self) -> Result<bool, StorageError> {
        Ok(self.schema_state().await?.is_usable())
    }
}

async fn migrate_schema(mut connection: AsyncPgConnection) -> Result<Migrated, MigrateError> {
    refuse_other_encodings(&mut connection).await?;
    // Held until the connection closes.
    let lock = format!(
        "SELECT pg_advisory_lock({ADVISORY_LOCK}); SET lock_timeout = {}",
        WAIT_FOR_TABLE.as_millis()
    );
    connection.batch_execute(&lock).await.map_err(query_failed)?;
    // The process that had the lock before may have done it all.
    let state = schema_state(&mut connection).await.map_err(query_failed)?;
    let state = match state.map_err(MigrateError::Failed)? {
        SchemaState::NewerIncompatible { newest } => {
            return Err(MigrateError::NewerSchema { version: newest });
        }
        state if state.is_usable() => return Ok(Migrated::Nothing),
        state => state,
    };
    let newest = newest_migration().map_err(MigrateError::Failed)?;
    let migrated = tokio::task::spawn_blocking(move || {
        AsyncConnectionWrapper::<AsyncPgConnection>::from(connection)
            .run_pending_migrations(MIGRATIONS)
            .map(|_| ())
    });
    match migrated.await {
        Ok(Ok(())) => Ok(state.migrated_to(newest)),
        Ok(Err(error)) => Err(migration_failed(error)),
        Err(error) => Err(MigrateError::Failed(error.into())),
    }
}

impl From<EstablishError> for MigrateError {
    fn from(error: EstablishError) -> Self {
        match error {
            EstablishError::Unavailable(error) => Self::Unavailable(error.into()),
            EstablishError::Refused(refusal) => Self::Refused(refusal),
        }
    }
}

async fn refuse_other_encodings(connection: &mut AsyncPgConnection) -> Result<(), MigrateError> {
    let encoding: String = diesel::select(diesel::dsl::sql::<Text>("current_setting('server_encoding')"))
        .get_result(connection)
        .await
        .map_err(query_failed)?;
    if encoding == "UTF8" {
        Ok(())
    } else {
        Err(MigrateError::Encoding { encoding })
    }
}

type Known<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn known_versions() -> Known<BTreeSet<String>> {
    let migrations: Vec<Box<dyn Migration<Pg>>> = MIGRATIONS.migrations()?;
    Ok(migrations
        .iter()
        .map(|migration| migration.name().version().to_string())
        .collect())
}

fn newest_migration() -> Known<String> {
    let newest = known_versions()?.pop_last();
    newest.ok_or_else(|| "there are no migrations".into())
}

async fn schema_state(connection: &mut AsyncPgConnection) -> Result<Known<SchemaState>, QueryError> {
    let connection = &*connection;
    // Two round trips: `/readyz` has only so much time.
    let (is_migrated, is_versioned) = try_join(
        has_table(connection, "__diesel_schema_migrations"),
        has_table(connection, "schema_compatibility"),
    )
    .await?;
    let (applied, minimum_reader) = try_join(
        applied_versions(connection, is_migrated),
        minimum_reader(connection, is_versioned),
    )
    .await?;
    Ok(known_versions().map(|known| SchemaState::of(&known, &applied, minimum_reader.as_deref())))
}

/// diesel keeps its list in a table, which an empty database does not have.
async fn applied_versions(
    mut connection: &AsyncPgConnection,
    is_migrated: bool,
) -> Result<BTreeSet<String>, QueryError> {
    if !is_migrated {
        return Ok(BTreeSet::new());
    }
    let versions = diesel::sql_query("SELECT version::text AS version FROM __diesel_schema_migrations");
    let applied: Vec<AppliedMigration> = PreparedOnce(versions).load(&mut connection).await?;
    Ok(applied.into_iter().map(|migration| migration.version).collect())
}

async fn minimum_reader(
    mut connection: &AsyncPgConnection,
    is_versioned: bool,
) -> Result<Option<String>, QueryError> {
    if !is_versioned {
        return Ok(None);
    }
    schema_compatibility::table
        .select(schema_compatibility::minimum_reader)
        .get_result(&mut connection)
        .await
        .optional()
}

async fn has_table(mut connection: &AsyncPgConnection, table: &str) -> Result<bool, QueryError> {
    let is_there = diesel::select(
        diesel::dsl::sql::<Bool>("to_regclass(")
            .bind::<Text, _>(table)
            .sql(") IS NOT NULL"),
    );
    PreparedOnce(is_there).get_result(&mut connection).await
}

fn query_failed(error: QueryError) -> MigrateError {
    if error.to_string() == LOCK_TIMEOUT {
        return MigrateError::Blocked;
    }
    if error.to_string().starts_with(PERMISSION_DENIED) {
        return MigrateError::NotAllowed(error.into());
    }
    match storage_error(error) {
        StorageError::Unavailable(source) => MigrateError::Unavailable(source),
        StorageError::Defect(source) => migration_failed(source),
        other @ (StorageError::OutcomeUnknown(_) | StorageError::Corrupt { .. }) => {
            MigrateError::Failed(other.into())
        }
    }
}

/// diesel hides the statement's error behind a private type; only the words come through.
fn migration_failed(error: Box<dyn Error + Send + Sync>) -> MigrateError {
    let words = error.to_string();
    if words.contains(LOCK_TIMEOUT) {
        MigrateError::Blocked
    } else if words.contains(PERMISSION_DENIED) || words.contains("must be owner of ") {
        MigrateError::NotAllowed(error)
    } else {
        MigrateError::Failed(error)
    }
}

/// Rows of the version before are completed after the migration itself.
fn could_not_fill_in(error: StorageError) -> MigrateError {
    match error {
        StorageError::Unavailable(source) => MigrateError::Unavailable(source),
        other
        @ (StorageError::OutcomeUnknown(_) | StorageError::Corrupt { .. } | StorageError::Defect(_)) => {
            MigrateError::Failed(other.into())
        }
    }
}
