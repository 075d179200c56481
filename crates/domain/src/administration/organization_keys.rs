//! An organization's keys, for its owners. Tokens are never shown.

use std::num::NonZeroU32;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use crate::administration::Authority;
use crate::administration::ports::{
    ApplyLongestLifeError, CutoffTime, CutoffTooRecent, HeldKey, KeySelection, KeyTree, KeyTreeSize,
    OrganizationKeyFilter, OrganizationKeyStore, PreviewedKeys, RevocationPreview, RevokeKeysError,
};
use crate::api_key::{LongestLife, RevocationNote, RevocationReason};
use crate::audit::{Actor, RequestSource};
use crate::id::ApiKeyId;
use crate::page::{Page, PageRequest};
use crate::ports::StorageError;
use crate::propagation::{Propagation, ToAllServers};
use crate::sources::Sources;

/// The use cases of all members' keys, for owners.
#[derive(Clone)]
pub struct OrganizationKeys {
    keys: Arc<dyn OrganizationKeyStore>,
    sources: Sources,
    batch_size: NonZeroU32,
    to_all_servers: ToAllServers,
}

impl OrganizationKeys {
    /// The maximum number of keys revoked in one transaction: few enough that no request has to wait for it.
    pub const BATCH_SIZE: NonZeroU32 = NonZeroU32::new(2_000).unwrap();

    /// The use cases over a store.
    #[must_use]
    pub fn new(keys: Arc<dyn OrganizationKeyStore>, sources: Sources) -> Self {
        Self {
            keys,
            sources,
            batch_size: Self::BATCH_SIZE,
            to_all_servers: ToAllServers::default(),
        }
    }

    /// Waits for other servers before it answers: see [`Propagation`].
    #[must_use]
    pub fn with_propagation(self, propagation: Arc<dyn Propagation>) -> Self {
        Self {
            to_all_servers: ToAllServers::by(propagation),
            ..self
        }
    }

    /// Sets a batch size other than [`OrganizationKeys::BATCH_SIZE`].
    #[must_use]
    pub fn with_batch_size(self, batch_size: NonZeroU32) -> Self {
        Self { batch_size, ..self }
    }

    /// A page of the keys of all consumers of the organization, newest first.
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
    pub async fn find(&self, authority: &Authority, id: ApiKeyId) -> Result<Option<HeldKey>, StorageError> {
        self.keys.find(authority.organization_id(), id).await
    }

    /// The keys with these identifiers that belong to the organization, in any state and order, without
    /// duplicates.
    pub async fn find_many(
        &self,
        authority: &Authority,
        ids: &[ApiKeyId],
    ) -> Result<Vec<HeldKey>, StorageError> {
        self.keys.find_many(authority.organization_id(), ids).await
    }

    /// A key's tree, oldest first, limited to what fits on a page; empty for an unknown key.
    pub async fn key_tree(
        &self,
        authority: &Authority,
        id: ApiKeyId,
        now: DateTime<Utc>,
    ) -> Result<KeyTree, StorageError> {
        let size = KeyTreeSize::DEFAULT;
        self.keys
            .key_tree(authority.organization_id(), id, size, now)
            .await
    }

    /// What a revocation of the selection would end at this moment.
    pub async fn revocation_preview(
        &self,
        authority: &Authority,
        selection: KeySelection,
        now: DateTime<Utc>,
    ) -> Result<RevocationPreview, StorageError> {
        let organization = authority.organization_id();
        self.keys.revocation_preview(organization, selection, now).await
    }

    /// All keys that were created before a moment.
    ///
    /// # Errors
    /// The moment is less than a minute ago.
    pub fn issued_before(&self, moment: DateTime<Utc>) -> Result<KeySelection, CutoffTooRecent> {
        CutoffTime::new(moment, self.sources.now()).map(KeySelection::IssuedBefore)
    }

    /// Revokes keys for good, with a note to their holders, batch by batch, until none is left or the time
    /// budget is used up. Without a time budget, it runs until none is left. When this returns, also with an
    /// error, no server accepts the keys that were revoked.
    ///
    /// # Errors
    /// See [`RevocationStopped`]. Keys revoked before stay revoked; a repeated call continues.
    pub async fn revoke(
        &self,
        authority: &Authority,
        selection: KeySelection,
        note: Option<RevocationNote>,
        source: RequestSource,
        time_budget: Option<TimeDelta>,
    ) -> Result<RevokedKeys, RevocationStopped> {
        let outcome = self
            .revoke_batches(authority, selection, note, source, time_budget)
            .await;
        self.to_all_servers.wait().await;
        outcome
    }

    async fn revoke_batches(
        &self,
        authority: &Authority,
        selection: KeySelection,
        note: Option<RevocationNote>,
        source: RequestSource,
        time_budget: Option<TimeDelta>,
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
            let batch = self
                .keys
                .revoke(organization, selection, self.batch_size, reason, note, act)
                .await;
            let batch = match batch {
                Ok(batch) => batch,
                Err(error) => return Err(revoked.stopped(error.into())),
            };
            let keys = u32::try_from(batch.keys.len()).unwrap_or(u32::MAX);
            revoked.first = revoked.first.or(batch.keys.first().copied());
            revoked.count = revoked.count.saturating_add(keys);
            if batch.is_last {
                return Ok(revoked);
            }
            if time_budget.is_some_and(|time_budget| self.sources.now() - begun >= time_budget) {
                return Err(revoked.stopped(StopReason::TimeBudgetExceeded));
            }
        }
    }
}

impl OrganizationKeys {
    /// The keys that would end earlier if this longest life were applied at this moment.
    pub async fn longest_life_preview(
        &self,
        authority: &Authority,
        longest: LongestLife,
        now: DateTime<Utc>,
    ) -> Result<PreviewedKeys, StorageError> {
        let organization = authority.organization_id();
        self.keys.longest_life_preview(organization, longest, now).await
    }

    /// Plans an end for each key that would live longer, with seven days' notice, batch by batch, until none
    /// is left or the time budget is used up, and returns how many got one. When this returns, also with an
    /// error, every server knows these ends.
    ///
    /// # Errors
    /// See [`ShorteningStopped`]. Ends that were planned by then stay planned; a repeated call continues.
    pub async fn apply_longest_life(
        &self,
        authority: &Authority,
        longest: LongestLife,
        source: RequestSource,
        time_budget: TimeDelta,
    ) -> Result<u32, ShorteningStopped> {
        let outcome = self
            .shorten_batches(authority, longest, source, time_budget)
            .await;
        self.to_all_servers.wait().await;
        outcome
    }

    async fn shorten_batches(
        &self,
        authority: &Authority,
        longest: LongestLife,
        source: RequestSource,
        time_budget: TimeDelta,
    ) -> Result<u32, ShorteningStopped> {
        let (organization, begun) = (authority.organization_id(), self.sources.now());
        let (mut shortened, mut after) = (0_u32, None);
        loop {
            let act = authority.act(&self.sources, source.clone());
            let batch = self
                .keys
                .apply_longest_life(organization, longest, after, self.batch_size, act)
                .await;
            let why = match batch {
                Ok(batch) => {
                    shortened = shortened.saturating_add(batch.keys);
                    after = batch.continues_after;
                    if after.is_none() {
                        return Ok(shortened);
                    }
                    (self.sources.now() - begun >= time_budget).then_some(ShorteningStop::TimeBudgetExceeded)
                }
                Err(error) => Some(error.into()),
            };
            if let Some(why) = why {
                return Err(ShorteningStopped { shortened, why });
            }
        }
    }
}

/// A longest life was not applied to all keys.
#[derive(Debug, thiserror::Error)]
#[error("stopped after {shortened} keys")]
pub struct ShorteningStopped {
    /// How many keys got an earlier end, or one at all.
    pub shortened: u32,
    /// Why it went no further.
    #[source]
    pub why: ShorteningStop,
}

/// Why a longest life was applied no further.
#[derive(Debug, thiserror::Error)]
pub enum ShorteningStop {
    /// The time budget is used up.
    #[error("time budget exceeded")]
    TimeBudgetExceeded,
    /// The next batch was refused or failed.
    #[error(transparent)]
    Refused(#[from] ApplyLongestLifeError),
}

/// The result of revoking many keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RevokedKeys {
    /// One of them.
    pub first: Option<ApiKeyId>,
    /// How many were valid until then.
    pub count: u32,
}

impl RevokedKeys {
    const fn stopped(self, why: StopReason) -> RevocationStopped {
        RevocationStopped { revoked: self, why }
    }
}

/// A revocation that stopped before all selected keys were revoked.
#[derive(Debug, thiserror::Error)]
#[error("stopped after {} keys", .revoked.count)]
pub struct RevocationStopped {
    /// What it came to.
    pub revoked: RevokedKeys,
    /// Why it went no further.
    #[source]
    pub why: StopReason,
}

/// Why a revocation went no further.
#[derive(Debug, thiserror::Error)]
pub enum StopReason {
    /// The time budget is used up.
    #[error("time budget exceeded")]
    TimeBudgetExceeded,
    /// The next batch was refused or failed.
    #[error(transparent)]
    Refused(#[from] RevokeKeysError),
}
