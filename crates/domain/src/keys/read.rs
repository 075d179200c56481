//! Reading keys: one, or a page of them.

use chrono::{DateTime, Utc};

use crate::api_key::ApiKey;
use crate::holder::{Holder, KeyReach};
use crate::id::ApiKeyId;
use crate::keys::PersonalKeys;
use crate::leaked_keys::NOTICE_PERIOD;
use crate::page::{Page, PageRequest, PageSize};
use crate::ports::{KeyFilter, StorageError};

/// Why a key could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadKeyError {
    /// The holder has no such key.
    #[error("no such key")]
    NotFound,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl PersonalKeys {
    /// One of the holder's keys, in any state.
    ///
    /// # Errors
    /// [`ReadKeyError::NotFound`] also for a key out of the holder's [reach](Holder::reach).
    pub async fn read(&self, holder: &Holder, id: ApiKeyId) -> Result<ApiKey, ReadKeyError> {
        if !holder.reach().includes(id) {
            return Err(ReadKeyError::NotFound);
        }
        self.keys
            .find(holder.consumer().id, id)
            .await?
            .ok_or(ReadKeyError::NotFound)
    }

    /// The keys with these identifiers within the holder's reach, in any state and order, without duplicates.
    pub async fn read_many(&self, holder: &Holder, ids: &[ApiKeyId]) -> Result<Vec<ApiKey>, StorageError> {
        let mut ids = ids.to_vec();
        ids.retain(|id| holder.reach().includes(*id));
        self.keys.find_many(holder.consumer().id, &ids).await
    }

    /// The holder's keys that were revoked in the days before this moment because their tokens leaked, those revoked
    /// last first: at most one more than a page holds, which shows whether there are others.
    pub async fn leaked(
        &self,
        holder: &Holder,
        size: PageSize,
        now: DateTime<Utc>,
    ) -> Result<Vec<ApiKey>, StorageError> {
        let (consumer, since) = (holder.consumer().id, now - NOTICE_PERIOD);
        match holder.reach() {
            KeyReach::All => self.keys.leaked_since(consumer, since, size).await,
            KeyReach::Only(id) => {
                let own = self.keys.find(consumer, id).await?;
                Ok(own.into_iter().filter(|key| key.leaked_since(since)).collect())
            }
        }
    }

    /// A page of the keys that the holder reaches, of the status that they have at this moment, newest first.
    pub async fn list(
        &self,
        holder: &Holder,
        filter: KeyFilter,
        page: PageRequest<ApiKeyId>,
        now: DateTime<Utc>,
    ) -> Result<Page<ApiKey, ApiKeyId>, StorageError> {
        match holder.reach() {
            KeyReach::All => self.keys.list(holder.consumer().id, filter, page, now).await,
            KeyReach::Only(id) => {
                let mut items = Vec::from_iter(self.keys.find(holder.consumer().id, id).await?);
                items.retain(|key| filter.accepts(key, now) && page.after.is_none_or(|after| key.id < after));
                Ok(Page { items, next: None })
            }
        }
    }

    /// The keys valid at this moment that were created from one of the holder's keys, directly or not, newest
    /// first.
    pub async fn valid_descendants(
        &self,
        holder: &Holder,
        id: ApiKeyId,
        now: DateTime<Utc>,
    ) -> Result<Vec<ApiKey>, StorageError> {
        match holder.reach() {
            KeyReach::All => {
                let consumer = holder.consumer().id;
                self.keys.valid_descendants(consumer, id, now).await
            }
            // A key that may not manage keys has no descendants.
            KeyReach::Only(_) => Ok(Vec::new()),
        }
    }
}
