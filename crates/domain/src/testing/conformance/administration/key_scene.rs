//! The scene of cases in which owners manage keys.

use std::num::NonZeroU32;

use chrono::{DateTime, Utc};

use super::super::Stores;
use super::super::pages::{all_pages, size_of};
use super::super::scene::Scene;
use crate::administration::ports::{
    CutoffTime, HeldKey, KeySelection, OrganizationKeyFilter, RevokeKeysError, RevokedBatch,
};
use crate::api_key::{ApiKey, RevocationReason};
use crate::audit::Act;
use crate::id::{ApiKeyId, OrganizationId};
use crate::membership::Member;
use crate::page::PageSize;
use crate::ports::DescendantKeys;

impl Scene<Stores> {
    /// The keys that pass the filter, over all pages of that size.
    pub(super) async fn held(
        &self,
        organization: OrganizationId,
        filter: &OrganizationKeyFilter,
        size: u16,
    ) -> Vec<HeldKey> {
        let store = &self.stores.organization_keys;
        all_pages(size_of(size), |page| {
            store.list(organization, filter.clone(), page, self.now())
        })
        .await
    }

    /// The names of the keys that pass the filter, newest first.
    pub(super) async fn held_names(&self, owner: &Member, filter: &OrganizationKeyFilter) -> Vec<String> {
        let keys = self.held(owner.organization.id, filter, PageSize::MAX).await;
        keys.into_iter().map(|key| key.name.to_string()).collect()
    }

    /// An owner revokes keys, and says nothing.
    pub(super) async fn revoke_many(
        &self,
        owner: &Member,
        selection: KeySelection,
        act: Act,
    ) -> Result<Vec<ApiKeyId>, RevokeKeysError> {
        self.revoke_some(owner, selection, ALL, act).await
    }

    /// An owner revokes at most this many keys.
    pub(super) async fn revoke_some(
        &self,
        owner: &Member,
        selection: KeySelection,
        at_most: NonZeroU32,
        act: Act,
    ) -> Result<Vec<ApiKeyId>, RevokeKeysError> {
        let batch = self.revoke_batch(owner, selection, at_most, act).await;
        batch.map(|batch| batch.keys)
    }

    /// The same, with whether more keys are left.
    pub(super) async fn revoke_batch(
        &self,
        owner: &Member,
        selection: KeySelection,
        at_most: NonZeroU32,
        act: Act,
    ) -> Result<RevokedBatch, RevokeKeysError> {
        let store = &self.stores.organization_keys;
        store
            .revoke(
                owner.organization.id,
                selection,
                at_most,
                RevocationReason::Owner,
                None,
                act,
            )
            .await
    }
}

/// More keys than there are.
pub(super) const ALL: NonZeroU32 = NonZeroU32::MAX;

/// All keys from before a moment, as if it were a minute ago.
pub(super) fn issued_before(moment: DateTime<Utc>) -> KeySelection {
    let cutoff = CutoffTime::new(moment, moment + CutoffTime::MIN_AGE);
    KeySelection::IssuedBefore(cutoff.expect("it is a minute ago"))
}

/// These keys alone.
pub(super) fn only(keys: &[&ApiKey]) -> KeySelection {
    KeySelection::Keys {
        ids: keys.iter().map(|key| key.id).collect(),
        descendants: DescendantKeys::Keep,
    }
}

/// These keys and all that came from them.
pub(super) fn with_descendants(keys: &[&ApiKey]) -> KeySelection {
    KeySelection::Keys {
        ids: keys.iter().map(|key| key.id).collect(),
        descendants: DescendantKeys::Revoke,
    }
}
