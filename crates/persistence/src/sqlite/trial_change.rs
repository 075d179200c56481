//! A change that nobody notices, to find out whether changes are possible.

use diesel::connection::SimpleConnection;
use diesel::prelude::{QueryableByName, RunQueryDsl, SqliteConnection};
use diesel::result::Error as QueryError;
use diesel::sql_types::BigInt;
use keyward_domain::ports::StorageError;

use super::errors::is_busy;
use super::store::SqliteStore;
use crate::abort::{Abort, TooSlow};
use crate::trial_change::TrialFailure;

#[derive(QueryableByName)]
struct UserVersion {
    #[diesel(sql_type = BigInt)]
    user_version: i64,
}

impl SqliteStore {
    /// Writes one page of the file, by the road of every change, and syncs it to the disk.
    ///
    /// # Errors
    /// See [`TrialFailure`].
    pub async fn try_change(&self) -> Result<(), TrialFailure> {
        self.change(count_up).await.map_err(|error| {
            if is_slow(&error) {
                TrialFailure::Slow(error)
            } else {
                TrialFailure::Refused(error)
            }
        })
    }
}

/// The header of the file has a number for the application, which means nothing here. SQLite does not write what is
/// there already, so it must be another one.
fn count_up(connection: &mut SqliteConnection) -> Result<(), Abort<StorageError>> {
    let row: UserVersion = diesel::sql_query("PRAGMA user_version").get_result(connection)?;
    let next = (row.user_version + 1) % i64::from(i32::MAX);
    Ok(connection.batch_execute(&format!("PRAGMA user_version = {next}"))?)
}

fn is_slow(error: &StorageError) -> bool {
    let (StorageError::Unavailable(source) | StorageError::OutcomeUnknown(source)) = error else {
        return false;
    };
    source.is::<TooSlow>() || source.downcast_ref::<QueryError>().is_some_and(is_busy)
}
