//! `keyward migrate`: brings the database up to date.

use super::Failure;
use crate::options::StorageOptions;
use crate::output;
use crate::storage;

/// Applies the migrations that are missing.
pub(crate) async fn run(options: StorageOptions) -> Result<(), Failure> {
    storage::open_or_make(&options.database).await?;
    output::tell("The database is up to date.");
    Ok(())
}
