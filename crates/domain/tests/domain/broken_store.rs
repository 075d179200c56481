//! A store with one fault, of the kinds that adapters really have.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use keyward_domain::access::Credential;
use keyward_domain::api_key::{ApiKey, KeyEdit, KeyPrecondition, RevocationReason};
use keyward_domain::audit::{Act, Action, Actor, AuditEvent};
use keyward_domain::id::{ApiKeyId, ConsumerId, OrganizationId};
use keyward_domain::page::{Page, PageRequest, PageSize};
use keyward_domain::ports::{
    AddKeyError, ApiKeys, AuditFilter, AuditLog, AuditPosition, Credentials, DescendantKeys, EditKeyError,
    KeyFilter, KeyLimit, KeyLimits, NewApiKey, RevokeKeyError, StatusFilter, StorageError,
};
use keyward_domain::rate::{Rate, Throttled};
use keyward_domain::sign_in::ports::{FullBucket, SignInThrottle};
use keyward_domain::sign_in::throttle::ThrottleBucket;
use keyward_domain::testing::MemoryStore;
use keyward_domain::testing::conformance::{KeyStores, Stores};
use keyward_domain::token::TokenDigest;

use crate::memory_store::ON_TOKIO;

/// What is wrong with the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    FindsAnyConsumersKey,
    RevokesAnyConsumersKey,
    ForgetsEventsOf(Action),
    TellsOfEditsThatChangeNothing,
    CountsKeysBeforeTheTransaction,
    ChecksTheLimitFirst,
    CountsNoEdits,
    ReadsTheRateBeforeTheTransaction,
    WritesBackTheWholeKey,
    LetsRevokedKeysAct,
    LetsEveryKeyManageKeys,
    ChecksWhoActsBeforeTheTransaction,
    LooksForDescendantsBeforeTheTransaction,
    TakesPercentSignsForWildcards,
    TakesEveryVersion,
    ComparesVersionsBeforeTheTransaction,
    RemembersCredentials,
    ReadsTheThrottleBeforeTheTransaction,
    TakesFromTheBucketsBeforeAFullOne,
}

/// A [`MemoryStore`] with a fault before it.
pub(crate) struct BrokenStore {
    fault: Fault,
    sound: MemoryStore,
    restricted: Mutex<HashSet<ApiKeyId>>,
    consumers: Mutex<HashMap<ApiKeyId, ConsumerId>>,
    credentials: Mutex<Vec<(TokenDigest, Credential)>>,
    buckets: Mutex<HashMap<[u8; 32], DateTime<Utc>>>,
    changes: Mutex<HashMap<ConsumerId, DateTime<Utc>>>,
}

/// More changes than any case makes.
const UNLIMITED: Rate = Rate::new(100_000, TimeDelta::milliseconds(1));

impl BrokenStore {
    pub(crate) fn stores(fault: Fault) -> Stores {
        let sound = MemoryStore::new();
        let broken = Arc::new(Self {
            fault,
            sound: sound.clone(),
            restricted: Mutex::default(),
            consumers: Mutex::default(),
            credentials: Mutex::default(),
            buckets: Mutex::default(),
            changes: Mutex::default(),
        });
        let sound = Arc::new(sound);
        let stores = Stores::of(Arc::clone(&sound), sound, ON_TOKIO);
        Stores {
            keys: KeyStores {
                api_keys: Arc::clone(&broken) as _,
                credentials: Arc::clone(&broken) as _,
                audit_log: Arc::clone(&broken) as _,
                ..stores.keys
            },
            throttle: broken,
            ..stores
        }
    }

    /// Whose key it really is, where the fault is not to ask.
    fn owner(&self, given: ConsumerId, id: ApiKeyId, negligent: Fault) -> ConsumerId {
        if self.fault == negligent {
            lock(&self.consumers).get(&id).copied().unwrap_or(given)
        } else {
            given
        }
    }

    /// Who the sound store is told acts: not the key, where the fault is to let it.
    async fn actor(&self, consumer: ConsumerId, actor: Actor) -> Result<Option<Actor>, StorageError> {
        match (self.fault, actor.api_key()) {
            (Fault::LetsRevokedKeysAct, Some(_)) => Ok(Some(Actor::Administrator)),
            (Fault::ChecksWhoActsBeforeTheTransaction, Some(key)) => {
                let acting = ApiKeys::find(&self.sound, consumer, key).await?;
                tokio::task::yield_now().await;
                Ok(acting
                    .is_some_and(|key| key.is_valid())
                    .then_some(Actor::Administrator))
            }
            (_, _) => Ok(Some(actor)),
        }
    }

    /// The rate that the sound store is told, where the fault is to have decided by then.
    async fn rate(&self, consumer: ConsumerId, rate: Rate, at: DateTime<Utc>) -> Result<Rate, Throttled> {
        if self.fault != Fault::ReadsTheRateBeforeTheTransaction {
            return Ok(rate);
        }
        let empty_at = lock(&self.changes).get(&consumer).copied();
        tokio::task::yield_now().await;
        let empty_at = rate.take(empty_at, at)?;
        lock(&self.changes).insert(consumer, empty_at);
        Ok(UNLIMITED)
    }

    /// The key as it was asked for, where the fault is to keep that and not to follow it.
    fn as_told(&self, key: ApiKey) -> ApiKey {
        let can_manage_keys = key.can_manage_keys && !lock(&self.restricted).contains(&key.id);
        ApiKey {
            can_manage_keys,
            ..key
        }
    }

    /// What the sound store is told of versions: nothing, where the fault is to compare them too early or never.
    async fn precondition(
        &self,
        consumer: ConsumerId,
        id: ApiKeyId,
        given: KeyPrecondition,
    ) -> Result<Option<KeyPrecondition>, StorageError> {
        match self.fault {
            Fault::TakesEveryVersion => Ok(Some(KeyPrecondition::AnyVersion)),
            Fault::ComparesVersionsBeforeTheTransaction => {
                let key = ApiKeys::find(&self.sound, consumer, id).await?;
                tokio::task::yield_now().await;
                Ok(key
                    .is_none_or(|key| given.is_met_by(&key))
                    .then_some(KeyPrecondition::AnyVersion))
            }
            _ => Ok(Some(given)),
        }
    }

    async fn count_valid(&self, consumer: ConsumerId) -> Result<usize, StorageError> {
        let request = PageRequest {
            size: PageSize::DEFAULT,
            after: None,
        };
        let filter = KeyFilter::new(StatusFilter::Valid, None);
        let page = ApiKeys::list(&self.sound, consumer, filter, request);
        Ok(page.await?.items.len())
    }
}

#[async_trait]
impl ApiKeys for BrokenStore {
    async fn add(&self, new: NewApiKey, limits: KeyLimits, act: Act) -> Result<ApiKey, AddKeyError> {
        let mut new = new;
        let consumer = new.key.consumer_id;
        if self.fault == Fault::LetsEveryKeyManageKeys && !new.key.can_manage_keys {
            lock(&self.restricted).insert(new.key.id);
            new.key.can_manage_keys = true;
        }
        lock(&self.consumers).insert(new.key.id, consumer);
        if matches!(
            self.fault,
            Fault::CountsKeysBeforeTheTransaction | Fault::ChecksTheLimitFirst
        ) && self.count_valid(consumer).await? >= limits.valid.0 as usize
        {
            return Err(AddKeyError::LimitReached);
        }
        if self.fault == Fault::CountsKeysBeforeTheTransaction {
            tokio::task::yield_now().await;
            let valid = KeyLimit(u32::MAX);
            return self.sound.add(new, KeyLimits { valid, ..limits }, act).await;
        }
        let changes = self
            .rate(consumer, limits.changes, act.at)
            .await
            .map_err(AddKeyError::Throttled)?;
        let limits = KeyLimits { changes, ..limits };
        Ok(self.as_told(self.sound.add(new, limits, act).await?))
    }

    async fn find(&self, consumer: ConsumerId, id: ApiKeyId) -> Result<Option<ApiKey>, StorageError> {
        let consumer = self.owner(consumer, id, Fault::FindsAnyConsumersKey);
        let found = ApiKeys::find(&self.sound, consumer, id).await?;
        Ok(found.map(|key| self.as_told(key)))
    }

    async fn find_many(&self, consumer: ConsumerId, ids: &[ApiKeyId]) -> Result<Vec<ApiKey>, StorageError> {
        let owner = |id: &ApiKeyId| self.owner(consumer, *id, Fault::FindsAnyConsumersKey);
        self.sound
            .find_many(ids.first().map_or(consumer, owner), ids)
            .await
    }

    async fn list(
        &self,
        consumer: ConsumerId,
        filter: KeyFilter,
        page: PageRequest<ApiKeyId>,
    ) -> Result<Page<ApiKey, ApiKeyId>, StorageError> {
        let filter = match filter.term() {
            Some(term) if self.fault == Fault::TakesPercentSignsForWildcards => {
                KeyFilter::new(filter.status(), Some(&term.replace('%', "")))
            }
            Some(_) | None => filter,
        };
        ApiKeys::list(&self.sound, consumer, filter, page).await
    }

    async fn valid_descendants(
        &self,
        consumer: ConsumerId,
        id: ApiKeyId,
    ) -> Result<Vec<ApiKey>, StorageError> {
        self.sound.valid_descendants(consumer, id).await
    }

    async fn edit(
        &self,
        consumer: ConsumerId,
        id: ApiKeyId,
        edit: KeyEdit,
        precondition: KeyPrecondition,
        changes: Rate,
        event: AuditEvent,
    ) -> Result<ApiKey, EditKeyError> {
        let actor = self.actor(consumer, event.actor).await?;
        let event = AuditEvent {
            actor: actor.ok_or(EditKeyError::HolderGone)?,
            ..event
        };
        let before = ApiKeys::find(&self.sound, consumer, id)
            .await?
            .ok_or(EditKeyError::NotFound)?;
        let edit = if self.fault == Fault::WritesBackTheWholeKey {
            tokio::task::yield_now().await;
            KeyEdit {
                name: Some(edit.name.unwrap_or_else(|| before.name.clone())),
                description: Some(edit.description.unwrap_or_else(|| before.description.clone())),
            }
        } else {
            edit
        };
        let precondition = self
            .precondition(consumer, id, precondition)
            .await?
            .ok_or(EditKeyError::PreconditionFailed)?;
        let changes = match self.fault {
            Fault::CountsNoEdits => UNLIMITED,
            _ => self
                .rate(consumer, changes, event.at)
                .await
                .map_err(EditKeyError::Throttled)?,
        };
        let edited = self
            .sound
            .edit(consumer, id, edit, precondition, changes, event.clone());
        let after = edited.await?;
        if self.fault == Fault::TellsOfEditsThatChangeNothing && after == before {
            self.sound.record(event).await?;
        }
        Ok(self.as_told(after))
    }

    async fn revoke(
        &self,
        consumer: ConsumerId,
        id: ApiKeyId,
        reason: RevocationReason,
        descendants: DescendantKeys,
        precondition: KeyPrecondition,
        act: Act,
    ) -> Result<Vec<ApiKeyId>, RevokeKeyError> {
        let actor = self.actor(consumer, act.actor).await?;
        let mut act = act;
        act.actor = actor.ok_or(RevokeKeyError::HolderGone)?;
        let consumer = self.owner(consumer, id, Fault::RevokesAnyConsumersKey);
        if self.fault != Fault::LooksForDescendantsBeforeTheTransaction || descendants == DescendantKeys::Keep
        {
            let precondition = self
                .precondition(consumer, id, precondition)
                .await?
                .ok_or(RevokeKeyError::PreconditionFailed)?;
            let revoked = self
                .sound
                .revoke(consumer, id, reason, descendants, precondition, act);
            return revoked.await;
        }
        let mut targets = vec![id];
        let found = self.sound.valid_descendants(consumer, id).await?;
        targets.extend(found.into_iter().map(|key| key.id));
        tokio::task::yield_now().await;
        let mut revoked = Vec::new();
        for target in targets {
            let one = self.sound.revoke(
                consumer,
                target,
                reason,
                DescendantKeys::Keep,
                KeyPrecondition::AnyVersion,
                act.clone(),
            );
            revoked.extend(one.await?);
        }
        Ok(revoked)
    }
}

#[async_trait]
impl Credentials for BrokenStore {
    async fn find(&self, digest: &TokenDigest) -> Result<Option<Credential>, StorageError> {
        if self.fault == Fault::RemembersCredentials {
            let remembered = lock(&self.credentials)
                .iter()
                .find(|(known, _)| known == digest)
                .cloned();
            if let Some((_, credential)) = remembered {
                return Ok(Some(credential));
            }
        }
        let found = Credentials::find(&self.sound, digest).await?;
        if let Some(credential) = &found {
            lock(&self.credentials).push((*digest, credential.clone()));
        }
        Ok(found)
    }
}

#[async_trait]
impl AuditLog for BrokenStore {
    async fn record(&self, event: AuditEvent) -> Result<(), StorageError> {
        self.sound.record(event).await
    }

    async fn list(
        &self,
        organization: Option<OrganizationId>,
        filter: AuditFilter,
        page: PageRequest<AuditPosition>,
    ) -> Result<Page<AuditEvent, AuditPosition>, StorageError> {
        let mut page = AuditLog::list(&self.sound, organization, filter, page).await?;
        // To whoever reads the log, an event that is not shown was never written.
        page.items
            .retain(|event| self.fault != Fault::ForgetsEventsOf(event.action));
        Ok(page)
    }
}

#[async_trait]
impl SignInThrottle for BrokenStore {
    async fn take(
        &self,
        buckets: Vec<ThrottleBucket>,
        now: DateTime<Utc>,
    ) -> Result<Option<FullBucket>, StorageError> {
        match self.fault {
            Fault::ReadsTheThrottleBeforeTheTransaction => {
                self.take_what_was_read_before(&buckets, now).await
            }
            Fault::TakesFromTheBucketsBeforeAFullOne => {
                for bucket in buckets {
                    let full = self.sound.take(vec![bucket], now).await?;
                    if full.is_some() {
                        return Ok(full);
                    }
                }
                Ok(None)
            }
            _ => self.sound.take(buckets, now).await,
        }
    }

    async fn give_back(&self, buckets: Vec<ThrottleBucket>) -> Result<(), StorageError> {
        for bucket in &buckets {
            if let Some(empty_at) = lock(&self.buckets).get_mut(bucket.as_bytes()) {
                *empty_at = bucket.give_back(*empty_at);
            }
        }
        self.sound.give_back(buckets).await
    }
}

impl BrokenStore {
    async fn take_what_was_read_before(
        &self,
        buckets: &[ThrottleBucket],
        now: DateTime<Utc>,
    ) -> Result<Option<FullBucket>, StorageError> {
        for bucket in buckets {
            let empty_at = lock(&self.buckets).get(bucket.as_bytes()).copied();
            tokio::task::yield_now().await;
            match bucket.take(empty_at, now) {
                Ok(moment) => {
                    lock(&self.buckets).insert(*bucket.as_bytes(), moment);
                }
                Err(throttled) => {
                    let bucket = *bucket;
                    return Ok(Some(FullBucket { bucket, throttled }));
                }
            }
        }
        Ok(None)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
