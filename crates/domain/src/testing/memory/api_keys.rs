use std::cmp::Reverse;

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use super::{MemoryStore, State, StoredKey};
use crate::api_key::{ApiKey, KeyEdit, KeyPrecondition, LongestLife, Revocation, RevocationCause};
use crate::audit::{Act, Action, Subject};
use crate::holder::KeyReach;
use crate::id::{ApiKeyId, MembershipId};
use crate::idempotency_key::{FirstUse, IdempotencyKey, Repetition};
use crate::page::{Page, PageRequest, PageSize};
use crate::ports::{
    AddKeyError, ApiKeys, DescendantKeys, EditKeyError, KeyFilter, KeyLimits, NewApiKey, NewRotation,
    RevokeKeyError, RotateKeyError, StorageError,
};
use crate::rate::{Rate, Throttled};
use crate::token::TokenDigest;
use crate::validity::End;

#[async_trait]
impl ApiKeys for MemoryStore {
    async fn add(&self, new: NewApiKey, limits: KeyLimits, act: Act) -> Result<ApiKey, AddKeyError> {
        let mut state = self.state()?;
        let act = act.at_current_time();
        let consumer = new.key.consumer_id;
        match state.holder_reach(consumer, new.key.parent(), act.at) {
            Some(KeyReach::All) => {}
            Some(KeyReach::Only(_)) => return Err(AddKeyError::MayNotManageKeys),
            None => return Err(AddKeyError::HolderGone),
        }
        let change = state.change(consumer, limits.changes, act.at);
        let change = change.map_err(AddKeyError::Throttled)?;
        if let Some(key) = new.idempotency_key
            && let Some((id, repetition)) = state.created_with(consumer, key, act.at)
        {
            return Err(match repetition {
                Repetition::Same => AddKeyError::AlreadyCreated(id),
                _ => AddKeyError::IdempotencyKeyReused,
            });
        }
        let keys = state.keys_of(consumer).map(|stored| &stored.key);
        let valid = keys.filter(|key| key.is_valid(act.at) && state.live_successor(key, act.at).is_none());
        if valid.count() >= limits.valid.0 as usize {
            return Err(AddKeyError::LimitReached(limits.valid));
        }
        if let Some(parent) = new.key.parent()
            && state.valid_in_chain(consumer, parent, act.at) >= ApiKey::MAX_TREE_DEPTH as usize
        {
            return Err(AddKeyError::TreeTooDeep);
        }
        new.check_expiry(act.at)?;
        if state
            .keys
            .iter()
            .any(|stored| stored.digest == new.digest || stored.key.id == new.key.id)
        {
            return Err(StorageError::Defect("two keys share an identifier or a digest".into()).into());
        }
        let mut key = new.key;
        key.limit_life(state.longest_life(consumer))?;
        if new.organization_decides {
            key.can_manage_keys = state
                .membership(consumer)
                .and_then(|membership| state.organization(membership.organization_id))
                .is_none_or(|organization| organization.new_keys_manage_keys);
        }
        state.write(vec![act.creation_of_key(&key)])?;
        state.count(change);
        state.store_key(key.clone(), new.digest, new.idempotency_key);
        Ok(key)
    }

    async fn find(&self, consumer: MembershipId, id: ApiKeyId) -> Result<Option<ApiKey>, StorageError> {
        let state = self.state()?;
        Ok(state
            .keys_of(consumer)
            .map(|stored| &stored.key)
            .find(|key| key.id == id)
            .cloned())
    }

    async fn find_many(&self, consumer: MembershipId, ids: &[ApiKeyId]) -> Result<Vec<ApiKey>, StorageError> {
        let state = self.state()?;
        let keys = state.keys_of(consumer).map(|stored| &stored.key);
        Ok(keys.filter(|key| ids.contains(&key.id)).cloned().collect())
    }

    async fn leaked_since(
        &self,
        consumer: MembershipId,
        since: DateTime<Utc>,
        size: PageSize,
    ) -> Result<Vec<ApiKey>, StorageError> {
        let state = self.state()?;
        let keys = state.keys_of(consumer).map(|stored| stored.key.clone());
        let mut leaked: Vec<ApiKey> = keys.filter(|key| key.leaked_since(since)).collect();
        leaked.sort_by_key(|key| (Reverse(key.end().map(End::at)), key.id));
        leaked.truncate(size.items() + 1);
        Ok(leaked)
    }

    async fn list(
        &self,
        consumer: MembershipId,
        filter: KeyFilter,
        page: PageRequest<ApiKeyId>,
        now: DateTime<Utc>,
    ) -> Result<Page<ApiKey, ApiKeyId>, StorageError> {
        let state = self.state()?;
        let mut keys: Vec<ApiKey> = state
            .keys_of(consumer)
            .map(|stored| &stored.key)
            .filter(|key| filter.accepts(key, now) && page.after.is_none_or(|after| key.id < after))
            .cloned()
            .collect();
        keys.sort_by_key(|key| Reverse(key.id));
        keys.truncate(page.size.items() + 1);
        Ok(Page::from_one_more(keys, page.size, |key| key.id))
    }

    async fn valid_descendants(
        &self,
        consumer: MembershipId,
        id: ApiKeyId,
        now: DateTime<Utc>,
    ) -> Result<Vec<ApiKey>, StorageError> {
        let state = self.state()?;
        let ids = state.descendants(consumer, id);
        let valid = state
            .keys_of(consumer)
            .map(|stored| &stored.key)
            .filter(|key| key.is_valid(now));
        let mut keys: Vec<ApiKey> = valid.filter(|key| ids.contains(&key.id)).cloned().collect();
        keys.sort_by_key(|key| Reverse(key.id));
        Ok(keys)
    }

    async fn edit(
        &self,
        consumer: MembershipId,
        id: ApiKeyId,
        edit: KeyEdit,
        precondition: KeyPrecondition,
        changes: Rate,
        act: Act,
    ) -> Result<ApiKey, EditKeyError> {
        let mut state = self.state()?;
        let act = act.at_current_time();
        let reach = state
            .holder_reach(consumer, act.actor.api_key(), act.at)
            .ok_or(EditKeyError::HolderGone)?;
        let change = state.change(consumer, changes, act.at);
        let change = change.map_err(EditKeyError::Throttled)?;
        if !reach.includes(id) {
            return Err(EditKeyError::NotFound);
        }
        let key = state.key(consumer, id).ok_or(EditKeyError::NotFound)?;
        if !key.is_valid(act.at) {
            return Err(EditKeyError::Revoked);
        }
        if !precondition.is_met_by(key) {
            return Err(EditKeyError::PreconditionFailed);
        }
        edit.check(act.at)?;
        let mut edited = key.clone();
        let (live, longest) = (state.live_successor(key, act.at), state.longest_life(consumer));
        let changes = edited.apply(&edit, live, longest, act.actor)?;
        if !changes.is_empty() {
            let events = changes.into_iter().map(|change| act.edit_of_key(id, change));
            state.write(events.collect())?;
            *state.key_mut(consumer, id).ok_or(EditKeyError::NotFound)? = edited.clone();
        }
        state.count(change);
        Ok(edited)
    }

    async fn rotate(&self, new: NewRotation, changes: Rate, act: Act) -> Result<ApiKey, RotateKeyError> {
        let mut state = self.state()?;
        let act = act.at_current_time();
        let consumer = new.consumer_id;
        match state.holder_reach(consumer, act.actor.api_key(), act.at) {
            Some(KeyReach::All) => {}
            Some(KeyReach::Only(_)) => return Err(RotateKeyError::MayNotManageKeys),
            None => return Err(RotateKeyError::HolderGone),
        }
        let change = state.change(consumer, changes, act.at);
        let change = change.map_err(RotateKeyError::Throttled)?;
        let old = state.key(consumer, new.old_key).cloned();
        let mut old = old.ok_or(RotateKeyError::NotFound)?;
        if let Some(key) = new.idempotency_key
            && let Some((id, repetition)) = state.created_with(consumer, key, act.at)
        {
            return Err(match repetition {
                Repetition::Same => RotateKeyError::AlreadyCreated(id),
                _ => RotateKeyError::IdempotencyKeyReused,
            });
        }
        let live = state.live_successor(&old, act.at);
        let successor = old.rotate(&new, live, state.longest_life(consumer), &act)?;
        if let Some(acting) = act.actor.api_key().filter(|acting| *acting != old.id)
            && state.valid_in_chain(consumer, acting, act.at) >= ApiKey::MAX_TREE_DEPTH as usize
        {
            return Err(RotateKeyError::TreeTooDeep);
        }
        let before = old.rotated_from.and_then(|id| state.key(consumer, id));
        let before = before.filter(|key| key.is_valid(act.at)).cloned();
        let end_before = before
            .as_ref()
            .map(|key| act.event(Action::RevokeApiKey, Subject::ApiKey(key.id)));
        let events = act.rotation_of_key(&old, &successor);
        state.write(events.into_iter().chain(end_before).collect())?;
        state.count(change);
        let before = before.map(|key| ApiKey {
            revocation: Some(Revocation::by_rotation(act.at, act.actor)),
            ..key
        });
        for changed in [Some(old), before].into_iter().flatten() {
            if let Some(key) = state.key_mut(consumer, changed.id) {
                *key = changed;
            }
        }
        state.store_key(successor.clone(), new.digest, new.idempotency_key);
        Ok(successor)
    }

    async fn revoke(
        &self,
        consumer: MembershipId,
        id: ApiKeyId,
        cause: RevocationCause,
        descendants: DescendantKeys,
        precondition: KeyPrecondition,
        act: Act,
    ) -> Result<Vec<ApiKeyId>, RevokeKeyError> {
        let mut state = self.state()?;
        let reach = match act.actor.api_key() {
            Some(key) => state
                .holder_reach(consumer, Some(key), act.at)
                .ok_or(RevokeKeyError::HolderGone)?,
            None => KeyReach::All,
        };
        if !reach.includes(id) {
            return Err(RevokeKeyError::NotFound);
        }
        let key = state.key_mut(consumer, id).ok_or(RevokeKeyError::NotFound)?;
        let is_met = precondition.is_met_by(key);
        let mut targets = vec![id];
        if descendants == DescendantKeys::Revoke {
            targets.extend(state.descendants(consumer, id));
        }
        let due = state
            .due_keys(act.at)
            .filter(|key| targets.contains(key))
            .collect();
        targets.retain(|target| {
            state
                .key_mut(consumer, *target)
                .is_some_and(|key| key.is_valid(act.at))
        });
        if !targets.is_empty() && !is_met {
            return Err(RevokeKeyError::PreconditionFailed);
        }
        let event = |target: &ApiKeyId| act.event(Action::RevokeApiKey, Subject::ApiKey(*target));
        state.write_with_due_ends(targets.iter().map(event).collect(), due, &act)?;
        for target in &targets {
            if let Some(key) = state.key_mut(consumer, *target) {
                key.revocation = Some(Revocation {
                    end: End::Come(act.at),
                    by: act.actor,
                    reason: cause.reason,
                    note: cause.note.clone(),
                });
            }
        }
        Ok(targets)
    }
}

/// A change for which there is room.
#[derive(Clone, Copy)]
struct Change {
    consumer: MembershipId,
    empty_at: DateTime<Utc>,
}

impl State {
    /// The consumer's reach at this time; `None` unless it is a live member and the acting key, if any, is
    /// one of its valid keys.
    fn holder_reach(
        &self,
        consumer: MembershipId,
        acting_key: Option<ApiKeyId>,
        at: DateTime<Utc>,
    ) -> Option<KeyReach> {
        self.membership(consumer)
            .filter(|membership| membership.is_live(at))?;
        let Some(id) = acting_key else {
            return Some(KeyReach::All);
        };
        let mut keys = self.keys_of(consumer).map(|stored| &stored.key);
        let key = keys.find(|key| key.id == id && key.is_valid(at))?;
        Some(KeyReach::of_key(id, key.can_manage_keys))
    }

    /// The state of the rate limit after a change of the consumer at this time.
    fn change(&self, consumer: MembershipId, rate: Rate, at: DateTime<Utc>) -> Result<Change, Throttled> {
        let empty_at = self.changes_empty_at.get(&consumer).copied();
        rate.admit(empty_at, at)
            .map(|empty_at| Change { consumer, empty_at })
    }

    fn count(&mut self, change: Change) {
        self.changes_empty_at.insert(change.consumer, change.empty_at);
    }

    /// The key that a consumer created with this idempotency key, unless that is too old to count at this
    /// time.
    fn created_with(
        &self,
        consumer: MembershipId,
        key: IdempotencyKey,
        at: DateTime<Utc>,
    ) -> Option<(ApiKeyId, Repetition)> {
        let repetitions = self.keys_of(consumer).filter_map(|stored| {
            let first = stored.idempotency_key?;
            let is_same = first.to_bytes() == key.to_bytes();
            let (request, at_first) = (first.request(), stored.key.created_at);
            let first = FirstUse {
                request,
                at: at_first,
            };
            is_same.then(|| (stored.key.id, key.repeats(first, at)))
        });
        let mut remembered = repetitions.filter(|(_, repetition)| *repetition != Repetition::Forgotten);
        remembered.next()
    }

    /// The longest life that the consumer's organization allows new keys.
    fn longest_life(&self, consumer: MembershipId) -> Option<LongestLife> {
        let membership = self.membership(consumer)?;
        self.organization(membership.organization_id)?.longest_key_life
    }

    /// The key's successor, if it is valid.
    fn live_successor(&self, key: &ApiKey, at: DateTime<Utc>) -> Option<ApiKeyId> {
        let stored = key.rotated_to.and_then(|id| self.key(key.consumer_id, id));
        key.live_successor(stored, at)
    }

    /// How many keys are valid of this one and its ancestors, as they [count](ApiKey::depth_of).
    fn valid_in_chain(&self, consumer: MembershipId, id: ApiKeyId, at: DateTime<Utc>) -> usize {
        let chain = std::iter::successors(self.key(consumer, id), |key| {
            key.effective_parent().and_then(|id| self.key(consumer, id))
        });
        ApiKey::depth_of(chain.filter(|key| key.is_valid(at)))
    }

    fn store_key(&mut self, key: ApiKey, digest: TokenDigest, idempotency_key: Option<IdempotencyKey>) {
        let stored = |id| self.keys.iter().find(|stored| stored.key.id == id);
        // If the parent was removed, it was also that of the key that was rotated to this one.
        let above = key
            .effective_parent()
            .and_then(|parent| stored(parent).or_else(|| stored(key.rotated_from?)));
        let tree_began_at = above.map_or(key.created_at, |above| above.tree_began_at.min(key.created_at));
        self.keys.push(StoredKey {
            key,
            digest,
            idempotency_key,
            tree_began_at,
        });
    }

    fn keys_of(&self, consumer: MembershipId) -> impl Iterator<Item = &StoredKey> {
        self.keys
            .iter()
            .filter(move |stored| stored.key.consumer_id == consumer)
    }

    pub(super) fn key(&self, consumer: MembershipId, id: ApiKeyId) -> Option<&ApiKey> {
        let mut keys = self.keys_of(consumer).map(|stored| &stored.key);
        keys.find(|key| key.id == id)
    }

    pub(super) fn key_mut(&mut self, consumer: MembershipId, id: ApiKeyId) -> Option<&mut ApiKey> {
        let of_consumer = self
            .keys
            .iter_mut()
            .filter(|stored| stored.key.consumer_id == consumer);
        of_consumer.map(|stored| &mut stored.key).find(|key| key.id == id)
    }

    /// All keys created from this one, in any state.
    fn descendants(&self, consumer: MembershipId, id: ApiKeyId) -> Vec<ApiKeyId> {
        if !self.keys_of(consumer).any(|stored| stored.key.id == id) {
            return Vec::new();
        }
        let mut found = vec![id];
        let mut next = 0;
        while let Some(&parent) = found.get(next) {
            let children = self.keys_of(consumer).map(|stored| &stored.key);
            found.extend(
                children
                    .filter(|key| key.effective_parent() == Some(parent))
                    .map(|key| key.id),
            );
            next += 1;
        }
        found.split_off(1)
    }
}
