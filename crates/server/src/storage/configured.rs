//! Which database the options configure.

use std::path::{self, PathBuf};

use keyward_persistence::postgres::PostgresConfig;
use keyward_persistence::sqlite::SqliteConfig;
use tracing::warn;

use super::open_error::OpenError;
use crate::data_directory;
use crate::database_url::{self, DatabaseUrlError};
use crate::options::DatabaseOptions;
use crate::program;
use crate::secret::Secret;

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
/// URL is exported cannot redirect a command with `--data-dir` to another database. From then on, the commands
/// that this process prints name its data directory, or the URL that was given as an option.
pub(crate) fn configured(options: &DatabaseOptions) -> Result<Database, OpenError> {
    let database = read(options)?;
    let option = match (database.data_directory(), &options.url) {
        (Some(directory), _) => Some(program::data_directory_option(&directory)),
        // `read` refuses a URL with a password.
        (None, Some(url)) => Some(program::database_url_option(url.expose())),
        (None, None) => None,
    };
    if let Some(option) = option {
        program::set_database_option(option);
    }
    Ok(database)
}

fn read(options: &DatabaseOptions) -> Result<Database, OpenError> {
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
    let of_migrations = |url: &Secret| {
        let config = PostgresConfig::from_url(url.expose()).map_err(|source| {
            let is_in_file =
                std::env::var_os(database_url::MIGRATION_FILE_VARIABLE).is_some_and(|file| !file.is_empty());
            let variable = if is_in_file {
                database_url::MIGRATION_FILE_VARIABLE
            } else {
                database_url::MIGRATION_VARIABLE
            };
            OpenError::MigrationUrl { variable, source }
        })?;
        Ok::<_, OpenError>(Box::new(config))
    };
    match (url, migration_url) {
        (Some(url), migration_url) => Ok(Database::Postgres {
            service: postgres(&url)?,
            migrations: migration_url.as_ref().map(of_migrations).transpose()?,
        }),
        (None, Some(_)) => Err(DatabaseUrlError::MigrationsAlone.into()),
        (None, None) => {
            let directory = data_directory::from_variable_or_default(|name| std::env::var_os(name));
            Ok(Database::Sqlite(SqliteConfig::in_directory(&directory)))
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

    /// The absolute path of the data directory, if it has one.
    pub(crate) fn data_directory(&self) -> Option<PathBuf> {
        match self {
            Self::Sqlite(config) => {
                let directory = &config.data_directory;
                Some(path::absolute(directory).unwrap_or_else(|_| directory.clone()))
            }
            Self::Postgres { .. } => None,
        }
    }

    /// A description for messages, without a user or a password.
    pub(crate) fn description(&self) -> String {
        match self {
            Self::Sqlite(config) => {
                let file = config.file();
                let file = path::absolute(&file).unwrap_or(file);
                format!("the database {}", file.display())
            }
            Self::Postgres { service, .. } => format!("the PostgreSQL database {}", service.location()),
        }
    }

    /// The data directory, absolute, if opening this database would make a new one there. If the directory
    /// cannot be read, this is `None`: opening it then fails with the reason.
    pub(crate) fn new_in(&self) -> Option<PathBuf> {
        match self {
            Self::Sqlite(config) if matches!(config.file().try_exists(), Ok(false)) => self.data_directory(),
            Self::Sqlite(_) | Self::Postgres { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use keyward_domain::public_url::PublicUrl;

    use super::*;
    use crate::setup_command::{public_setup_command, setup_command};

    #[test]
    fn printed_commands_contain_a_url_given_as_option() {
        let options = DatabaseOptions {
            url: Some(Secret::new(
                "postgres://me@db.example.com/keyward?sslmode=verify-full".to_owned(),
            )),
            data_directory: None,
        };
        let database = configured(&options).unwrap();
        let option = " --database-url 'postgres://me@db.example.com/keyward?sslmode=verify-full'";
        let printed = program::command_on_this_database("admin create-user");
        assert!(
            printed.ends_with(&format!(" admin create-user{option}")),
            "{printed}"
        );
        let public_url = PublicUrl::parse("https://keys.example.com").unwrap();
        let logged = setup_command(&database, &public_url);
        assert!(
            logged.contains(&format!(" admin setup-link{option} --public-url ")),
            "{logged}"
        );
        let shown = public_setup_command(&database, &public_url);
        assert!(
            shown.contains(" --database-url <database-url> ") && !shown.contains("db.example"),
            "{shown}"
        );
    }
}
