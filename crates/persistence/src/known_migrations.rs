//! The migrations that a version of Keyward knows.

use std::collections::BTreeSet;
#[cfg(feature = "testing")]
use std::path::{Path, PathBuf};

use diesel::backend::Backend;
use diesel::migration::{Migration, MigrationSource, Result};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

static POSTGRES: EmbeddedMigrations = embed_migrations!("migrations/postgres");
static SQLITE: EmbeddedMigrations = embed_migrations!("migrations/sqlite");

/// The embedded migrations. Tests of upgrades add migrations of a future version.
#[derive(Clone)]
pub(crate) struct KnownMigrations {
    compiled_in: &'static EmbeddedMigrations,
    #[cfg(feature = "testing")]
    future_migrations: Option<PathBuf>,
}

impl KnownMigrations {
    /// This version's migrations for PostgreSQL.
    pub(crate) fn postgres() -> Self {
        Self {
            compiled_in: &POSTGRES,
            #[cfg(feature = "testing")]
            future_migrations: future_migrations("postgres"),
        }
    }

    /// This version's migrations for SQLite.
    pub(crate) fn sqlite() -> Self {
        Self {
            compiled_in: &SQLITE,
            #[cfg(feature = "testing")]
            future_migrations: future_migrations("sqlite"),
        }
    }

    /// Adds the migrations in a folder.
    #[cfg(feature = "testing")]
    #[must_use]
    pub(crate) fn with_future(self, folder: &Path) -> Self {
        Self {
            future_migrations: Some(folder.to_owned()),
            ..self
        }
    }

    pub(crate) fn versions<DB: Backend>(&self) -> Result<BTreeSet<String>> {
        let migrations: Vec<Box<dyn Migration<DB>>> = self.migrations()?;
        Ok(migrations
            .iter()
            .map(|migration| migration.name().version().to_string())
            .collect())
    }

    pub(crate) fn newest<DB: Backend>(&self) -> Result<String> {
        let newest = self.versions::<DB>()?.pop_last();
        newest.ok_or_else(|| "there are no migrations".into())
    }
}

impl<DB: Backend> MigrationSource<DB> for KnownMigrations {
    fn migrations(&self) -> Result<Vec<Box<dyn Migration<DB>>>> {
        #[cfg_attr(
            not(feature = "testing"),
            expect(unused_mut, reason = "only tests bring more")
        )]
        let mut migrations = self.compiled_in.migrations()?;
        #[cfg(feature = "testing")]
        if let Some(folder) = &self.future_migrations {
            migrations.extend(diesel_migrations::FileBasedMigrations::from_path(folder)?.migrations()?);
        }
        Ok(migrations)
    }
}

/// The folder with a future version's migrations, which upgrade tests set by a variable. Released binaries
/// are built without it.
#[cfg(feature = "testing")]
fn future_migrations(database: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("KEYWARD_TEST_MIGRATIONS_TO_COME")?;
    Some(PathBuf::from(folder).join(database))
}
