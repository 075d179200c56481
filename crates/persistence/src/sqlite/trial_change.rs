//! A trial change without visible effect, which tests whether the database accepts changes.

use std::sync::Arc;

use diesel::connection::SimpleConnection;
use diesel::prelude::{QueryableByName, RunQueryDsl, SqliteConnection};
use diesel::result::Error as QueryError;
use diesel::sql_types::BigInt;
use keyward_domain::ports::StorageError;

use super::errors::{is_busy, is_full};
use super::reserve::is_not_whole;
use super::store::SqliteStore;
use crate::abort::{Abort, TooSlow};
use crate::task;
use crate::trial_change::TrialFailure;

#[derive(QueryableByName)]
struct UserVersion {
    #[diesel(sql_type = BigInt)]
    user_version: i64,
}

impl SqliteStore {
    /// Refills the reserve if needed, and checks for free space besides. Then writes and syncs one page of
    /// the file in the same way as every change.
    ///
    /// # Errors
    /// See [`TrialFailure`].
    pub async fn try_change(&self) -> Result<(), TrialFailure> {
        let tried = match self.fill_reserve().await {
            Ok(()) => self.change_blocking(count_up).await,
            Err(error) => Err(error),
        };
        if let Some(damage) = self.file.damage() {
            return Err(TrialFailure::Damaged(StorageError::Defect(damage.into())));
        }
        tried.map_err(|error| {
            if is_slow(&error) {
                TrialFailure::Slow(error)
            } else if is_out_of_space(&error) {
                TrialFailure::DiskFull(error)
            } else {
                TrialFailure::Refused(error)
            }
        })
    }

    async fn fill_reserve(&self) -> Result<(), StorageError> {
        let file = Arc::clone(&self.file);
        // Otherwise this would create a reserve for a database file that no longer exists.
        let filling = task::spawn_blocking(move || file.check_in_place().and_then(|()| file.reserve.fill()));
        filling
            .await
            .map_err(|error| StorageError::Defect(error.into()))?
    }
}

/// Increments `user_version`, a number in the file header that Keyward does not use. SQLite does not write an
/// unchanged page, so the number must change.
fn count_up(connection: &mut SqliteConnection) -> Result<(), Abort<StorageError>> {
    let row: UserVersion = diesel::sql_query("PRAGMA user_version").get_result(connection)?;
    let next = (row.user_version + 1) % i64::from(i32::MAX);
    Ok(connection.batch_execute(&format!("PRAGMA user_version = {next}"))?)
}

fn is_out_of_space(error: &StorageError) -> bool {
    let StorageError::Unavailable(source) = error else {
        return false;
    };
    is_not_whole(error) || source.downcast_ref::<QueryError>().is_some_and(is_full)
}

fn is_slow(error: &StorageError) -> bool {
    let (StorageError::Unavailable(source) | StorageError::OutcomeUnknown(source)) = error else {
        return false;
    };
    source.is::<TooSlow>() || source.downcast_ref::<QueryError>().is_some_and(is_busy)
}
