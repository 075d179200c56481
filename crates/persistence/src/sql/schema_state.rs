//! The schema's state relative to this version.

use std::collections::BTreeSet;
use std::convert::Infallible;
#[cfg(feature = "testing")]
use std::path::Path;

use diesel::prelude::{OptionalExtension, QueryDsl, QueryResult};
use keyward_domain::ports::StorageError;

use super::dialect::{
    Connection, Database, Pipelined, RunQueryDsl, Store, has_table, pipeline, prepared_once,
};
use super::schema::schema_compatibility;
use crate::abort::Abort;
use crate::known_migrations::KnownMigrations;
use crate::schema_state::{AppliedMigration, SchemaState};

impl Store {
    /// For tests: a store that also knows the migrations of a future version in this folder.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn with_future_migrations(mut self, folder: &Path) -> Self {
        self.migrations = self.migrations.with_future(folder);
        self
    }

    /// The schema's state relative to this version, while serving.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn schema_state(&self) -> Result<SchemaState, StorageError> {
        let known = self.migrations.clone();
        read!(self, |connection| { schema_state(connection, &known).await })
    }

    /// Whether the database answers and has a schema that this version can use. A newer compatible schema
    /// counts, so that two versions can run side by side during an upgrade.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn is_ready(&self) -> Result<bool, StorageError> {
        Ok(self.schema_state().await?.is_usable())
    }
}

/// On PostgreSQL in two round trips, because `/readyz` has a deadline.
pub(crate) async fn schema_state(
    connection: &mut Connection,
    known: &KnownMigrations,
) -> Result<SchemaState, Abort<Infallible>> {
    let (is_migrated, is_versioned) = pipeline!(
        connection,
        has_table(connection, "__diesel_schema_migrations"),
        has_table(connection, "schema_compatibility"),
    );
    let (applied, minimum_reader) = pipeline!(
        connection,
        applied_versions(connection, is_migrated),
        minimum_reader(connection, is_versioned),
    );
    let known = known.versions::<Database>().map_err(StorageError::Defect)?;
    Ok(SchemaState::of(&known, &applied, minimum_reader.as_deref()))
}

/// diesel stores applied migrations in a table, which an empty database lacks.
async fn applied_versions(mut connection: Pipelined<'_>, is_migrated: bool) -> QueryResult<BTreeSet<String>> {
    if !is_migrated {
        return Ok(BTreeSet::new());
    }
    let versions = "SELECT CAST(version AS text) AS version FROM __diesel_schema_migrations";
    let applied: Vec<AppliedMigration> = prepared_once(diesel::sql_query(versions))
        .load(&mut connection)
        .await?;
    Ok(applied.into_iter().map(|migration| migration.version).collect())
}

async fn minimum_reader(mut connection: Pipelined<'_>, is_versioned: bool) -> QueryResult<Option<String>> {
    if !is_versioned {
        return Ok(None);
    }
    schema_compatibility::table
        .select(schema_compatibility::minimum_reader)
        .get_result(&mut connection)
        .await
        .optional()
}
