//! Credentials that are always answered by the store, which says whether a key was found before.

use std::sync::Arc;

use async_trait::async_trait;
use keyward_domain::access::Credential;
use keyward_domain::ports::{Credentials, StorageError};
use keyward_domain::token::TokenDigest;
use quick_cache::UnitWeighter;
use quick_cache::sync::Cache;

use crate::memory::cache;

/// Credentials of a store. Of the keys that were found last and most often it is remembered that their tokens
/// are no guesses, and nothing else: each look-up asks the store.
pub struct FamiliarCredentials {
    store: Arc<dyn Credentials>,
    found: Cache<[u8; 32], (), UnitWeighter>,
}

impl FamiliarCredentials {
    /// Remembers this many keys of a store at most, some 60 bytes for each.
    #[must_use]
    pub fn new(store: Arc<dyn Credentials>, most: usize) -> Self {
        let found = cache(most, most, UnitWeighter);
        found.reserve(most);
        Self { store, found }
    }
}

#[async_trait]
impl Credentials for FamiliarCredentials {
    async fn find(&self, digest: &TokenDigest) -> Result<Option<Credential>, StorageError> {
        let found = self.store.find(digest).await?;
        if found.as_ref().is_none_or(Credential::has_ended) {
            self.found.remove(digest.as_bytes());
        } else if !self.is_familiar(digest) {
            self.found.insert(*digest.as_bytes(), ());
        }
        Ok(found)
    }

    fn is_familiar(&self, digest: &TokenDigest) -> bool {
        self.found.get(digest.as_bytes()).is_some()
    }
}
