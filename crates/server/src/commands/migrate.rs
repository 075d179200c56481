//! `keyward migrate`: brings the database up to date.

use keyward_persistence::Migrated;

use super::Failure;
use crate::options::StorageOptions;
use crate::output;
use crate::storage;

/// Applies the migrations that are missing.
pub(crate) async fn run(options: StorageOptions) -> Result<(), Failure> {
    match storage::migrate(&options.database).await? {
        Migrated::Upgraded { from, to } => {
            output::report(&format!("Migrated the database from {from} to {to}."));
        }
        Migrated::Nothing | Migrated::Made { .. } => output::report("The database is up to date."),
    }
    Ok(())
}
