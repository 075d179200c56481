//! Where a server under test keeps everything.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use keyward_test_database::TestDatabase;
use tokio::process::Command;

/// A database of one test's own, removed with this value.
pub(crate) enum Storage {
    /// A PostgreSQL database.
    Postgres(TestDatabase),
    /// A data directory with an embedded database.
    Embedded(DataDirectory),
}

/// A directory that is removed with this value.
pub(crate) struct DataDirectory(PathBuf);

impl Storage {
    /// An empty PostgreSQL database.
    pub(crate) async fn postgres() -> Self {
        Self::Postgres(TestDatabase::empty().await.expect("a database"))
    }

    /// A data directory that does not exist yet.
    pub(crate) fn embedded() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("keyward-data-{}-{number}", std::process::id());
        Self::Embedded(DataDirectory(
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name),
        ))
    }

    /// Tells a command where to keep everything.
    pub(crate) fn configure(&self, command: &mut Command) {
        match self {
            Self::Postgres(database) => command.env("KEYWARD_DATABASE_URL", database.url()),
            Self::Embedded(DataDirectory(path)) => command.env("KEYWARD_DATA_DIR", path),
        };
    }

    /// The PostgreSQL database, to break it.
    pub(crate) fn as_postgres(&self) -> &TestDatabase {
        match self {
            Self::Postgres(database) => database,
            Self::Embedded(_) => panic!("this server keeps everything in a data directory"),
        }
    }
}

impl Drop for DataDirectory {
    fn drop(&mut self) {
        // It is not there if the server never started; then there is nothing to remove.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
