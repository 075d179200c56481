//! When keys were last used.

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, QueryDsl};
use keyward_domain::ports::{KeyUse, StorageError};

use super::dialect::{Connection, RunQueryDsl};
use super::schema::api_keys;
use crate::abort::Abort;
use crate::columns::{StoredId, StoredMoment};

/// Records each use that is later than the stored last use of its key.
pub(super) async fn record(
    connection: &mut Connection,
    uses: Vec<KeyUse>,
) -> Result<(), Abort<StorageError>> {
    for KeyUse { key, last } in uses {
        let at = StoredMoment::from(last.at);
        let is_later = api_keys::last_used_at
            .is_null()
            .or(api_keys::last_used_at.lt(at).assume_not_null());
        diesel::update(
            api_keys::table
                .filter(api_keys::id.eq(StoredId(key.as_uuid())))
                .filter(is_later),
        )
        .set((
            api_keys::last_used_at.eq(at),
            api_keys::last_used_from.eq(last.from.map(|address| address.to_string())),
        ))
        .execute(connection)
        .await?;
    }
    Ok(())
}
