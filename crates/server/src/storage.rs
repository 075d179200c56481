//! Opening the database. `serve` and `migrate` bring it up to date; no other command does.

mod configured;
mod open_error;
mod opened;
mod version_policy;
mod warnings;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use keyward_persistence::sqlite::SqliteConfig;
use keyward_persistence::{Migrated, SchemaState};
use tracing::info;

use self::open_error::CONNECT_TIMEOUT;
use self::opened::Opened;
use self::version_policy::Tables;
use self::warnings::{warn_of_excessive_rights, warn_of_non_english_messages};
use crate::data_directory::{self, DataDirectoryLock};
use crate::database_url;
use crate::exposure;
use crate::options::DatabaseOptions;
use crate::output;
use crate::store::Store;

pub(crate) use self::configured::{Database, configured};
pub(crate) use self::open_error::OpenError;
pub(crate) use self::version_policy::warn_of_newer_tables;

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
pub(crate) async fn open_existing_as_owner(database: Database) -> Result<Arc<dyn Store>, OpenError> {
    let opened = Opened::of_existing(database)?.acting_as_owner().await?;
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

/// Opens the configured database like [`open_or_make`], but creates a file only if its directory was named: a
/// command typed by an administrator is meant for a server's database, which may not be the default one.
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

/// Migrates the configured database. An outdated file is locked meanwhile, so that no server runs on it.
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
