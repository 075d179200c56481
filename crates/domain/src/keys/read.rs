//! Reading keys: one, or a page of them.

use crate::api_key::ApiKey;
use crate::holder::Holder;
use crate::id::ApiKeyId;
use crate::keys::PersonalKeys;
use crate::page::{Page, PageRequest};
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

/// Why keys could not be listed.
#[derive(Debug, thiserror::Error)]
pub enum ListKeysError {
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl PersonalKeys {
    /// One of the holder's keys, in whatever state.
    ///
    /// # Errors
    /// [`ReadKeyError::NotFound`] also for another consumer's key.
    pub async fn read(&self, holder: &Holder, id: ApiKeyId) -> Result<ApiKey, ReadKeyError> {
        self.keys
            .find(holder.consumer().id, id)
            .await?
            .ok_or(ReadKeyError::NotFound)
    }

    /// Those of these keys that are the holder's, in whatever state and order, each once.
    ///
    /// # Errors
    /// Only if the store fails.
    pub async fn read_many(&self, holder: &Holder, ids: &[ApiKeyId]) -> Result<Vec<ApiKey>, ListKeysError> {
        Ok(self.keys.find_many(holder.consumer().id, ids).await?)
    }

    /// A page of the holder's keys, newest first.
    ///
    /// # Errors
    /// Only if the store fails.
    pub async fn list(
        &self,
        holder: &Holder,
        filter: KeyFilter,
        page: PageRequest<ApiKeyId>,
    ) -> Result<Page<ApiKey, ApiKeyId>, ListKeysError> {
        Ok(self.keys.list(holder.consumer().id, filter, page).await?)
    }

    /// The valid keys that were created from one of the holder's keys, directly or not, newest first.
    ///
    /// # Errors
    /// Only if the store fails.
    pub async fn valid_descendants(
        &self,
        holder: &Holder,
        id: ApiKeyId,
    ) -> Result<Vec<ApiKey>, ListKeysError> {
        Ok(self.keys.valid_descendants(holder.consumer().id, id).await?)
    }
}
