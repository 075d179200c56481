//! Opening the database: connected, and migrated.

use std::time::Duration;

use keyward_persistence::postgres::{
    ConnectError, InvalidDatabaseUrl, MigrateError, PostgresConfig, PostgresStore,
};
use tokio::time::{Instant, sleep};
use tracing::warn;

use crate::commands::Failure;
use crate::database_url;
use crate::failure_sentence::sentence;
use crate::options::DatabaseOptions;

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
    Unavailable(#[source] MigrateError),
    #[error(transparent)]
    Migrate(MigrateError),
}

/// The database that the options name, up to date.
pub(crate) async fn open(options: &DatabaseOptions) -> Result<PostgresStore, Failure> {
    Ok(connect(configured(options)?).await?)
}

/// What the options say about the database, which is not asked yet.
pub(crate) fn configured(options: &DatabaseOptions) -> Result<PostgresConfig, Failure> {
    let url = database_url::resolve(options.url.as_ref(), |name| std::env::var_os(name))?;
    Ok(PostgresConfig::from_url(url.expose()).map_err(OpenError::Url)?)
}

/// The database, up to date.
pub(crate) async fn connect(config: PostgresConfig) -> Result<PostgresStore, OpenError> {
    let store = PostgresStore::connect(config)?;
    migrate(&store).await?;
    Ok(store)
}

async fn migrate(store: &PostgresStore) -> Result<(), OpenError> {
    let deadline = Instant::now() + PATIENCE;
    let mut has_waited = false;
    loop {
        match store.migrate().await {
            Ok(()) => return Ok(()),
            Err(error @ MigrateError::Unavailable(_)) if Instant::now() >= deadline => {
                return Err(OpenError::Unavailable(error));
            }
            Err(error @ MigrateError::Unavailable(_)) => {
                if !has_waited {
                    warn!(cause = sentence(&error), "waiting for the database");
                }
                has_waited = true;
                sleep(BETWEEN_ATTEMPTS).await;
            }
            Err(error) => return Err(OpenError::Migrate(error)),
        }
    }
}
