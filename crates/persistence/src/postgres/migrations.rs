//! Migrates the schema.

use std::convert::Infallible;
use std::error::Error;
use std::time::Duration;

use diesel::dsl::sql;
use diesel::pg::Pg;
use diesel::result::Error as QueryError;
use diesel::sql_types::{BigInt, Bool, Text};
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use diesel_migrations::MigrationHarness;
use keyward_domain::ports::StorageError;
use tokio::time::timeout;

use super::connection::{EstablishError, SessionLimits};
use super::connection_refused::ConnectionRefused;
use super::errors::{LOCK_TIMEOUT, PERMISSION_DENIED, is_lock_timeout, lacks_privilege, storage_error};
use super::sql::schema_state::schema_state;
use super::store::PostgresStore;
use crate::abort::{Abort, TooSlow};
use crate::known_migrations::KnownMigrations;
use crate::schema_state::{Migrated, SchemaState, UnusableSchema};

/// The advisory lock under which one process at a time migrates. (ASCII: `keyward`.)
const ADVISORY_LOCK: i64 = 0x006b_6579_7761_7264;
/// How long to wait for another process that migrates.
const WAIT_FOR_OTHER_PROCESS: Duration = Duration::from_secs(30);
/// A migration that waits for a table lock blocks all later users of the table, so it does not wait long.
const WAIT_FOR_TABLE: Duration = Duration::from_secs(3);

/// Why the schema could not be migrated.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The database does not answer. A later retry may help.
    #[error("the database cannot be reached (check that it runs, and the host and port in the database URL)")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// The database server refuses connections with this URL.
    #[error(transparent)]
    Refused(#[from] ConnectionRefused),
    /// Another transaction or migrating process holds a lock that the migration needs. A later retry helps.
    #[error(
        "the migration gave up: something else holds a lock that it needs, such as a long transaction or another \
         migration; try again when that has ended"
    )]
    Blocked,
    /// This version can neither use the schema nor migrate it.
    #[error(transparent)]
    Unusable(#[from] UnusableSchema),
    /// The database's encoding cannot store all names.
    #[error(
        "the database keeps text as {encoding}, and Keyward needs UTF8: create a database with ENCODING 'UTF8' TEMPLATE \
         template0"
    )]
    Encoding {
        /// PostgreSQL's name of the encoding.
        encoding: String,
    },
    /// The role lacks a privilege that the migration needs.
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
    /// Migrates the schema to this version. Any number of processes may call it at once: one migrates, the
    /// others wait for it. A schema that a newer version has extended compatibly is left unchanged.
    ///
    /// # Errors
    /// See [`MigrateError`].
    pub async fn migrate(&self) -> Result<Migrated, MigrateError> {
        let (connection, state) = self.first_look().await?;
        if !state.needs_migration()? {
            return Ok(Migrated::Nothing);
        }
        migrate_schema(connection, self.migrations.clone()).await
    }

    /// Compares the schema with this version, before any other query. Changes nothing.
    ///
    /// # Errors
    /// See [`MigrateError`].
    pub async fn inspect_schema(&self) -> Result<SchemaState, MigrateError> {
        Ok(self.first_look().await?.1)
    }

    /// Which database this is: the name, and the identifier of the cluster, which its standbys share. The
    /// identifier is 0 where the role may not ask for it.
    ///
    /// # Errors
    /// See [`MigrateError`].
    pub async fn identity(&self) -> Result<(String, i64), MigrateError> {
        const MAY_ASK: &str = "has_function_privilege('pg_control_system()', 'EXECUTE')";
        const CLUSTER: &str = "(SELECT system_identifier FROM pg_control_system())";
        let (mut connection, _) = self.first_look().await?;
        let of_name = diesel::select((sql::<Text>("current_database()::text"), sql::<Bool>(MAY_ASK)));
        let (name, may_ask): (String, bool) =
            of_name.get_result(&mut connection).await.map_err(query_failed)?;
        let cluster = if may_ask {
            let of_cluster = diesel::select(sql::<BigInt>(CLUSTER));
            of_cluster
                .get_result(&mut connection)
                .await
                .map_err(query_failed)?
        } else {
            0
        };
        Ok((name, cluster))
    }

    /// Why the server permanently refuses this process; `None` if it answers or is unreachable. If the
    /// database URL names several hosts, each of them must refuse.
    pub async fn refusal(&self) -> Option<ConnectionRefused> {
        match self.inspect_schema().await {
            Err(MigrateError::Refused(ConnectionRefused::PooledByTransaction)) => {
                Some(ConnectionRefused::PooledByTransaction)
            }
            Err(MigrateError::Refused(_)) => self.server.refusal_of_every_host().await,
            Ok(_) | Err(_) => None,
        }
    }

    /// On its own connection, without a statement timeout: a migration may take long, but connecting may not.
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
        let establishing = timeout(within, self.server.establish(limits, "")).await;
        let established = establishing.map_err(too_slow)?;
        // Behind a transaction-mode pooler, anything after connecting may fail, even the session setup.
        let is_connected = established.as_ref().err().is_none_or(EstablishError::is_of_setup);
        if is_connected && self.server.is_pooled_by_transaction(within).await {
            return Err(ConnectionRefused::PooledByTransaction.into());
        }
        let mut connection = established?;
        let looking = timeout(within, schema_state(&mut connection, &self.migrations)).await;
        let state = looking.map_err(too_slow)??;
        Ok((connection, state))
    }
}

async fn migrate_schema(
    mut connection: AsyncPgConnection,
    known: KnownMigrations,
) -> Result<Migrated, MigrateError> {
    refuse_other_encodings(&mut connection).await?;
    // Held until the connection closes.
    let lock = format!(
        "SELECT pg_advisory_lock({ADVISORY_LOCK}); SET lock_timeout = {}",
        WAIT_FOR_TABLE.as_millis()
    );
    connection.batch_execute(&lock).await.map_err(query_failed)?;
    // The previous holder of the lock may have applied all migrations.
    let state = schema_state(&mut connection, &known).await?;
    if !state.needs_migration()? {
        return Ok(Migrated::Nothing);
    }
    let newest = known.newest::<Pg>().map_err(MigrateError::Failed)?;
    let migrated = tokio::task::spawn_blocking(move || {
        AsyncConnectionWrapper::<AsyncPgConnection>::from(connection)
            .run_pending_migrations(known)
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
    let encoding: String = diesel::select(sql::<Text>("current_setting('server_encoding')"))
        .get_result(connection)
        .await
        .map_err(query_failed)?;
    if encoding == "UTF8" {
        Ok(())
    } else {
        Err(MigrateError::Encoding { encoding })
    }
}

impl From<Abort<Infallible>> for MigrateError {
    fn from(abort: Abort<Infallible>) -> Self {
        match abort {
            Abort::Refused(never) => match never {},
            Abort::Query(error) => query_failed(error),
            Abort::Storage(error) => Self::Failed(error.into()),
        }
    }
}

fn query_failed(error: QueryError) -> MigrateError {
    if is_lock_timeout(&error) {
        return MigrateError::Blocked;
    }
    if lacks_privilege(&error) {
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

/// diesel hides the statement's error behind a private type; only its message is available.
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
