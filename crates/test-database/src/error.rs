//! Why a test has no database.

use crate::Backend;

/// Why a test has no database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No backend is available.
    #[error(
        "no PostgreSQL available:{}\n\
         Do one of these:\n  \
         - set TEST_DATABASE_URL=postgres://user:password@host/postgres, with a role that may create databases;\n  \
         - start a container engine such as Docker;\n  \
         - install PostgreSQL's server programs (Debian: apt-get install postgresql).\n\
         `cargo xtask test` does this by itself where it can.",
        listed(.tried)
    )]
    NoPostgres {
        /// Each backend that was tried, and why it failed.
        tried: Vec<(Backend, String)>,
    },
    /// The URL is not one that a database name can be put into.
    #[error("{url:?} is not a PostgreSQL URL: write postgres://user:password@host:port/postgres ({reason})")]
    BadUrl {
        /// The URL with its password left out.
        url: String,
        /// Why it is refused.
        reason: String,
    },
    /// The server refused a statement, or the connection broke.
    #[error("could not {doing}: {}", described(.source))]
    Database {
        /// The failed step, such as "create the database …".
        doing: String,
        /// The driver's error.
        source: tokio_postgres::Error,
    },
    /// The caller's migration failed; nothing was kept of it.
    #[error("could not migrate the template database: {source}")]
    Migration {
        /// The error of the caller's closure.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The thread that spoke to the server panicked, most likely inside the caller's migration.
    #[error("the thread that prepared the database panicked: {0}")]
    Panicked(String),
}

fn listed(tried: &[(Backend, String)]) -> String {
    tried
        .iter()
        .map(|(backend, obstacle)| format!("\n  {backend}: {obstacle}"))
        .collect()
}

/// The driver's own words for an error that came from the server are only "db error".
fn described(source: &tokio_postgres::Error) -> String {
    match source.as_db_error() {
        Some(error) => format!("{} ({})", error.message(), error.code().code()),
        None => source.to_string(),
    }
}

/// Adds the name of the step to an error of the driver.
pub(crate) trait Doing<T> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T> Doing<T> for Result<T, tokio_postgres::Error> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|source| Error::Database {
            doing: doing(),
            source,
        })
    }
}
