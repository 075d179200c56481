//! A trial change without visible effect, which tests whether the database accepts changes.

use diesel::result::Error as QueryError;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use keyward_domain::ports::StorageError;

use super::errors::is_passing;
use super::store::PostgresStore;
use crate::abort::Abort;
use crate::claim::Claim;
use crate::trial_change::TrialFailure;

/// Rewrites one row unchanged. The other statements match no row, but PostgreSQL still checks the privileges
/// on their tables and waits for their locks: those of keys and of their search, of audit events and
/// changes of access, which every revocation needs, of the replicas that wait for each other, and of what signing in needs.
///
/// On a full disk, that row may still fit into free space of its table. So the statement also writes 1 MiB to
/// the disk of the tables: more than `work_mem` goes to a temporary file, which is not in the write-ahead log
/// and is removed at once. If `temp_file_limit` is lower, this part is skipped.
const TRIAL: &str = "UPDATE installation SET only_row = only_row; \
     INSERT INTO api_keys SELECT * FROM api_keys WHERE false; \
     UPDATE api_keys SET revoked_at = revoked_at WHERE false; \
     INSERT INTO api_key_search SELECT * FROM api_key_search WHERE false; \
     UPDATE api_key_search SET search_text = search_text WHERE false; \
     DELETE FROM api_key_search WHERE false; \
     INSERT INTO audit_events SELECT * FROM audit_events WHERE false; \
     UPDATE access_counter SET number = number WHERE false; \
     INSERT INTO access_changes SELECT * FROM access_changes WHERE false; \
     DELETE FROM access_changes WHERE false; \
     INSERT INTO replicas SELECT * FROM replicas WHERE false; \
     UPDATE replicas SET acknowledged = acknowledged WHERE false; \
     DELETE FROM replicas WHERE false; \
     UPDATE memberships SET ended_at = ended_at WHERE false; \
     UPDATE users SET password_hash = password_hash WHERE false; \
     INSERT INTO sessions SELECT * FROM sessions WHERE false; \
     UPDATE sessions SET last_seen_at = last_seen_at WHERE false; \
     DELETE FROM sessions WHERE false; \
     INSERT INTO sign_in_throttle SELECT * FROM sign_in_throttle WHERE false; \
     UPDATE sign_in_throttle SET empty_at = empty_at WHERE false; \
     SET LOCAL temp_tablespaces = ''; \
     SET LOCAL work_mem = '64kB'; \
     WITH room AS MATERIALIZED ( \
         SELECT repeat(md5(number::text), 32) AS text \
         FROM generate_series(1, 1024) AS number \
         WHERE pg_size_bytes(current_setting('temp_file_limit')) NOT BETWEEN 0 AND 4194304 \
     ) SELECT count(text) FROM room";

impl PostgresStore {
    /// Writes one row in the same way as every change, and tests the privileges and disk space that changes
    /// of keys need.
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

/// An error that does not come from a statement is about the connection: none is available, or waiting for
/// one timed out.
fn is_slow(error: &StorageError) -> bool {
    let (StorageError::Unavailable(source) | StorageError::OutcomeUnknown(source)) = error else {
        return false;
    };
    source.downcast_ref::<QueryError>().is_none_or(is_passing)
}
