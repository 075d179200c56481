//! The storage of a server under test.

use keyward_test_database::TestDatabase;
use tempfile::TempDir;
use tokio::process::Command;

use crate::directory_of_program;

/// A database of one test's own, removed with this value.
pub enum Storage {
    /// A PostgreSQL database.
    Postgres(TestDatabase),
    /// A directory that holds the data directory with an embedded database.
    Embedded(TempDir),
}

impl Storage {
    /// An empty PostgreSQL database.
    pub async fn postgres() -> Self {
        Self::Postgres(TestDatabase::empty().await.expect("a database"))
    }

    /// A data directory that does not exist yet.
    pub fn embedded() -> Self {
        let directory = TempDir::new_in(directory_of_program());
        Self::Embedded(directory.expect("a directory"))
    }

    /// Configures a command with this storage.
    pub fn configure(&self, command: &mut Command) {
        match self {
            Self::Postgres(database) => command.env("KEYWARD_DATABASE_URL", database.url()),
            Self::Embedded(directory) => command.env("KEYWARD_DATA_DIR", directory.path().join("data")),
        };
    }

    /// The PostgreSQL database, to break it.
    pub fn as_postgres(&self) -> &TestDatabase {
        match self {
            Self::Postgres(database) => database,
            Self::Embedded(_) => panic!("this server keeps everything in a data directory"),
        }
    }
}
