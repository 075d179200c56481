//! A change that nobody notices, to find out whether changes are possible.

use diesel::result::Error as QueryError;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use keyward_domain::ports::StorageError;

use super::errors::is_passing;
use super::store::PostgresStore;
use crate::abort::Abort;
use crate::claim::Claim;
use crate::trial_change::TrialFailure;

/// A row is written anew as it is. PostgreSQL checks the rights to a table also where a statement finds no row, so the
/// others only tell whether keys and audit events could be written: they are what every change is about.
///
/// That row finds room where its table has some already, also on a full disk, where tables cannot grow. So 1 MiB is asked for
/// besides, of the disk where the tables are: more than `work_mem` goes to a temporary file, which is nobody's in the
/// write-ahead log and is gone at once. Where such files are limited to less, it is not.
const TRIAL: &str = "UPDATE installation SET only_row = only_row; \
     UPDATE api_keys SET revoked_at = revoked_at WHERE false; \
     INSERT INTO audit_events SELECT * FROM audit_events WHERE false; \
     SET LOCAL temp_tablespaces = ''; \
     SET LOCAL work_mem = '64kB'; \
     WITH room AS MATERIALIZED ( \
         SELECT repeat(md5(number::text), 32) AS text \
         FROM generate_series(1, 1024) AS number \
         WHERE pg_size_bytes(current_setting('temp_file_limit')) NOT BETWEEN 0 AND 4194304 \
     ) SELECT count(text) FROM room";

impl PostgresStore {
    /// Writes one row, by the road of every change, and asks for the rights and the room that changes of keys need.
    ///
    /// # Errors
    /// See [`TrialFailure`].
    pub async fn try_change(&self) -> Result<(), TrialFailure> {
        self.change(Claim::Nothing, |connection| Box::pin(write(connection)))
            .await
            .map_err(|error| {
                if is_slow(&error) {
                    TrialFailure::Slow(error)
                } else {
                    TrialFailure::Refused(error)
                }
            })
    }
}

async fn write(connection: &mut AsyncPgConnection) -> Result<(), Abort<StorageError>> {
    Ok(connection.batch_execute(TRIAL).await?)
}

/// Whatever does not come from a statement is about the connection: there is none, or it was waited for too long.
fn is_slow(error: &StorageError) -> bool {
    let (StorageError::Unavailable(source) | StorageError::OutcomeUnknown(source)) = error else {
        return false;
    };
    source.downcast_ref::<QueryError>().is_none_or(is_passing)
}
