//! An organization's keys, as its owners see them: whose they are and where they come from, never a token.

use std::num::NonZeroU32;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use crate::administration::Authority;
use crate::administration::ports::{
    AtStake, FamilySize, HeldKey, KeyFamily, KeySelection, MomentNotSettled, OrganizationKeyFilter,
    OrganizationKeyStore, RevokeKeysError, SettledMoment,
};
use crate::api_key::{RevocationNote, RevocationReason};
use crate::audit::{Actor, RequestSource};
use crate::id::ApiKeyId;
use crate::page::{Page, PageRequest};
use crate::ports::StorageError;
use crate::sources::Sources;

/// What an owner can do with the keys of all members.
#[derive(Clone)]
pub struct OrganizationKeys {
    keys: Arc<dyn OrganizationKeyStore>,
    sources: Sources,
    portion: NonZeroU32,
}

impl OrganizationKeys {
    /// The maximum number of keys revoked in one transaction: few enough that no request has to wait for it.
    pub const PORTION: NonZeroU32 = NonZeroU32::new(2_000).unwrap();

    /// The use cases over a store.
    #[must_use]
    pub fn new(keys: Arc<dyn OrganizationKeyStore>, sources: Sources) -> Self {
        Self {
            keys,
            sources,
            portion: Self::PORTION,
        }
    }

    /// Sets a batch size other than [`OrganizationKeys::PORTION`].
    #[must_use]
    pub fn in_portions_of(self, portion: NonZeroU32) -> Self {
        Self { portion, ..self }
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
        now: DateTime<Utc>,
    ) -> Result<Page<HeldKey, ApiKeyId>, StorageError> {
        self.keys
            .list(authority.organization_id(), filter, page, now)
            .await
    }

    /// One key; nothing for an unknown one.
    ///
    /// # Errors
    /// Only if the store fails.
    pub async fn find(&self, authority: &Authority, id: ApiKeyId) -> Result<Option<HeldKey>, StorageError> {
        self.keys.find(authority.organization_id(), id).await
    }

    /// Those of these keys that are the organization's, in whatever state and order, each once.
    ///
    /// # Errors
    /// Only if the store fails.
    pub async fn find_many(
        &self,
        authority: &Authority,
        ids: &[ApiKeyId],
    ) -> Result<Vec<HeldKey>, StorageError> {
        self.keys.find_many(authority.organization_id(), ids).await
    }

    /// A key with its ancestors and what came from these, oldest first, as far as people can look at so many; nothing for
    /// an unknown key.
    ///
    /// # Errors
    /// Only if the store fails.
    pub async fn family(
        &self,
        authority: &Authority,
        id: ApiKeyId,
        now: DateTime<Utc>,
    ) -> Result<KeyFamily, StorageError> {
        let size = FamilySize::DEFAULT;
        self.keys.family(authority.organization_id(), id, size, now).await
    }

    /// What a revocation of the selection would end at this moment.
    ///
    /// # Errors
    /// Only if the store fails.
    pub async fn at_stake(
        &self,
        authority: &Authority,
        selection: KeySelection,
        now: DateTime<Utc>,
    ) -> Result<AtStake, StorageError> {
        let organization = authority.organization_id();
        self.keys.at_stake(organization, selection, now).await
    }

    /// All keys that were created before a moment.
    ///
    /// # Errors
    /// The moment is less than a minute ago.
    pub fn issued_before(&self, moment: DateTime<Utc>) -> Result<KeySelection, MomentNotSettled> {
        SettledMoment::new(moment, self.sources.now()).map(KeySelection::IssuedBefore)
    }

    /// Revokes keys for good, with a note to their holders, batch by batch, until none is left or the time budget is
    /// used up. Without a time budget, it runs until none is left.
    ///
    /// # Errors
    /// See [`RevocationStopped`]. Keys revoked before stay revoked; a repeated call continues.
    pub async fn revoke(
        &self,
        authority: &Authority,
        selection: KeySelection,
        note: Option<RevocationNote>,
        source: RequestSource,
        patience: Option<TimeDelta>,
    ) -> Result<RevokedKeys, RevocationStopped> {
        let reason = match authority.as_actor() {
            Actor::Administrator => RevocationReason::Administrator,
            Actor::User(_) | Actor::ApiKey(_) | Actor::System | Actor::Anonymous => RevocationReason::Owner,
        };
        let begun = self.sources.now();
        let mut revoked = RevokedKeys::default();
        loop {
            let act = authority.act(&self.sources, source.clone());
            let (organization, selection, note) =
                (authority.organization_id(), selection.clone(), note.clone());
            let portion = self
                .keys
                .revoke(organization, selection, self.portion, reason, note, act)
                .await;
            let portion = match portion {
                Ok(portion) => portion,
                Err(error) => return Err(revoked.stopped(error.into())),
            };
            let keys = u32::try_from(portion.len()).unwrap_or(u32::MAX);
            revoked.first = revoked.first.or(portion.first().copied());
            revoked.count = revoked.count.saturating_add(keys);
            if keys < self.portion.get() {
                return Ok(revoked);
            }
            if patience.is_some_and(|patience| self.sources.now() - begun >= patience) {
                return Err(revoked.stopped(WhyStopped::TimeIsUp));
            }
        }
    }
}

/// What a revocation of many keys has revoked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RevokedKeys {
    /// One of them.
    pub first: Option<ApiKeyId>,
    /// How many were valid until then.
    pub count: u32,
}

impl RevokedKeys {
    const fn stopped(self, why: WhyStopped) -> RevocationStopped {
        RevocationStopped { revoked: self, why }
    }
}

/// A revocation that ended before it was known that none of the keys is left.
#[derive(Debug, thiserror::Error)]
#[error("{} keys were revoked before it stopped", .revoked.count)]
pub struct RevocationStopped {
    /// What it came to.
    pub revoked: RevokedKeys,
    /// Why it went no further.
    #[source]
    pub why: WhyStopped,
}

/// Why a revocation went no further.
#[derive(Debug, thiserror::Error)]
pub enum WhyStopped {
    /// The time budget is used up.
    #[error("the time for it was up")]
    TimeIsUp,
    /// The next batch was refused or failed.
    #[error(transparent)]
    Refused(#[from] RevokeKeysError),
}
