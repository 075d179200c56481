//! Credentials that are answered from the cache under a lease, and else by the store behind it.

use std::sync::Arc;

use async_trait::async_trait;
use keyward_domain::access::Credential;
use keyward_domain::ports::{Credentials, StorageError};
use keyward_domain::token::TokenDigest;

use crate::boot_time::BootClock;
use crate::cache::VerificationCache;
use crate::lookups::{Count, Lookups};

/// Credentials of a store, those in the cache without asking it.
#[derive(Clone)]
pub struct CachedCredentials {
    store: Arc<dyn Credentials>,
    cache: Arc<VerificationCache>,
    clock: Arc<dyn BootClock>,
    lookups: Option<Arc<Lookups>>,
}

impl CachedCredentials {
    /// Puts a cache before a store.
    #[must_use]
    pub fn new(
        store: Arc<dyn Credentials>,
        cache: Arc<VerificationCache>,
        clock: Arc<dyn BootClock>,
    ) -> Self {
        Self {
            store,
            cache,
            clock,
            lookups: None,
        }
    }

    /// Counts from now on.
    #[must_use]
    pub fn counted(self, lookups: Option<Arc<Lookups>>) -> Self {
        Self { lookups, ..self }
    }

    fn count(&self, kind: impl FnOnce(&Lookups) -> &Count) {
        if let Some(lookups) = &self.lookups {
            kind(lookups).add(1);
        }
    }
}

#[async_trait]
impl Credentials for CachedCredentials {
    async fn find(&self, digest: &TokenDigest) -> Result<Option<Credential>, StorageError> {
        if let Some(credential) = self.remembered(digest) {
            return Ok(Some(credential));
        }
        self.count(|lookups| &lookups.misses);
        let fill = self.cache.begin_fill(self.clock.now());
        let found = self.store.find(digest).await?;
        if let (Some(fill), Some(credential)) = (fill, &found) {
            self.cache.fill(fill, digest, credential);
            self.count(|lookups| &lookups.fills);
        }
        if found.as_ref().is_none_or(Credential::has_ended) {
            self.cache.forget(digest);
        }
        Ok(found)
    }

    fn remembered(&self, digest: &TokenDigest) -> Option<Credential> {
        let remembered = self.cache.find(digest, self.clock.now());
        if remembered.is_some() {
            self.count(|lookups| &lookups.hits);
        }
        remembered
    }

    /// Also true of entries that cannot be answered now, for want of a lease or because of their age, until
    /// they turn out to have ended.
    fn is_familiar(&self, digest: &TokenDigest) -> bool {
        self.cache.holds(digest)
    }
}
