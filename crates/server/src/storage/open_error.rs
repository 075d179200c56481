//! Why the database cannot be opened.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use keyward_persistence::postgres::{self, ConnectError, InvalidDatabaseUrl};
use keyward_persistence::sqlite;

use super::version_policy::OtherVersion;
use crate::data_directory::DataDirectoryError;
use crate::database_url::DatabaseUrlError;
use crate::program;

/// How long to wait for the database at start, because the two may have been started together.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Why the database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error(transparent)]
    Url(#[from] InvalidDatabaseUrl),
    #[error("invalid URL in {variable}")]
    MigrationUrl {
        variable: &'static str,
        source: InvalidDatabaseUrl,
    },
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
    #[error("cannot use the data directory ({})", data_directory_advice(.0))]
    File(#[source] sqlite::OpenError),
    /// Another data directory would be an empty installation.
    #[error(transparent)]
    LogLeft(sqlite::OpenError),
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
        "Keyward is not set up yet: run `{}` to set it up in a browser, or `{}` to set it up here",
        program::command_on_this_database("admin setup-link"),
        program::command_on_this_database("admin bootstrap")
    )]
    NotSetUp,
    #[error(transparent)]
    Version(#[from] OtherVersion),
}

impl OpenError {
    /// Whether the options or the variables are wrong wherever they are used.
    pub(crate) const fn is_about_options(&self) -> bool {
        match self {
            Self::Url(_) | Self::MigrationUrl { .. } => true,
            Self::UrlUnreadable(error) => error.is_about_options(),
            Self::DataDirectory(_)
            | Self::Connect(_)
            | Self::OwnerOfAnother
            | Self::Unavailable(_)
            | Self::Migrate(_)
            | Self::File(_)
            | Self::LogLeft(_)
            | Self::Moved(_)
            | Self::MigrateFile(_)
            | Self::NoDatabase { .. }
            | Self::NotSetUp
            | Self::Version(_) => false,
        }
    }
}

impl From<sqlite::OpenError> for OpenError {
    fn from(error: sqlite::OpenError) -> Self {
        match error {
            sqlite::OpenError::LogLeft { .. } => Self::LogLeft(error),
            _ => Self::File(error),
        }
    }
}

fn data_directory_advice(error: &sqlite::OpenError) -> &'static str {
    let lacks_permission = match error {
        sqlite::OpenError::NoAccess { .. } => true,
        sqlite::OpenError::Directory { source, .. } | sqlite::OpenError::File { source, .. } => {
            source.kind() == ErrorKind::PermissionDenied
        }
        _ => false,
    };
    if lacks_permission {
        "run it as the user who owns the directory, or choose another with --data-dir"
    } else {
        "choose another with --data-dir"
    }
}
