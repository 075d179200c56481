use async_trait::async_trait;

use super::MemoryStore;
use crate::ports::{KeyUse, LastUses, StorageError};

#[async_trait]
impl LastUses for MemoryStore {
    async fn record(&self, uses: Vec<KeyUse>) -> Result<(), StorageError> {
        let mut state = self.state()?;
        for KeyUse { key, last } in uses {
            let stored = state.keys.iter_mut().map(|stored| &mut stored.key);
            for key in stored.filter(|stored| stored.id == key) {
                if key.last_use.is_none_or(|kept| kept.at < last.at) {
                    key.last_use = Some(last);
                }
            }
        }
        Ok(())
    }
}
