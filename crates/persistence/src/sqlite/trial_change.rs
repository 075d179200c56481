//! A change that nobody notices, to find out whether changes are possible.

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
    /// Fills up the reserve, if it is not whole, and looks whether there is room beside it. Writes one page of the file, by
    /// the road of every change, and syncs it to the disk.
    ///
    /// # Errors
    /// See [`TrialFailure`].
    pub async fn try_change(&self) -> Result<(), TrialFailure> {
        let tried = match self.fill_reserve().await {
            Ok(()) => self.change_blocking(count_up).await,
            Err(error) => Err(error),
        };
        tried.map_err(|error| {
            if is_slow(&error) {
                TrialFailure::Slow(error)
            } else if is_for_want_of_room(&error) {
                TrialFailure::DiskFull(error)
            } else {
                TrialFailure::Refused(error)
            }
        })
    }

    async fn fill_reserve(&self) -> Result<(), StorageError> {
        let file = Arc::clone(&self.file);
        // It would make the reserve of a file that is not there any more.
        let filling = task::spawn_blocking(move || file.check_in_place().and_then(|()| file.reserve.fill()));
        filling
            .await
            .map_err(|error| StorageError::Defect(error.into()))?
    }
}

/// The header of the file has a number for the application, which means nothing here. SQLite does not write what is
/// there already, so it must be another one.
fn count_up(connection: &mut SqliteConnection) -> Result<(), Abort<StorageError>> {
    let row: UserVersion = diesel::sql_query("PRAGMA user_version").get_result(connection)?;
    let next = (row.user_version + 1) % i64::from(i32::MAX);
    Ok(connection.batch_execute(&format!("PRAGMA user_version = {next}"))?)
}

fn is_for_want_of_room(error: &StorageError) -> bool {
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
