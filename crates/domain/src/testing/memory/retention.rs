use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use super::{MemoryStore, State, to_u32};
use crate::api_key::ApiKey;
use crate::audit::AuditEvent;
use crate::id::{ApiKeyId, AuditEventId, MembershipId};
use crate::ports::StorageError;
use crate::retention::SurplusKeys;
use crate::retention::ports::{RetentionError, RetentionStore};
use crate::retention::{ClockDoubt, ClockWitnesses};

#[async_trait]
impl RetentionStore for MemoryStore {
    async fn check_clock(
        &self,
        now: DateTime<Utc>,
        is_confirmed: bool,
    ) -> Result<Option<ClockDoubt>, StorageError> {
        let mut state = self.state()?;
        // It begins with its first event.
        let begun = state.events.first().map(|event| event.at);
        let witnesses = ClockWitnesses {
            database: None,
            trusted_at: state.clock_trusted_at.or(begun).unwrap_or_default(),
        };
        let doubt = witnesses.check(now, is_confirmed).err();
        if doubt.is_none() {
            state.clock_trusted_at = Some(now);
        }
        Ok(doubt)
    }

    async fn remove_dead_keys(&self, dead_before: DateTime<Utc>, at_most: u32) -> Result<u32, StorageError> {
        let mut state = self.state()?;
        let removed = state.dead_keys(dead_before, at_most);
        Ok(state.remove_keys(&removed))
    }

    async fn next_with_surplus_keys(
        &self,
        after: Option<MembershipId>,
        kept: u32,
    ) -> Result<Option<MembershipId>, StorageError> {
        let state = self.state()?;
        let mut ended: BTreeMap<MembershipId, usize> = BTreeMap::new();
        for (key, _) in state.ended_keys() {
            *ended.entry(key.consumer_id).or_default() += 1;
        }
        let mut with_surplus = ended.into_iter().filter(|(_, count)| *count > items(kept));
        let next = with_surplus.find(|(consumer, _)| Some(*consumer) > after);
        Ok(next.map(|(consumer, _)| consumer))
    }

    async fn remove_surplus_keys(&self, surplus: SurplusKeys, at_most: u32) -> Result<u32, StorageError> {
        let mut state = self.state()?;
        let removed = state.surplus_keys(surplus, at_most);
        Ok(state.remove_keys(&removed))
    }

    async fn remove_ended_invitations(
        &self,
        ended_before: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError> {
        let mut state = self.state()?;
        Ok(remove(&mut state.invitations, at_most, |stored| {
            stored.invitation.ended_or_expires_at() < ended_before
        }))
    }

    async fn remove_expired_sessions(
        &self,
        expired_at: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError> {
        let mut state = self.state()?;
        Ok(remove(&mut state.sessions, at_most, |stored| {
            stored.session.expires_at() <= expired_at
        }))
    }

    async fn forget_idempotency_keys(
        &self,
        created_before: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError> {
        let mut state = self.state()?;
        let requests = state.keys.iter_mut().filter(|stored| {
            let key = stored.idempotency_key;
            key.is_some_and(|key| key.request().is_some()) && stored.key.created_at < created_before
        });
        let mut forgotten = 0;
        for stored in requests.take(items(at_most)) {
            stored.idempotency_key = None;
            forgotten += 1;
        }
        Ok(forgotten)
    }

    async fn remove_empty_throttle_buckets(
        &self,
        empty_before: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError> {
        let mut state = self.state()?;
        let empty = state
            .throttle
            .iter()
            .filter(|(_, empty_at)| **empty_at < empty_before);
        let removed: Vec<[u8; 32]> = empty.map(|(bucket, _)| *bucket).take(items(at_most)).collect();
        for bucket in &removed {
            state.throttle.remove(bucket);
        }
        Ok(to_u32(removed.len()))
    }

    async fn remove_audit_events(
        &self,
        before: DateTime<Utc>,
        at_most: u32,
        event: Option<AuditEvent>,
    ) -> Result<u32, RetentionError> {
        let mut state = self.state()?;
        let old = state.events.iter().filter(|event| event.at < before);
        let mut removed: Vec<AuditEventId> = old.map(|event| event.id).collect();
        removed.sort_unstable();
        removed.truncate(items(at_most));
        if !removed.is_empty() {
            state.write(event.into_iter().collect())?;
            state.events.retain(|event| !removed.contains(&event.id));
            for event in &removed {
                state.numbers.remove(*event);
            }
        }
        Ok(to_u32(removed.len()))
    }
}

impl State {
    /// Keys that died before a moment, each with the one that it is next below, if that is kept.
    fn dead_keys(&self, dead_before: DateTime<Utc>, at_most: u32) -> HashMap<ApiKeyId, Option<ApiKeyId>> {
        let keys = self.keys.iter().map(|stored| &stored.key);
        let dead = keys.filter(|key| {
            let membership = self.membership(key.consumer_id);
            let since = membership.and_then(|membership| key.dead_since(membership.end));
            since.is_some_and(|since| since < dead_before)
        });
        self.with_parents(dead.take(items(at_most)))
    }

    /// The same of surplus keys.
    fn surplus_keys(&self, surplus: SurplusKeys, at_most: u32) -> HashMap<ApiKeyId, Option<ApiKeyId>> {
        let of_consumer = |(key, _): &(&ApiKey, _)| key.consumer_id == surplus.consumer;
        let mut ended: Vec<(&ApiKey, DateTime<Utc>)> = self.ended_keys().filter(of_consumer).collect();
        ended.sort_by_key(|(key, at)| (Reverse(*at), key.id));
        let beyond = ended.into_iter().skip(items(surplus.kept));
        let old = beyond.filter(|(key, at)| *at < surplus.before && key.created_at < surplus.before);
        self.with_parents(old.map(|(key, _)| key).take(items(at_most)))
    }

    /// Keys with a recorded end of their own, and when that was.
    fn ended_keys(&self) -> impl Iterator<Item = (&ApiKey, DateTime<Utc>)> {
        let keys = self.keys.iter().map(|stored| &stored.key);
        keys.filter_map(|key| Some((key, key.dead_since(None)?)))
    }

    fn with_parents<'k>(
        &self,
        keys: impl Iterator<Item = &'k ApiKey>,
    ) -> HashMap<ApiKeyId, Option<ApiKeyId>> {
        let is_kept = |id| self.keys.iter().any(|stored| stored.key.id == id);
        keys.map(|key| (key.id, key.effective_parent().filter(|above| is_kept(*above))))
            .collect()
    }

    /// Removes keys, and gives their children the nearest one above that stays.
    fn remove_keys(&mut self, removed: &HashMap<ApiKeyId, Option<ApiKeyId>>) -> u32 {
        self.keys.retain(|stored| !removed.contains_key(&stored.key.id));
        for stored in &mut self.keys {
            let mut above = stored.key.effective_parent();
            while let Some(next) = above.and_then(|id| removed.get(&id)) {
                above = *next;
                stored.key.adoptive_parent_id = above.or(stored.key.adoptive_parent_id);
            }
        }
        to_u32(removed.len())
    }
}

fn remove<T>(things: &mut Vec<T>, at_most: u32, is_over: impl Fn(&T) -> bool) -> u32 {
    let before = things.len();
    let mut left = at_most;
    things.retain(|thing| {
        let goes = left > 0 && is_over(thing);
        left -= u32::from(goes);
        !goes
    });
    to_u32(before - things.len())
}

fn items(at_most: u32) -> usize {
    usize::try_from(at_most).unwrap_or(usize::MAX)
}
