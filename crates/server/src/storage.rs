//! Opening the database: connected, and migrated.

use std::path::{self, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use keyward_persistence::postgres::{self, ConnectError, InvalidDatabaseUrl, PostgresConfig, PostgresStore};
use keyward_persistence::sqlite::{self, SqliteConfig, SqliteStore};
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use crate::commands::Failure;
use crate::data_directory::{self, ServingRight};
use crate::database_url::{self, DatabaseUrlError};
use crate::failure_sentence::sentence;
use crate::options::DatabaseOptions;
use crate::output;
use crate::secret::Secret;
use crate::store::Store;

/// How long a database that does not answer is waited for: the two may have been started together.
const PATIENCE: Duration = Duration::from_secs(5);
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(250);

/// Why there is no database to work with.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error(transparent)]
    Url(#[from] InvalidDatabaseUrl),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("gave up after trying for {} seconds", PATIENCE.as_secs())]
    Unavailable(#[source] postgres::MigrateError),
    #[error(transparent)]
    Migrate(postgres::MigrateError),
    #[error("cannot use the data directory (--data-dir chooses another)")]
    File(#[from] sqlite::OpenError),
    #[error(transparent)]
    MigrateFile(#[from] sqlite::MigrateError),
    #[error(
        "there is no database in {}: run this where the server runs, or name its data directory with --data-dir (or its \
         database with KEYWARD_DATABASE_URL)",
        .directory.display()
    )]
    NoDatabase { directory: PathBuf },
}

/// What the options say about the database, which is not asked yet.
pub(crate) enum Database {
    Postgres {
        service: Box<PostgresConfig>,
        /// How the database is brought up to date, if the service's own role may not.
        migrations: Option<Box<PostgresConfig>>,
    },
    Sqlite(SqliteConfig),
}

/// What the options say about the database. A flag wins over every variable, so that a shell in which a URL is exported
/// cannot turn a command that names a directory to another database.
pub(crate) fn configured(options: &DatabaseOptions) -> Result<Database, Failure> {
    if let Some(directory) = &options.data_directory {
        for variable in database_url::VARIABLES {
            if std::env::var_os(variable).is_some_and(|value| !value.is_empty()) {
                warn!(
                    variable,
                    "the database is the one in --data-dir, and not the one in this variable"
                );
            }
        }
        return Ok(Database::Sqlite(SqliteConfig::in_directory(directory)));
    }
    let url = database_url::resolve(options.url.as_ref(), |name| std::env::var_os(name))?;
    let migration_url = database_url::of_migrations(|name| std::env::var_os(name))?;
    let postgres = |url: &Secret| {
        let config = PostgresConfig::from_url(url.expose()).map_err(OpenError::Url)?;
        Ok::<_, Failure>(Box::new(config))
    };
    match (url, migration_url) {
        (Some(url), migration_url) => Ok(Database::Postgres {
            service: postgres(&url)?,
            migrations: migration_url.as_ref().map(postgres).transpose()?,
        }),
        (None, Some(_)) => Err(DatabaseUrlError::MigrationsAlone.into()),
        (None, None) => {
            let directory = data_directory::from_variable_or_default(|name| std::env::var_os(name));
            Ok(Database::Sqlite(SqliteConfig::in_directory(&directory)))
        }
    }
}

impl Database {
    /// The most connections to a server. A file is read by as few as are good for it.
    pub(crate) fn limit_connections(&mut self, connections: u16) {
        match self {
            Self::Postgres { service, .. } => service.max_connections = connections.into(),
            Self::Sqlite(_) => {}
        }
    }

    /// The data directory, absolute, if opening this database would make a new one there. A directory that cannot be
    /// looked into is not judged: opening it says what is wrong.
    pub(crate) fn new_in(&self) -> Option<PathBuf> {
        match self {
            Self::Sqlite(config) if matches!(config.file().try_exists(), Ok(false)) => {
                let directory = &config.data_directory;
                Some(path::absolute(directory).unwrap_or_else(|_| directory.clone()))
            }
            Self::Sqlite(_) | Self::Postgres { .. } => None,
        }
    }
}

/// The database that the options name, up to date, for a command that acts on what is there already. Most likely a data
/// directory without one is not the directory that was meant, so nothing is made in it.
pub(crate) async fn open_existing(options: &DatabaseOptions) -> Result<Arc<dyn Store>, Failure> {
    open_if_there(configured(options)?).await
}

async fn open_if_there(database: Database) -> Result<Arc<dyn Store>, Failure> {
    if let Some(directory) = database.new_in() {
        return Err(OpenError::NoDatabase { directory }.into());
    }
    open(database).await
}

/// Likewise, but on PostgreSQL as the role that owns the tables, if one is named besides the service's own.
pub(crate) async fn open_existing_as_owner(options: &DatabaseOptions) -> Result<Arc<dyn Store>, Failure> {
    match configured(options)? {
        Database::Postgres {
            service: _,
            migrations: Some(owner),
        } => Ok(connect(*owner, None).await?),
        database @ (Database::Postgres { .. } | Database::Sqlite(_)) => open_if_there(database).await,
    }
}

/// The database that the options name, up to date, for a command that an installation may begin with. Says where a new
/// one was made.
pub(crate) async fn open_or_make(options: &DatabaseOptions) -> Result<Arc<dyn Store>, Failure> {
    let database = configured(options)?;
    let new_in = database.new_in();
    let store = open(database).await?;
    tell_what_was_made(new_in.as_deref());
    Ok(store)
}

async fn open(database: Database) -> Result<Arc<dyn Store>, Failure> {
    match database {
        Database::Postgres { service, migrations } => Ok(connect(*service, migrations).await?),
        Database::Sqlite(config) => {
            let store = SqliteStore::open(config).map_err(OpenError::File)?;
            Ok(migrate_file(store).await?)
        }
    }
}

/// Tells whoever typed a command where it made a new database, if it did.
pub(crate) fn tell_what_was_made(new_in: Option<&Path>) {
    if let Some(directory) = new_in {
        output::tell(&format!("Made a new database in {}.", directory.display()));
    }
}

/// The database, up to date, and the right to serve it where there is one to be had.
pub(crate) async fn open_to_serve(
    database: Database,
) -> Result<(Arc<dyn Store>, Option<ServingRight>), Failure> {
    match database {
        Database::Postgres { service, migrations } => {
            let store = connected(*service, migrations).await?;
            warn_of_excessive_rights(&store).await;
            Ok((Arc::new(store), None))
        }
        Database::Sqlite(config) => {
            let data_directory = config.data_directory.clone();
            let store = SqliteStore::open(config).map_err(OpenError::File)?;
            let serving_right = ServingRight::take(&data_directory)?;
            Ok((migrate_file(store).await?, Some(serving_right)))
        }
    }
}

/// Between `migrate` and the `REVOKE` after it, and after a version that makes the table anew, the role that serves has
/// the rights that new tables have by default.
async fn warn_of_excessive_rights(store: &PostgresStore) {
    match store.may_rewrite_audit_log_of_another().await {
        Ok(false) => {}
        Ok(true) => warn!(
            "the role that serves may change and remove audit events: as the owner, run \
             `REVOKE UPDATE, DELETE, TRUNCATE ON audit_events FROM …`"
        ),
        Err(error) => warn!(
            cause = sentence(&error),
            "cannot tell whether the role that serves may change audit events"
        ),
    }
}

async fn connect(
    service: PostgresConfig,
    migrations: Option<Box<PostgresConfig>>,
) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(connected(service, migrations).await?))
}

/// The service's own role may be one that cannot change tables, nor what the audit log says. Then another one brings the
/// database up to date first, and is not used for anything else.
async fn connected(
    service: PostgresConfig,
    migrations: Option<Box<PostgresConfig>>,
) -> Result<PostgresStore, OpenError> {
    if let Some(migrations) = migrations {
        migrate(&PostgresStore::connect(*migrations)?).await?;
    }
    let store = PostgresStore::connect(service)?;
    migrate(&store).await?;
    Ok(store)
}

async fn migrate_file(store: SqliteStore) -> Result<Arc<dyn Store>, OpenError> {
    store.migrate().await?;
    Ok(Arc::new(store))
}

async fn migrate(store: &PostgresStore) -> Result<(), OpenError> {
    let deadline = Instant::now() + PATIENCE;
    let mut has_waited = false;
    loop {
        match store.migrate().await {
            Ok(()) => return Ok(()),
            Err(error @ postgres::MigrateError::Unavailable(_)) if Instant::now() >= deadline => {
                return Err(OpenError::Unavailable(error));
            }
            Err(error @ postgres::MigrateError::Unavailable(_)) => {
                if !has_waited {
                    info!(cause = sentence(&error), "waiting for the database");
                }
                has_waited = true;
                sleep(BETWEEN_ATTEMPTS).await;
            }
            Err(error) => return Err(OpenError::Migrate(error)),
        }
    }
}
