//! When keys were last used. PostgreSQL takes many in one statement.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::api_key::LastUse;
use keyward_domain::ports::{KeyUse, LastUses, StorageError};

use super::dialect::{Store, last_uses};
use crate::claim::Claim;

#[async_trait]
impl LastUses for Store {
    async fn record(&self, uses: Vec<KeyUse>, now: DateTime<Utc>) -> Result<(), StorageError> {
        self.change_that_begins(Claim::Nothing, move |connection| {
            Box::pin(last_uses::record(connection, uses, now + LastUse::MAX_AHEAD))
        })
        .await
    }
}
