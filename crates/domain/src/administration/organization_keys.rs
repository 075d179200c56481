//! An organization's keys, for its owners. Tokens are never shown.

use std::num::NonZeroU32;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use crate::administration::Authority;
use crate::administration::batches::{Batches, StopReason, Stopped};
use crate::administration::ports::{
    ApplyLongestLifeError, CutoffTime, CutoffTooRecent, HeldKey, KeySelection, KeyTree, KeyTreeSize,
    OrganizationKeyFilter, OrganizationKeyStore, PreviewedKeys, RevocationPreview, RevokeKeysError,
};
use crate::api_key::{LongestLife, RevocationNote, RevocationReason};
use crate::audit::{Actor, RequestSource};
use crate::id::ApiKeyId;
use crate::leaked_keys::NOTICE_PERIOD;
use crate::page::{Page, PageRequest, PageSize};
use crate::ports::StorageError;
use crate::propagation::{ToAllServers, with_propagation};
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

    with_propagation!();

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

    /// Keys that were revoked in the days before this moment because their tokens leaked: at most one more
    /// than a page holds, which shows whether there are others. Of each member, the key revoked last comes before the
    /// second-to-last of any member.
    pub async fn leaked(
        &self,
        authority: &Authority,
        size: PageSize,
        now: DateTime<Utc>,
    ) -> Result<Vec<HeldKey>, StorageError> {
        let organization = authority.organization_id();
        self.keys
            .leaked_since(organization, now - NOTICE_PERIOD, size)
            .await
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

    /// Counts the keys that a revocation of the selection would end now.
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

    /// Revokes keys, with a note to their holders, batch by batch, until none is left or the time budget is
    /// used up. Without a time budget, it runs until none is left. When this returns, also with an error, no
    /// server accepts the keys that were revoked.
    ///
    /// # Errors
    /// See [`Stopped`]. Keys revoked before stay revoked; a repeated call continues.
    pub async fn revoke(
        &self,
        authority: &Authority,
        selection: KeySelection,
        note: Option<RevocationNote>,
        source: RequestSource,
        time_budget: Option<TimeDelta>,
    ) -> Result<RevokedKeys, Stopped<RevokedKeys, RevokeKeysError>> {
        let mut progress = RevokedKeys::default();
        let revoking = self.revoke_batches(&mut progress, authority, selection, note, source, time_budget);
        let outcome = revoking.await;
        self.to_all_servers.wait().await;
        match outcome {
            Ok(()) => Ok(progress),
            Err(why) => Err(Stopped { progress, why }),
        }
    }

    async fn revoke_batches(
        &self,
        revoked: &mut RevokedKeys,
        authority: &Authority,
        selection: KeySelection,
        note: Option<RevocationNote>,
        source: RequestSource,
        time_budget: Option<TimeDelta>,
    ) -> Result<(), StopReason<RevokeKeysError>> {
        let organization = authority.organization_id();
        let reason = match authority.as_actor() {
            Actor::Administrator => RevocationReason::Administrator,
            Actor::User(_) | Actor::ApiKey(_) | Actor::System | Actor::Anonymous => RevocationReason::Owner,
        };
        let mut batches = Batches::begin(&self.sources, self.batch_size, time_budget);
        loop {
            let act = authority.act(&self.sources, source.clone());
            let (selection, note) = (selection.clone(), note.clone());
            let batch = self
                .keys
                .revoke(organization, selection, batches.size(), reason, note, act);
            match batch.await {
                Ok(batch) => {
                    revoked.add(&batch.keys);
                    if batch.is_last {
                        return Ok(());
                    }
                    batches.check_time()?;
                }
                Err(error) => {
                    let is_outage = matches!(&error, RevokeKeysError::Storage(StorageError::Unavailable(_)));
                    batches.repeat_smaller(error, is_outage)?;
                }
            }
        }
    }

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
    /// See [`Stopped`]. Ends that were planned by then stay planned; a repeated call continues.
    pub async fn apply_longest_life(
        &self,
        authority: &Authority,
        longest: LongestLife,
        source: RequestSource,
        time_budget: TimeDelta,
    ) -> Result<u32, Stopped<u32, ApplyLongestLifeError>> {
        let mut progress = 0;
        let shortening = self.shorten_batches(&mut progress, authority, longest, source, time_budget);
        let outcome = shortening.await;
        self.to_all_servers.wait().await;
        match outcome {
            Ok(()) => Ok(progress),
            Err(why) => Err(Stopped { progress, why }),
        }
    }

    async fn shorten_batches(
        &self,
        shortened: &mut u32,
        authority: &Authority,
        longest: LongestLife,
        source: RequestSource,
        time_budget: TimeDelta,
    ) -> Result<(), StopReason<ApplyLongestLifeError>> {
        let organization = authority.organization_id();
        let mut batches = Batches::begin(&self.sources, self.batch_size, Some(time_budget));
        let mut after = None;
        loop {
            let act = authority.act(&self.sources, source.clone());
            let batch = self
                .keys
                .apply_longest_life(organization, longest, after, batches.size(), act);
            match batch.await {
                Ok(batch) => {
                    *shortened = shortened.saturating_add(batch.keys);
                    after = batch.continues_after;
                    if after.is_none() {
                        return Ok(());
                    }
                    batches.check_time()?;
                }
                Err(error) => {
                    let is_outage = matches!(
                        &error,
                        ApplyLongestLifeError::Storage(StorageError::Unavailable(_))
                    );
                    batches.repeat_smaller(error, is_outage)?;
                }
            }
        }
    }
}

/// The result of revoking many keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RevokedKeys {
    /// One of the revoked keys.
    pub first: Option<ApiKeyId>,
    /// How many were valid until then.
    pub count: u32,
}

impl RevokedKeys {
    fn add(&mut self, keys: &[ApiKeyId]) {
        self.first = self.first.or(keys.first().copied());
        let keys = u32::try_from(keys.len()).unwrap_or(u32::MAX);
        self.count = self.count.saturating_add(keys);
    }
}
