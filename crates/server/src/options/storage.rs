//! The options of every command that works with the data.

use std::path::PathBuf;

use clap::Args;

use crate::logging::{LogFilter, LogFormat};
use crate::secret::Secret;

#[derive(Debug, Args)]
pub(crate) struct StorageOptions {
    #[command(flatten)]
    pub(crate) database: DatabaseOptions,
    #[command(flatten)]
    pub(crate) logging: LoggingOptions,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Database")]
pub(crate) struct DatabaseOptions {
    /// A PostgreSQL database, instead of the data directory: postgres://user@host:5432/name
    ///
    /// A URL with a password is refused here, because every user of the machine can read the flags of a
    /// process: set KEYWARD_DATABASE_URL, or KEYWARD_DATABASE_URL_FILE to a file with the URL. If another
    /// role owns the tables, set KEYWARD_MIGRATION_DATABASE_URL or KEYWARD_MIGRATION_DATABASE_URL_FILE to its
    /// URL: migrations, `import` and `clean-up` run as that role.
    #[arg(long = "database-url", value_name = "URL")]
    pub(crate) url: Option<Secret>,
    /// The directory of the embedded database [env: KEYWARD_DATA_DIR]
    ///
    /// This flag takes precedence over a database URL in a variable, which takes precedence over a directory
    /// in a variable. Default: keyward-data in the current directory.
    ///
    /// It must be on a local disk. If it has no database, `serve`, `migrate`, `import` and `admin bootstrap`
    /// create one, readable by its owner only; so does `admin setup-link`, unless the directory is the
    /// default. Every other command fails.
    // The variable is not clap's: this flag wins over the variables of the URL, and they win over its
    // variable.
    #[arg(long = "data-dir", value_name = "DIRECTORY", conflicts_with = "url")]
    pub(crate) data_directory: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Log (on standard error)")]
pub(crate) struct LoggingOptions {
    /// Text, JSON lines, or text on a terminal and JSON otherwise
    #[arg(
        long,
        env = "KEYWARD_LOG_FORMAT",
        value_name = "FORMAT",
        value_enum,
        default_value = "auto"
    )]
    pub(crate) log_format: LogFormat,
    /// A level (error, warn, info, debug, trace, off), or targets with levels: warn,keyward_front_door=debug
    ///
    /// Default: info for `keyward serve`, warn for every other command.
    #[arg(long = "log-level", env = "KEYWARD_LOG", value_name = "FILTER")]
    pub(crate) log_filter: Option<LogFilter>,
}
