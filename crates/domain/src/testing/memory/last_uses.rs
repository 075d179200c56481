use async_trait::async_trait;
use chrono::{DateTime, Utc};

use super::MemoryStore;
use crate::api_key::LastUse;
use crate::ports::{KeyUse, LastUses, StorageError};

#[async_trait]
impl LastUses for MemoryStore {
    async fn record(&self, uses: Vec<KeyUse>, now: DateTime<Utc>) -> Result<(), StorageError> {
        let mut state = self.state()?;
        // A stored use later than this came from a wrong clock.
        let latest_plausible = now + LastUse::MAX_AHEAD;
        for KeyUse { key, last } in uses {
            let stored = state.keys.iter_mut().map(|stored| &mut stored.key);
            for key in stored.filter(|stored| stored.id == key) {
                if key
                    .last_use
                    .is_none_or(|kept| kept.at < last.at || kept.at > latest_plausible)
                {
                    key.last_use = Some(last);
                }
            }
        }
        Ok(())
    }
}
