//! When keys were last used. PostgreSQL takes many in one statement.

use async_trait::async_trait;
use keyward_domain::ports::{KeyUse, LastUses, StorageError};

use super::dialect::{Store, last_uses};

#[async_trait]
impl LastUses for Store {
    async fn record(&self, uses: Vec<KeyUse>) -> Result<(), StorageError> {
        change!(self, last_uses::record(uses))
    }
}
