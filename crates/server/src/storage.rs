//! Opening the database. `serve` and `migrate` bring it up to date; no other command does.

mod version_policy;

use std::path::{self, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use keyward_domain::failure_sentence::sentence;
use keyward_persistence::postgres::{self, ConnectError, InvalidDatabaseUrl, PostgresConfig, PostgresStore};
use keyward_persistence::sqlite::{self, SqliteConfig, SqliteStore};
use keyward_persistence::{Migrated, SchemaState};
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use self::version_policy::{OtherVersion, Tables, refuse_other_versions};
use crate::data_directory::{self, DataDirectoryError, DataDirectoryLock};
use crate::database_url::{self, DatabaseUrlError};
use crate::exposure;
use crate::options::DatabaseOptions;
use crate::output;
use crate::program;
use crate::secret::Secret;
use crate::store::Store;

pub(crate) use self::version_policy::warn_of_newer_tables;

/// How long to wait for the database at start, because the two may have been started together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const RETRY_INTERVAL: Duration = Duration::from_millis(250);

/// Why the database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error(transparent)]
    Url(#[from] InvalidDatabaseUrl),
    #[error(transparent)]
    UrlUnreadable(#[from] DatabaseUrlError),
    #[error(transparent)]
    DataDirectory(#[from] DataDirectoryError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(
        "the URL for migrations leads to another database than the URL for the service: unset \
         KEYWARD_MIGRATION_DATABASE_URL, or let both name the same database"
    )]
    OwnerOfAnother,
    #[error("gave up after {} seconds", CONNECT_TIMEOUT.as_secs())]
    Unavailable(#[source] postgres::MigrateError),
    #[error(transparent)]
    Migrate(postgres::MigrateError),
    #[error("cannot use the data directory (choose another with --data-dir)")]
    File(#[from] sqlite::OpenError),
    #[error(transparent)]
    Moved(sqlite::Moved),
    #[error(transparent)]
    MigrateFile(#[from] sqlite::MigrateError),
    #[error(
        "there is no database in {}: run this command where the server runs, or set --data-dir or KEYWARD_DATABASE_URL as for \
         the server",
        .directory.display()
    )]
    NoDatabase { directory: PathBuf },
    #[error(
        "Keyward is not set up yet: run `{0} admin setup-link` to set it up in a browser, or `{0} admin bootstrap` to set it \
         up here",
        program::name()
    )]
    NotSetUp,
    #[error(transparent)]
    Version(#[from] OtherVersion),
}

/// The database that the options configure, not connected yet.
pub(crate) enum Database {
    Postgres {
        service: Box<PostgresConfig>,
        /// How the database is brought up to date, if the service's own role may not.
        migrations: Option<Box<PostgresConfig>>,
    },
    Sqlite(SqliteConfig),
}

/// Reads which database the options configure. A flag wins over every variable, so that a shell in which a
/// URL is exported cannot redirect a command with `--data-dir` to another database.
pub(crate) fn configured(options: &DatabaseOptions) -> Result<Database, OpenError> {
    if let Some(directory) = &options.data_directory {
        for variable in database_url::VARIABLES {
            if std::env::var_os(variable).is_some_and(|value| !value.is_empty()) {
                warn!(variable, "variable ignored: --data-dir is set");
            }
        }
        return Ok(Database::Sqlite(SqliteConfig::in_directory(directory)));
    }
    let url = database_url::resolve(options.url.as_ref(), |name| std::env::var_os(name))?;
    let migration_url = database_url::of_migrations(|name| std::env::var_os(name))?;
    let postgres = |url: &Secret| {
        let config = PostgresConfig::from_url(url.expose())?;
        Ok::<_, OpenError>(Box::new(config))
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

impl OpenError {
    /// Whether the options or the variables are wrong wherever they are used.
    pub(crate) const fn is_about_options(&self) -> bool {
        match self {
            Self::Url(_) => true,
            Self::UrlUnreadable(error) => error.is_about_options(),
            Self::DataDirectory(_)
            | Self::Connect(_)
            | Self::OwnerOfAnother
            | Self::Unavailable(_)
            | Self::Migrate(_)
            | Self::File(_)
            | Self::Moved(_)
            | Self::MigrateFile(_)
            | Self::NoDatabase { .. }
            | Self::NotSetUp
            | Self::Version(_) => false,
        }
    }
}

impl Database {
    /// Limits the connections to a server. For a file, the limit has no effect.
    pub(crate) fn limit_connections(&mut self, connections: u16) {
        match self {
            Self::Postgres { service, .. } => service.max_connections = connections.into(),
            Self::Sqlite(_) => {}
        }
    }

    /// The data directory, absolute, if opening this database would make a new one there. If the directory
    /// cannot be read, this is `None`: opening it then fails with the reason.
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

/// Opens the configured database for a command that needs existing data. A data directory without a database
/// is most likely the wrong one, so nothing is created in it.
pub(crate) async fn open_existing(options: &DatabaseOptions) -> Result<Arc<dyn Store>, OpenError> {
    open_if_there(configured(options)?, Tables::OwnOrCompatible).await
}

/// Opens an existing database like [`open_existing`], for a command that reads all of it.
pub(crate) async fn open_to_export(options: &DatabaseOptions) -> Result<Arc<dyn Store>, OpenError> {
    open_if_there(configured(options)?, Tables::Own).await
}

/// Opens an existing database like [`open_existing`], but on PostgreSQL as the role that owns the tables, if
/// one is configured.
pub(crate) async fn open_existing_as_owner(options: &DatabaseOptions) -> Result<Arc<dyn Store>, OpenError> {
    let opened = Opened::of_existing(configured(options)?)?
        .acting_as_owner()
        .await?;
    opened
        .used_by(Tables::OwnOrCompatible, Some(CONNECT_TIMEOUT))
        .await
}

/// Opens an existing database like [`open_existing`], for a command that continues after an outage: it waits
/// without limit for a server that does not answer.
pub(crate) async fn open_to_follow(options: &DatabaseOptions) -> Result<Arc<dyn Store>, OpenError> {
    open_within(configured(options)?, Tables::OwnOrCompatible, None).await
}

async fn open_if_there(database: Database, tables: Tables) -> Result<Arc<dyn Store>, OpenError> {
    open_within(database, tables, Some(CONNECT_TIMEOUT)).await
}

async fn open_within(
    database: Database,
    tables: Tables,
    time_budget: Option<Duration>,
) -> Result<Arc<dyn Store>, OpenError> {
    let opened = Opened::of_existing(database)?;
    opened.used_by(tables, time_budget).await
}

/// Opens the configured database for a command that may be the first of an installation. It creates missing
/// tables, and prints where it created a new file.
pub(crate) async fn open_or_make(options: &DatabaseOptions) -> Result<Arc<dyn Store>, OpenError> {
    make_if_missing(configured(options)?).await
}

/// Opens the configured database like [`open_or_make`], but makes a file only where its directory is named:
/// for a command that somebody types who means a server's database, which may be another one.
pub(crate) async fn open_or_make_where_named(options: &DatabaseOptions) -> Result<Arc<dyn Store>, OpenError> {
    let by_variable = data_directory::from_variable(|name| std::env::var_os(name));
    let is_named = options.data_directory.is_some() || by_variable.is_some();
    let database = configured(options)?;
    match database.new_in() {
        Some(directory) if !is_named => Err(OpenError::NoDatabase { directory }),
        Some(_) | None => make_if_missing(database).await,
    }
}

async fn make_if_missing(database: Database) -> Result<Arc<dyn Store>, OpenError> {
    let new_in = database.new_in();
    let opened = Opened::of(database)?;
    opened.make_if_empty(Tables::OwnOrCompatible).await?;
    report_new_database(new_in.as_deref());
    Ok(opened.into_store())
}

/// Opens the configured database for a command that fills an empty one, on PostgreSQL as the role that owns
/// the tables, if one is configured. On a file it also returns the lock, so that no server runs on it
/// meanwhile.
pub(crate) async fn open_to_import(
    options: &DatabaseOptions,
) -> Result<(Arc<dyn Store>, Option<DataDirectoryLock>), OpenError> {
    let database = configured(options)?;
    let new_in = database.new_in();
    let opened = Opened::of(database)?;
    let data_directory_lock = opened.data_directory_lock()?;
    opened.make_if_empty(Tables::Own).await?;
    report_new_database(new_in.as_deref());
    Ok((opened.acting_as_owner().await?.into_store(), data_directory_lock))
}

/// Migrates the configured database, and returns what was done. An outdated file is locked meanwhile, so that
/// no server runs on it.
pub(crate) async fn migrate(options: &DatabaseOptions) -> Result<Migrated, OpenError> {
    let database = configured(options)?;
    let new_in = database.new_in();
    let opened = Opened::of(database)?;
    let _data_directory_lock = match opened.inspect_schema().await? {
        SchemaState::Outdated { .. } => opened.data_directory_lock()?,
        SchemaState::NewerCompatible { newest } => {
            warn_of_newer_tables(&newest);
            None
        }
        SchemaState::Empty | SchemaState::Current | SchemaState::Unusable(_) => None,
    };
    let migrated = opened.migrate().await?;
    report_new_database(new_in.as_deref());
    Ok(migrated)
}

/// A store, and the one that may change its tables, if that is another role.
enum Opened {
    Postgres {
        store: PostgresStore,
        owner: Option<PostgresStore>,
    },
    Sqlite {
        store: SqliteStore,
        data_directory: PathBuf,
    },
}

impl Opened {
    fn of(database: Database) -> Result<Self, OpenError> {
        match database {
            Database::Postgres { service, migrations } => Ok(Self::Postgres {
                store: PostgresStore::connect(*service)?,
                owner: migrations
                    .map(|config| PostgresStore::connect(*config))
                    .transpose()?,
            }),
            Database::Sqlite(config) => {
                let data_directory = config.data_directory.clone();
                let store = SqliteStore::open(config)?;
                Ok(Self::Sqlite {
                    store,
                    data_directory,
                })
            }
        }
    }

    fn of_existing(database: Database) -> Result<Self, OpenError> {
        match database.new_in() {
            Some(directory) => Err(OpenError::NoDatabase { directory }),
            None => Self::of(database),
        }
    }

    /// Acts as the role that owns the tables from now on, if one is configured.
    async fn acting_as_owner(self) -> Result<Self, OpenError> {
        match self {
            Self::Postgres {
                store,
                owner: Some(owner),
            } => {
                refuse_other_database(&store, &owner).await?;
                Ok(Self::Postgres {
                    store: owner,
                    owner: None,
                })
            }
            opened @ (Self::Postgres { .. } | Self::Sqlite { .. }) => Ok(opened),
        }
    }

    /// The store, for a command that needs existing data.
    async fn used_by(
        self,
        tables: Tables,
        time_budget: Option<Duration>,
    ) -> Result<Arc<dyn Store>, OpenError> {
        let state = self.read_schema_state(time_budget).await?;
        if state == SchemaState::Empty {
            return Err(OpenError::NotSetUp);
        }
        refuse_other_versions(state, tables)?;
        Ok(self.into_store())
    }

    /// Locks a file, so that it is not migrated while a server uses it.
    fn data_directory_lock(&self) -> Result<Option<DataDirectoryLock>, OpenError> {
        match self {
            Self::Postgres { .. } => Ok(None),
            Self::Sqlite { data_directory, .. } => Ok(Some(DataDirectoryLock::take(data_directory)?)),
        }
    }

    async fn inspect_schema(&self) -> Result<SchemaState, OpenError> {
        self.read_schema_state(Some(CONNECT_TIMEOUT)).await
    }

    async fn read_schema_state(&self, time_budget: Option<Duration>) -> Result<SchemaState, OpenError> {
        match self {
            Self::Postgres { store, .. } if time_budget.is_none() => {
                once_it_answers(time_budget, async || look_unless_all_refuse(store).await).await
            }
            Self::Postgres { store, .. } => {
                once_it_answers(time_budget, async || store.inspect_schema().await).await
            }
            Self::Sqlite { store, .. } => Ok(store.inspect_schema().await?),
        }
    }

    async fn make_if_empty(&self, tables: Tables) -> Result<(), OpenError> {
        match self.inspect_schema().await? {
            SchemaState::Empty => self.migrate().await.map(drop),
            state => Ok(refuse_other_versions(state, tables)?),
        }
    }

    /// Migrates the tables. The service's own role may lack the right to change tables and audit events. Then
    /// another role migrates the database, and is not used for anything else.
    async fn migrate(&self) -> Result<Migrated, OpenError> {
        match self {
            Self::Postgres { store, owner } => {
                let by_owner = match owner {
                    Some(owner) => {
                        refuse_other_database(store, owner).await?;
                        once_it_answers(Some(CONNECT_TIMEOUT), async || owner.migrate().await).await?
                    }
                    None => Migrated::Nothing,
                };
                let migrated = once_it_answers(Some(CONNECT_TIMEOUT), async || store.migrate().await).await?;
                Ok(if migrated == Migrated::Nothing {
                    by_owner
                } else {
                    migrated
                })
            }
            Self::Sqlite { store, .. } => Ok(store.migrate().await?),
        }
    }

    fn into_store(self) -> Arc<dyn Store> {
        match self {
            Self::Postgres { store, .. } => Arc::new(store),
            Self::Sqlite { store, .. } => Arc::new(store),
        }
    }
}

/// The two URLs may come from different places, such as a flag and a variable. What the owner then did to
/// another database could not be undone.
async fn refuse_other_database(store: &PostgresStore, owner: &PostgresStore) -> Result<(), OpenError> {
    let identity = async |store: &PostgresStore| {
        once_it_answers(Some(CONNECT_TIMEOUT), async || store.identity().await).await
    };
    let ((name, cluster), (owned, owners)) = (identity(store).await?, identity(owner).await?);
    // Either role may be refused to say which cluster it is.
    let is_same_cluster = cluster == owners || cluster == 0 || owners == 0;
    if name == owned && is_same_cluster {
        Ok(())
    } else {
        Err(OpenError::OwnerOfAnother)
    }
}

/// Prints where the command made a new database, if it did.
fn report_new_database(new_in: Option<&Path>) {
    if let Some(directory) = new_in {
        output::report(&format!("Made a new database in {}.", directory.display()));
    }
}

/// Opens and migrates the database for the server. On a file it also returns the lock. Migrations are logged.
pub(crate) async fn open_to_serve(
    database: Database,
) -> Result<(Arc<dyn Store>, Option<DataDirectoryLock>), OpenError> {
    let opened = Opened::of(database)?;
    let data_directory_lock = opened.data_directory_lock()?;
    match opened.migrate().await? {
        Migrated::Nothing => {
            if let SchemaState::NewerCompatible { newest } = opened.inspect_schema().await? {
                warn_of_newer_tables(&newest);
            }
        }
        Migrated::Made { to } => info!(to, "database tables created"),
        Migrated::Upgraded { from, to } => info!(from, to, "database migrated"),
    }
    match &opened {
        Opened::Postgres { store, .. } => {
            warn_of_excessive_rights(store).await;
            warn_of_non_english_messages(store).await;
            exposure::warn_of_open_url_files(database_url::files(|name| std::env::var_os(name)));
        }
        Opened::Sqlite { data_directory, .. } => {
            let file = SqliteConfig::in_directory(data_directory).file();
            exposure::warn_of_open_data_directory(data_directory, &file);
        }
    }
    Ok((opened.into_store(), data_directory_lock))
}

/// Some errors can only be distinguished by their messages, whose language only a superuser can set.
async fn warn_of_non_english_messages(store: &PostgresStore) {
    match store.non_english_messages().await {
        Ok(None) => {}
        Ok(Some(language)) => warn!(
            lc_messages = language.locale,
            hint = format!(
                "as a superuser, run `ALTER ROLE \"{}\" SET lc_messages = 'C'`, then reconnect any pooler",
                language.role
            ),
            "database messages are not in English, so timeouts are reported as defects"
        ),
        Err(error) => warn!(
            cause = sentence(&error),
            "cannot determine the language of database messages"
        ),
    }
}

/// Between `migrate` and the `REVOKE` after it, and after a version that makes the table anew, the role that
/// serves has the rights that new tables have by default.
async fn warn_of_excessive_rights(store: &PostgresStore) {
    match store.may_rewrite_audit_log_of_another().await {
        Ok(false) => {}
        Ok(true) => warn!(
            hint = "as the tables' owner, run `REVOKE UPDATE, DELETE, TRUNCATE ON audit_events FROM …`",
            "database role may change and remove audit events"
        ),
        Err(error) => warn!(
            cause = sentence(&error),
            "cannot determine the database role's rights on audit events"
        ),
    }
}

/// For commands that wait without end: of several servers one may refuse while the one that would accept is
/// away.
async fn look_unless_all_refuse(store: &PostgresStore) -> Result<SchemaState, postgres::MigrateError> {
    match store.inspect_schema().await {
        Err(postgres::MigrateError::Refused(refusal)) => Err(match store.refusal().await {
            Some(refusal) => refusal.into(),
            None => postgres::MigrateError::Unavailable(Box::new(refusal)),
        }),
        looked => looked,
    }
}

/// Retries until the database server answers or the timeout is over: it may have been started together with
/// this process.
async fn once_it_answers<T>(
    time_budget: Option<Duration>,
    ask: impl AsyncFn() -> Result<T, postgres::MigrateError>,
) -> Result<T, OpenError> {
    let begun = Instant::now();
    let is_over = || time_budget.is_some_and(|time_budget| begun.elapsed() >= time_budget);
    let mut has_waited = false;
    loop {
        match ask().await {
            Ok(answer) => return Ok(answer),
            Err(error @ postgres::MigrateError::Unavailable(_)) if is_over() => {
                return Err(OpenError::Unavailable(error));
            }
            Err(error @ postgres::MigrateError::Unavailable(_)) => {
                match time_budget {
                    _ if has_waited => {}
                    // It succeeds or fails soon, and reports that.
                    Some(_) => info!(cause = sentence(&error), "waiting for the database"),
                    None => warn!(cause = sentence(&error), "waiting for the database"),
                }
                has_waited = true;
                sleep(RETRY_INTERVAL).await;
            }
            Err(error) => return Err(OpenError::Migrate(error)),
        }
    }
}
