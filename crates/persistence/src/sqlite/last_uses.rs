//! When keys were last used.

use async_trait::async_trait;
use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, QueryDsl, RunQueryDsl,
    SqliteConnection,
};
use keyward_domain::ports::{KeyUse, LastUses, StorageError};

use super::schema::api_keys;
use super::store::SqliteStore;
use crate::abort::Abort;
use crate::columns::StoredId;

#[async_trait]
impl LastUses for SqliteStore {
    async fn record(&self, uses: Vec<KeyUse>) -> Result<(), StorageError> {
        self.change_blocking(move |connection| record(connection, &uses))
            .await
    }
}

fn record(connection: &mut SqliteConnection, uses: &[KeyUse]) -> Result<(), Abort<StorageError>> {
    for KeyUse { key, last } in uses {
        let at = last.at.timestamp_millis();
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
        .execute(connection)?;
    }
    Ok(())
}
