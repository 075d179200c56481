//! Filling in what the version before did not write: the organization of each key.

use diesel::prelude::{ExpressionMethods, QueryDsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use keyward_domain::ports::StorageError;
use uuid::Uuid;

use super::schema::{api_keys, memberships};
use super::store::PostgresStore;
use crate::abort::Abort;

/// How many keys are filled in by one transaction, so that none is locked for long.
const AT_ONCE: i64 = 2_000;

impl PostgresStore {
    /// Fills in the organization of all keys that lack it. Any number of processes may do so at once, and one that breaks
    /// off leaves the rest for the next.
    pub(super) async fn fill_in_organizations_of_keys(&self) -> Result<(), StorageError> {
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
        .filter(api_keys::organization_id.is_null())
        .filter(api_keys::id.gt(after))
        .order(api_keys::id)
        .limit(AT_ONCE)
        .select(api_keys::id)
        .for_no_key_update()
        .load(connection)
        .await?;
    diesel::update(api_keys::table.filter(api_keys::id.eq_any(&keys)))
        .set(
            api_keys::organization_id.eq(memberships::table
                .filter(memberships::id.eq(api_keys::consumer_id))
                .select(memberships::organization_id)
                .single_value()),
        )
        .execute(connection)
        .await?;
    Ok(keys.last().copied())
}
