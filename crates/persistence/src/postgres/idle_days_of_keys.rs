//! Filling in what the version before did not write: since which day each valid key has been idle.

use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel::sql_types::{Array, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use super::schema::api_keys;
use super::store::PostgresStore;
use crate::abort::Abort;

/// How many keys are filled in by one transaction, so that none is locked for long.
const AT_ONCE: i64 = 2_000;

impl PostgresStore {
    /// Fills in the day of all valid keys that lack it. Any number of processes may do so at once, and one that breaks off
    /// leaves the rest for the next.
    pub(super) async fn fill_in_idle_days_of_keys(&self) -> Result<(), StorageError> {
        let mut after = Some(Uuid::nil());
        while let Some(last) = after {
            after = self
                .change(move |connection| Box::pin(fill_in(connection, last)))
                .await?;
        }
        Ok(())
    }
}

/// The next keys, by rising identifier: the order in which everybody locks several keys. Says which was the last.
async fn fill_in(
    connection: &mut AsyncPgConnection,
    after: Uuid,
) -> Result<Option<Uuid>, Abort<StorageError>> {
    let keys: Vec<Uuid> = api_keys::table
        .filter(api_keys::idle_since_day.eq(0))
        .filter(api_keys::revoked_at.is_null())
        .filter(api_keys::id.gt(after))
        .order(api_keys::id)
        .limit(AT_ONCE)
        .select(api_keys::id)
        .for_no_key_update()
        .load(connection)
        .await?;
    diesel::sql_query(
        "UPDATE api_keys
         SET idle_since_day = floor(extract(epoch FROM coalesce(last_used_at, created_at)) / 86400)
         WHERE id = ANY($1)",
    )
    .bind::<Array<SqlUuid>, _>(&keys)
    .execute(connection)
    .await?;
    Ok(keys.last().copied())
}
