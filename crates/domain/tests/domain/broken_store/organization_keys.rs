use chrono::{DateTime, Utc};
use std::cmp::Reverse;
use std::num::NonZeroU32;

use async_trait::async_trait;
use keyward_domain::administration::ports::{
    ApplyLongestLifeError, HeldKey, KeySelection, KeyTree, KeyTreeSize, OrganizationKeyFilter,
    OrganizationKeyStore, PreviewedKeys, RevocationPreview, RevokeKeysError, RevokedBatch, ShortenedBatch,
};
use keyward_domain::api_key::{LongestLife, RevocationNote, RevocationReason};
use keyward_domain::audit::Act;
use keyward_domain::id::{ApiKeyId, OrganizationId};
use keyward_domain::page::{Page, PageRequest, PageSize};
use keyward_domain::ports::{DescendantKeys, StorageError};
use keyward_domain::validity::End;

use super::{BrokenStore, Fault, List, lock};

#[async_trait]
impl OrganizationKeyStore for BrokenStore {
    async fn list(
        &self,
        organization: OrganizationId,
        mut filter: OrganizationKeyFilter,
        page: PageRequest<ApiKeyId>,
        now: DateTime<Utc>,
    ) -> Result<Page<HeldKey, ApiKeyId>, StorageError> {
        let now = self.asked_about(List::OrganizationKeys, now);
        if self.fault == Fault::IgnoresPlannedEndFilter {
            filter.expires_before = None;
        }
        if self.fault == Fault::IgnoresLongestLifeFilter {
            filter.shortened_by = None;
        }
        if self.fault == Fault::FindsHintsByLastFourCharacters && filter.hint().is_some() {
            filter = OrganizationKeyFilter::new(filter.status, filter.term());
        }
        if self.fault == Fault::FindsNamesBySubstring && filter.name().is_some() {
            filter = OrganizationKeyFilter::new(filter.status, filter.name());
        }
        let is_filtered = filter != OrganizationKeyFilter::default();
        let ask = |page| OrganizationKeyStore::list(&self.sound, organization, filter, page, now);
        let Page { items, next } = self.page(List::OrganizationKeys, is_filtered, page, ask).await?;
        let items = items.into_iter().map(|key| self.held_as_read(key)).collect();
        Ok(Page { items, next })
    }

    async fn find(
        &self,
        organization: OrganizationId,
        id: ApiKeyId,
    ) -> Result<Option<HeldKey>, StorageError> {
        let found = OrganizationKeyStore::find(&self.sound, organization, id).await?;
        Ok(found.map(|key| self.held_as_read(key)))
    }

    async fn find_many(
        &self,
        organization: OrganizationId,
        ids: &[ApiKeyId],
    ) -> Result<Vec<HeldKey>, StorageError> {
        let found = OrganizationKeyStore::find_many(&self.sound, organization, ids).await?;
        Ok(found.into_iter().map(|key| self.held_as_read(key)).collect())
    }

    async fn leaked_since(
        &self,
        organization: OrganizationId,
        since: DateTime<Utc>,
        size: PageSize,
    ) -> Result<Vec<HeldKey>, StorageError> {
        let since = self.leaks_since(since);
        let everything = match self.fault {
            Fault::LetsLeaksOfOneMemberHideOthers => PageSize::EXPORT,
            _ => size,
        };
        let mut leaked =
            OrganizationKeyStore::leaked_since(&self.sound, organization, since, everything).await?;
        if self.fault == Fault::LetsLeaksOfOneMemberHideOthers {
            leaked.sort_by_key(|key| Reverse(key.end().map(End::at)));
            leaked.truncate(size.items() + 1);
        }
        Ok(leaked.into_iter().map(|key| self.held_as_read(key)).collect())
    }

    async fn key_tree(
        &self,
        organization: OrganizationId,
        id: ApiKeyId,
        size: KeyTreeSize,
        now: DateTime<Utc>,
    ) -> Result<KeyTree, StorageError> {
        let now = self.asked_about(List::OrganizationKeys, now);
        let mut key_tree = self.sound.key_tree(organization, id, size, now).await?;
        key_tree.keys = key_tree
            .keys
            .into_iter()
            .map(|key| self.held_as_read(key))
            .collect();
        Ok(key_tree)
    }

    async fn revocation_preview(
        &self,
        organization: OrganizationId,
        selection: KeySelection,
        now: DateTime<Utc>,
    ) -> Result<RevocationPreview, StorageError> {
        let now = self.asked_about(List::OrganizationKeys, now);
        self.sound.revocation_preview(organization, selection, now).await
    }

    async fn revoke(
        &self,
        organization: OrganizationId,
        selection: KeySelection,
        at_most: NonZeroU32,
        reason: RevocationReason,
        note: Option<RevocationNote>,
        act: Act,
    ) -> Result<RevokedBatch, RevokeKeysError> {
        let (mut act, who) = (act.clone(), act.actor);
        if self.fault == Fault::ChecksRevokingOwnerBeforeTransaction {
            act.actor = self.owner_beforehand(organization, who, act.at).await?;
        }
        let selection = self.meant_by(organization, selection, act.at).await?;
        if self.fault == Fault::OwnersLeaveDueEndsOfRevokedKeys
            && let KeySelection::Keys { ids, .. } = &selection
        {
            let found = OrganizationKeyStore::find_many(&self.sound, organization, ids).await?;
            let mut ends = found.iter().filter_map(|key| Some(key.revocation.as_ref()?.end));
            if ends.any(|end| end.is_due(act.at)) {
                return Ok(RevokedBatch {
                    keys: Vec::new(),
                    is_last: true,
                });
            }
        }
        let mut revoked =
            OrganizationKeyStore::revoke(&self.sound, organization, selection, at_most, reason, note, act)
                .await?;
        if self.fault == Fault::StopsRevokingBeforeDueEnds {
            revoked.is_last = revoked.keys.len() < at_most.get() as usize;
        }
        self.were_revoked_by(who, &revoked.keys);
        Ok(revoked)
    }

    async fn longest_life_preview(
        &self,
        organization: OrganizationId,
        longest: LongestLife,
        now: DateTime<Utc>,
    ) -> Result<PreviewedKeys, StorageError> {
        let preview = self.sound.longest_life_preview(organization, longest, now);
        let mut preview = preview.await?;
        if self.fault == Fault::SortsShortenedKeysByName {
            preview.first.sort_by_key(|key| (key.search_text(), key.id));
        }
        Ok(preview)
    }

    async fn apply_longest_life(
        &self,
        organization: OrganizationId,
        longest: LongestLife,
        after: Option<ApiKeyId>,
        at_most: NonZeroU32,
        act: Act,
    ) -> Result<ShortenedBatch, ApplyLongestLifeError> {
        let at_most = match self.fault {
            Fault::ShortensKeysWithoutLimit => NonZeroU32::MAX,
            _ => at_most,
        };
        let after = after.filter(|_| self.fault != Fault::RestartsLongestLifeAtFirstKey);
        let act = self.as_timed(act);
        let applied = self
            .sound
            .apply_longest_life(organization, longest, after, at_most, act)
            .await;
        match applied {
            Err(ApplyLongestLifeError::LimitChanged) if self.fault == Fault::AppliesChangedLongestLife => {
                Ok(ShortenedBatch {
                    keys: 0,
                    continues_after: None,
                })
            }
            applied => applied,
        }
    }
}

impl BrokenStore {
    pub(super) fn held_as_told(&self, key: HeldKey) -> HeldKey {
        let mut key = key;
        let by = lock(&self.revokers).get(&key.id).copied();
        if let (Some(revocation), Some(by)) = (key.revocation.as_mut(), by) {
            revocation.by = by;
        }
        key
    }

    /// Which keys the fault takes the selection for.
    async fn meant_by(
        &self,
        organization: OrganizationId,
        selection: KeySelection,
        now: DateTime<Utc>,
    ) -> Result<KeySelection, StorageError> {
        let now = self.asked_about(List::OrganizationKeys, now);
        let (ids, generations) = match (self.fault, selection) {
            (
                Fault::OwnersRevokeUnselectedGrandchildren,
                KeySelection::Keys {
                    ids,
                    descendants: DescendantKeys::Keep,
                },
            ) => (ids, 2..usize::MAX),
            (
                Fault::OwnersKeepGreatGrandchildren,
                KeySelection::Keys {
                    ids,
                    descendants: DescendantKeys::Revoke,
                },
            ) => (ids, 1..3),
            (Fault::OwnersKeepDescendantsOfSelectedKeys, KeySelection::IssuedBefore(moment)) => {
                let known: Vec<ApiKeyId> = lock(&self.consumers).keys().copied().collect();
                let mut earlier = OrganizationKeyStore::find_many(&self.sound, organization, &known).await?;
                earlier.retain(|key| key.created_at < moment.get());
                (earlier.into_iter().map(|key| key.id).collect(), 0..0)
            }
            (_, selection) => return Ok(selection),
        };
        let everything = KeyTreeSize {
            ancestors: 100,
            keys: u16::MAX,
        };
        let mut meant = ids.clone();
        for id in ids {
            let key_tree = self.sound.key_tree(organization, id, everything, now).await?;
            let above = |id| {
                let key = key_tree.keys.iter().find(|key| key.id == id);
                key.and_then(|key| key.effective_parent())
            };
            let is_meant = |key: &&HeldKey| {
                let upwards = std::iter::successors(Some(key.id), |id| above(*id));
                let generation = upwards.enumerate().find(|(_, above)| *above == id);
                generation.is_some_and(|(generation, _)| generations.contains(&generation))
            };
            meant.extend(key_tree.keys.iter().filter(is_meant).map(|key| key.id));
        }
        Ok(KeySelection::Keys {
            ids: meant,
            descendants: DescendantKeys::Keep,
        })
    }
}
