//! `keyward serve --demo`: the server itself, over made-up data in a database that is thrown away.
//!
//! | to read about | look at |
//! |---|---|
//! | its users and objects | `scenario/*.json`, in the words of [`scenario`] |
//! | how they are created | [`fill`] and [`scenario_runner`], through the use cases, with [`past_clock`] |
//! | what is printed | [`welcome`] |
//! | where it is, for how long | [`temporary_directory`] |

mod fill;
mod one_hash;
mod past;
mod past_clock;
mod scenario;
mod scenario_runner;
mod temporary_directory;
mod welcome;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use keyward_domain::public_url::PublicUrl;
use keyward_persistence::sqlite::SqliteConfig;

use crate::data_directory;
use crate::database_url::{self, DatabaseUrlError};
use crate::options::ServeOptions;
use crate::output::{self, OutputError};
use crate::random::OsRandom;
use crate::storage::Database;
use crate::store::Store;
use keyward_domain::sources::Sources;
use temporary_directory::TemporaryDirectory;

/// Why there is no demo.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    #[error(
        "--demo listens on this machine only, and {0} is reached from others: leave --listen (or KEYWARD_LISTEN) out, or \
         set it to 127.0.0.1:8080"
    )]
    ReachedFromOtherMachines(SocketAddr),
    #[error(
        "--demo keeps to a database of its own: leave the database's URL (--database-url, KEYWARD_DATABASE_URL, \
         KEYWARD_DATABASE_URL_FILE) out"
    )]
    DatabaseUrl,
    #[error(transparent)]
    DatabaseUrlUnreadable(#[from] DatabaseUrlError),
    #[error("--demo keeps to a database of its own: leave --data-dir (or KEYWARD_DATA_DIR) out")]
    DataDirectory,
    #[error("cannot create a directory for the demo in {} (set TMPDIR to another one)", std::env::temp_dir().display())]
    TemporaryDirectory(#[source] io::Error),
    #[error("the made-up data cannot be written")]
    Fill(#[source] past::StepError),
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// The directory of a demo. It is removed with this value, which must outlive all writers.
pub(crate) struct Demo {
    directory: TemporaryDirectory,
}

impl Demo {
    /// Makes place for a demo, if the options ask for one. They cannot let it near real data or other
    /// machines.
    pub(crate) fn prepared(options: &ServeOptions) -> Result<Option<Self>, DemoError> {
        if !options.server.demo {
            return Ok(None);
        }
        let address = options.server.listen;
        if !address.ip().is_loopback() {
            return Err(DemoError::ReachedFromOtherMachines(address));
        }
        if database_url::resolve(options.database.url.as_ref(), |name| std::env::var_os(name))?.is_some() {
            return Err(DemoError::DatabaseUrl);
        }
        if options.database.data_directory.is_some()
            || data_directory::from_variable(|name| std::env::var_os(name)).is_some()
        {
            return Err(DemoError::DataDirectory);
        }
        let directory = TemporaryDirectory::create(&OsRandom).map_err(DemoError::TemporaryDirectory)?;
        Ok(Some(Self { directory }))
    }

    /// Its database, which is empty at first.
    pub(crate) fn database(&self) -> Database {
        let mut config = SqliteConfig::in_directory(self.directory.path());
        // Nothing in it is worth keeping room for.
        config.reserve = 0;
        Database::Sqlite(config)
    }

    /// Fills the database, and prints how to look at it. The output may be a file or a pipe, because these
    /// secrets protect only made-up data.
    pub(crate) async fn begin(
        &self,
        sources: &Sources,
        store: Arc<dyn Store>,
        public_url: &PublicUrl,
    ) -> Result<(), DemoError> {
        let access = fill::fill(sources, store).await.map_err(DemoError::Fill)?;
        output::answer(&welcome::text(public_url, &access))?;
        Ok(())
    }

    /// Removes everything at once: for a process that ends without dropping its values.
    pub(crate) fn removal(&self) -> impl FnOnce() + Send + use<> {
        let directory = self.directory.path().to_owned();
        move || temporary_directory::remove(&directory)
    }
}
