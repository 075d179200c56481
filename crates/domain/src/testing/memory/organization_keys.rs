use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use super::{MemoryStore, State, StoredKey, to_u32};
use crate::administration::ports::{
    ApplyLongestLifeError, HeldKey, KeySelection, KeyTree, KeyTreeSize, MemberProfile, OrganizationKeyFilter,
    OrganizationKeyStore, PreviewedKeys, RevocationPreview, RevokeKeysError, RevokedBatch, ShortenedBatch,
};
use crate::api_key::{ApiKey, ChangeOfKey, LongestLife, Revocation, RevocationNote, RevocationReason};
use crate::audit::{Act, Action, Subject};
use crate::id::{ApiKeyId, MembershipId, OrganizationId};
use crate::page::{Page, PageRequest, PageSize};
use crate::ports::{DescendantKeys, StorageError};
use crate::validity::End;

#[async_trait]
impl OrganizationKeyStore for MemoryStore {
    async fn list(
        &self,
        organization: OrganizationId,
        filter: OrganizationKeyFilter,
        page: PageRequest<ApiKeyId>,
        now: DateTime<Utc>,
    ) -> Result<Page<HeldKey, ApiKeyId>, StorageError> {
        let state = self.state()?;
        let mut keys: Vec<HeldKey> = state
            .keys_within(organization)
            .filter(|key| page.after.is_none_or(|after| key.id < after))
            .filter_map(|key| {
                let holder = state.holder_of(key.consumer_id)?;
                filter
                    .accepts(key, &holder, now)
                    .then(|| HeldKey::new(key.clone(), holder))
            })
            .collect();
        keys.sort_by_key(|key| Reverse(key.id));
        keys.truncate(page.size.items() + 1);
        Ok(Page::from_one_more(keys, page.size, |key| key.id))
    }

    async fn find(
        &self,
        organization: OrganizationId,
        id: ApiKeyId,
    ) -> Result<Option<HeldKey>, StorageError> {
        let state = self.state()?;
        let found = state.keys_within(organization).find(|key| key.id == id);
        Ok(found.and_then(|key| state.held(key)))
    }

    async fn find_many(
        &self,
        organization: OrganizationId,
        ids: &[ApiKeyId],
    ) -> Result<Vec<HeldKey>, StorageError> {
        let state = self.state()?;
        let found = state
            .keys_within(organization)
            .filter(|key| ids.contains(&key.id));
        Ok(found.filter_map(|key| state.held(key)).collect())
    }

    async fn leaked_since(
        &self,
        organization: OrganizationId,
        since: DateTime<Utc>,
        size: PageSize,
    ) -> Result<Vec<HeldKey>, StorageError> {
        let state = self.state()?;
        let keys = state.keys_within(organization);
        let mut leaked: Vec<&ApiKey> = keys.filter(|key| key.leaked_since(since)).collect();
        leaked.sort_by_key(|key| (Reverse(key.end().map(End::at)), key.id));
        let mut later: HashMap<MembershipId, usize> = HashMap::new();
        let mut ranked = Vec::new();
        for key in leaked {
            let rank = later.entry(key.consumer_id).or_default();
            ranked.push((*rank, key));
            *rank += 1;
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        let first = ranked.into_iter().take(size.items() + 1);
        Ok(first.filter_map(|(_, key)| state.held(key)).collect())
    }

    async fn key_tree(
        &self,
        organization: OrganizationId,
        id: ApiKeyId,
        size: KeyTreeSize,
        now: DateTime<Utc>,
    ) -> Result<KeyTree, StorageError> {
        let state = self.state()?;
        let find = |id| state.keys_within(organization).find(|key| key.id == id);
        let upwards = |id| std::iter::successors(find(id), |key| key.effective_parent().and_then(find));
        let ancestors = usize::from(size.ancestors);
        let chain: Vec<&ApiKey> = upwards(id).take(1 + ancestors).collect();
        let top = chain.last().map(|key| key.id);
        let ids = state.with_descendants(organization, top.into_iter().collect());
        let descendants = || ids.iter().copied().filter_map(find);
        let paths = descendants()
            .filter(|key| key.is_valid(now))
            .flat_map(|key| upwards(key.id));
        let is_descendant = |key: &&ApiKey| ids.contains(&key.id);
        let by_rank = chain
            .iter()
            .copied()
            .chain(descendants().filter(|key| key.is_valid(now)))
            .chain(paths.filter(is_descendant))
            .chain(descendants());
        let mut key_tree: Vec<&ApiKey> = Vec::new();
        for key in by_rank {
            if key_tree.len() < usize::from(size.keys) && key_tree.iter().all(|other| other.id != key.id) {
                key_tree.push(key);
            }
        }
        key_tree.sort_unstable_by_key(|key| key.id);
        Ok(KeyTree {
            has_more: upwards(id).count() > chain.len() || descendants().count() > key_tree.len(),
            keys: key_tree.into_iter().filter_map(|key| state.held(key)).collect(),
        })
    }

    async fn revocation_preview(
        &self,
        organization: OrganizationId,
        selection: KeySelection,
        now: DateTime<Utc>,
    ) -> Result<RevocationPreview, StorageError> {
        let state = self.state()?;
        let chosen = match &selection {
            KeySelection::Keys { ids, .. } => Some(ids.clone()),
            KeySelection::OfConsumer(_) | KeySelection::IssuedBefore(_) => None,
        };
        let is_valid = |id: &ApiKeyId| {
            let mut keys = state.keys_within(organization);
            keys.any(|key| key.id == *id && key.is_valid(now))
        };
        let (selected, descendants) = state
            .selected(organization, selection)
            .into_iter()
            .filter(is_valid)
            .partition(|id| chosen.as_ref().is_none_or(|chosen| chosen.contains(id)));
        Ok(RevocationPreview {
            selected: state.revocation_preview(organization, selected, now),
            descendants: state.revocation_preview(organization, descendants, now),
        })
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
        let mut state = self.state()?;
        let act = act.at_current_time();
        if !state.may_administer(organization, act.actor, act.at) {
            return Err(RevokeKeysError::NotAllowed);
        }
        let at_most = usize::try_from(at_most.get()).unwrap_or(usize::MAX);
        let selected = state.selected(organization, selection);
        let valid = |id: &ApiKeyId| {
            state
                .keys_within(organization)
                .any(|key| key.id == *id && key.is_valid(act.at))
        };
        let revoked: Vec<ApiKeyId> = selected.iter().copied().filter(valid).take(at_most).collect();
        let due = state.due_keys(act.at).filter(|key| selected.contains(key));
        let due: Vec<ApiKeyId> = due.take(at_most).collect();
        let is_last = revoked.len() < at_most && due.len() < at_most;
        let event = |key: &ApiKeyId| act.event(Action::RevokeApiKey, Subject::ApiKey(*key));
        state.write_with_due_ends(revoked.iter().map(event).collect(), due, &act)?;
        let revocation = Revocation {
            end: End::Come(act.at),
            by: act.actor,
            reason,
            note,
        };
        for stored in &mut state.keys {
            if revoked.contains(&stored.key.id) {
                stored.key.revocation = Some(revocation.clone());
            }
        }
        Ok(RevokedBatch {
            keys: revoked,
            is_last,
        })
    }

    async fn longest_life_preview(
        &self,
        organization: OrganizationId,
        longest: LongestLife,
        now: DateTime<Utc>,
    ) -> Result<PreviewedKeys, StorageError> {
        let state = self.state()?;
        let keys = state.shortened_by(organization, longest, now);
        let keys = keys.into_iter().map(|(key, _)| key).collect();
        let by_last_use = |key: &ApiKey| (Reverse(key.last_use.map(|last| last.at)), key.id);
        Ok(state.preview(keys, PreviewedKeys::SHOWN_OF_SHORTENED, by_last_use, now))
    }

    async fn apply_longest_life(
        &self,
        organization: OrganizationId,
        longest: LongestLife,
        after: Option<ApiKeyId>,
        at_most: NonZeroU32,
        act: Act,
    ) -> Result<ShortenedBatch, ApplyLongestLifeError> {
        let mut state = self.state()?;
        let act = act.at_current_time();
        if !state.may_administer(organization, act.actor, act.at) {
            return Err(ApplyLongestLifeError::NotAllowed);
        }
        let limit = state.organization(organization);
        if limit.and_then(|stored| stored.longest_key_life) != Some(longest) {
            return Err(ApplyLongestLifeError::LimitChanged);
        }
        let at_most = usize::try_from(at_most.get()).unwrap_or(usize::MAX);
        let shortened = state.shortened_by(organization, longest, act.at);
        let planned: Vec<_> = shortened
            .into_iter()
            .filter(|(key, _)| Some(key.id) > after)
            .take(at_most)
            .map(|(key, end)| (key.id, key.end().map(End::at), end))
            .collect();
        let event = |(id, before, end): &(ApiKeyId, Option<DateTime<Utc>>, DateTime<Utc>)| {
            let (before, after) = (*before, Some(*end));
            act.edit_of_key(*id, ChangeOfKey::Expiry { before, after })
        };
        state.write(planned.iter().map(event).collect())?;
        for (id, _, end) in &planned {
            for stored in state.keys.iter_mut().filter(|stored| stored.key.id == *id) {
                let planned = Revocation::planned(*end, act.actor, RevocationReason::Expired);
                stored.key.revocation = Some(planned);
            }
        }
        let last = planned.last().map(|(id, ..)| *id);
        Ok(ShortenedBatch {
            keys: to_u32(planned.len()),
            continues_after: last.filter(|_| planned.len() == at_most),
        })
    }
}

impl State {
    fn keys_within(&self, organization: OrganizationId) -> impl Iterator<Item = &ApiKey> {
        self.stored_within(organization).map(|stored| &stored.key)
    }

    fn stored_within(&self, organization: OrganizationId) -> impl Iterator<Item = &StoredKey> {
        self.keys.iter().filter(move |stored| {
            self.membership(stored.key.consumer_id)
                .is_some_and(|membership| membership.organization_id == organization)
        })
    }

    fn holder_of(&self, consumer: MembershipId) -> Option<MemberProfile> {
        self.profile(self.membership(consumer)?)
    }

    fn held(&self, key: &ApiKey) -> Option<HeldKey> {
        Some(HeldKey::new(key.clone(), self.holder_of(key.consumer_id)?))
    }

    /// The keys that end earlier if a longest life is applied now, and when, by rising identifier.
    fn shortened_by(
        &self,
        organization: OrganizationId,
        longest: LongestLife,
        now: DateTime<Utc>,
    ) -> Vec<(&ApiKey, DateTime<Utc>)> {
        let is_live = |key: &&ApiKey| {
            self.membership(key.consumer_id)
                .is_some_and(|membership| membership.is_live(now))
        };
        let mut keys: Vec<_> = self
            .keys_within(organization)
            .filter(is_live)
            .filter_map(|key| Some((key, key.end_by_longest_life(longest, now)?)))
            .collect();
        keys.sort_by_key(|(key, _)| key.id);
        keys
    }

    fn revocation_preview(
        &self,
        organization: OrganizationId,
        ids: HashSet<ApiKeyId>,
        now: DateTime<Utc>,
    ) -> PreviewedKeys {
        let keys = self.keys_within(organization).filter(|key| ids.contains(&key.id));
        let by_name = |key: &ApiKey| (key.search_text(), key.id);
        self.preview(keys.collect(), PreviewedKeys::SHOWN, by_name, now)
    }

    fn preview<O: Ord>(
        &self,
        mut keys: Vec<&ApiKey>,
        shown: usize,
        order: impl Fn(&ApiKey) -> O,
        now: DateTime<Utc>,
    ) -> PreviewedKeys {
        let has_more = keys.len() > PreviewedKeys::COUNTED;
        keys.sort_by_key(|key| key.id);
        keys.truncate(PreviewedKeys::COUNTED);
        keys.sort_by_key(|key| order(key));
        let holders: HashSet<MembershipId> = keys.iter().map(|key| key.consumer_id).collect();
        let has_left = |key: &&&ApiKey| {
            let holder = self.holder_of(key.consumer_id);
            holder.is_some_and(|holder| !holder.membership.is_live(now))
        };
        PreviewedKeys {
            keys: to_u32(keys.len()),
            has_more,
            without_access: to_u32(keys.iter().filter(has_left).count()),
            holders: to_u32(holders.len()),
            first: keys
                .into_iter()
                .take(shown)
                .filter_map(|key| self.held(key))
                .collect(),
        }
    }

    /// These keys and all their descendants, each once.
    fn with_descendants(&self, organization: OrganizationId, ids: Vec<ApiKeyId>) -> Vec<ApiKeyId> {
        let mut found = ids;
        let mut next = 0;
        while let Some(&parent) = found.get(next) {
            for key in self.keys_within(organization) {
                if key.effective_parent() == Some(parent) && !found.contains(&key.id) {
                    found.push(key.id);
                }
            }
            next += 1;
        }
        found
    }

    /// The selected keys, by rising identifier.
    fn selected(&self, organization: OrganizationId, selection: KeySelection) -> Vec<ApiKeyId> {
        let keys_of_organization = self.keys_within(organization);
        let mut keys: Vec<ApiKeyId> = match selection {
            KeySelection::Keys { ids, descendants } => {
                let ids = match descendants {
                    DescendantKeys::Keep => ids,
                    DescendantKeys::Revoke => {
                        let is_here = |id: &ApiKeyId| self.keys_within(organization).any(|key| key.id == *id);
                        self.with_descendants(organization, ids.into_iter().filter(is_here).collect())
                    }
                };
                keys_of_organization
                    .map(|key| key.id)
                    .filter(|id| ids.contains(id))
                    .collect()
            }
            KeySelection::OfConsumer(consumer) => keys_of_organization
                .filter(|key| key.consumer_id == consumer)
                .map(|key| key.id)
                .collect(),
            KeySelection::IssuedBefore(moment) => self
                .stored_within(organization)
                .filter(|stored| stored.tree_began_at < moment.get())
                .map(|stored| stored.key.id)
                .collect(),
        };
        keys.sort_unstable();
        keys
    }
}
