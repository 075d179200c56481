//! An organization's keys, as its owners see them: whose they are and where they come from, never a token.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use crate::administration::Authority;
use crate::administration::ports::{
    FamilySize, HeldKey, KeyFamily, KeySelection, KeysAtStake, OrganizationKeyFilter, OrganizationKeyStore,
    RevokeKeysError,
};
use crate::api_key::{RevocationNote, RevocationReason};
use crate::audit::{Act, Actor, RequestSource};
use crate::clock::Clock;
use crate::id::{ApiKeyId, IdGenerator};
use crate::page::{Page, PageRequest};
use crate::ports::StorageError;

/// What an owner can do with the keys of all members.
#[derive(Clone)]
pub struct OrganizationKeys {
    keys: Arc<dyn OrganizationKeyStore>,
    clock: Arc<dyn Clock>,
    ids: Arc<IdGenerator>,
}

impl OrganizationKeys {
    /// The use cases over a store.
    #[must_use]
    pub fn new(keys: Arc<dyn OrganizationKeyStore>, clock: Arc<dyn Clock>, ids: Arc<IdGenerator>) -> Self {
        Self { keys, clock, ids }
    }

    /// A page of the keys of all consumers of the organization, newest first.
    ///
    /// # Errors
    /// Only if the store fails.
    pub async fn list(
        &self,
        authority: &Authority,
        filter: OrganizationKeyFilter,
        page: PageRequest<ApiKeyId>,
    ) -> Result<Page<HeldKey, ApiKeyId>, StorageError> {
        self.keys.list(authority.organization_id(), filter, page).await
    }

    /// One key; nothing for an unknown one.
    ///
    /// # Errors
    /// Only if the store fails.
    pub async fn find(&self, authority: &Authority, id: ApiKeyId) -> Result<Option<HeldKey>, StorageError> {
        self.keys.find(authority.organization_id(), id).await
    }

    /// A key with its ancestors and what came from these, oldest first, as far as people can look at so many; nothing for
    /// an unknown key.
    ///
    /// # Errors
    /// Only if the store fails.
    pub async fn family(&self, authority: &Authority, id: ApiKeyId) -> Result<KeyFamily, StorageError> {
        let size = FamilySize::DEFAULT;
        self.keys.family(authority.organization_id(), id, size).await
    }

    /// The moment so many days ago, for [`OrganizationKeyFilter::unused_since`].
    #[must_use]
    pub fn days_ago(&self, days: u16) -> DateTime<Utc> {
        self.clock.now() - TimeDelta::days(days.into())
    }

    /// What a revocation of the selection would end now.
    ///
    /// # Errors
    /// Only if the store fails.
    pub async fn at_stake(
        &self,
        authority: &Authority,
        selection: KeySelection,
    ) -> Result<KeysAtStake, StorageError> {
        self.keys.at_stake(authority.organization_id(), selection).await
    }

    /// Revokes keys, for good, with a word to their holders. Returns those that were valid until now.
    ///
    /// # Errors
    /// See [`RevokeKeysError`]; then nothing was changed.
    pub async fn revoke(
        &self,
        authority: &Authority,
        selection: KeySelection,
        note: Option<RevocationNote>,
        source: RequestSource,
    ) -> Result<Vec<ApiKeyId>, RevokeKeysError> {
        let reason = match authority.as_actor() {
            Actor::Administrator => RevocationReason::Administrator,
            Actor::User(_) | Actor::ApiKey(_) | Actor::Anonymous => RevocationReason::Owner,
        };
        let act = Act::new(&self.ids, self.clock.now(), authority.as_actor(), source)
            .within(authority.organization_id());
        self.keys
            .revoke(authority.organization_id(), selection, reason, note, act)
            .await
    }
}
