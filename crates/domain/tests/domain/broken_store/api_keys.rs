use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use keyward_domain::api_key::{
    ApiKey, CannotExtendLife, Expiry, ExpiryChange, InvalidExpiry, KeyEdit, KeyPrecondition, Origin,
    RevocationCause,
};
use keyward_domain::audit::{Act, Action, Actor, Subject};
use keyward_domain::holder::KeyReach;
use keyward_domain::id::{ApiKeyId, MembershipId, UserId};
use keyward_domain::keys::IdempotencyKey;
use keyward_domain::page::{Page, PageRequest, PageSize};
use keyward_domain::ports::{
    AddKeyError, ApiKeys, AuditLog, DescendantKeys, EditKeyError, KeyFilter, KeyLimit, KeyLimits, NewApiKey,
    NewRotation, RevokeKeyError, RotateKeyError, StatusFilter, StorageError,
};
use keyward_domain::rate::{Rate, Throttled};

use super::{BrokenStore, Fault, List, Secret, lock, pause};

/// More changes than any case makes.
const UNLIMITED: Rate = Rate::new(100_000, TimeDelta::milliseconds(1));

impl BrokenStore {
    /// Since when keys leaked that are listed.
    pub(super) fn leaks_since(&self, since: DateTime<Utc>) -> DateTime<Utc> {
        match self.fault {
            Fault::ListsOldLeaks => since - TimeDelta::days(1),
            _ => since,
        }
    }
}

#[async_trait]
impl ApiKeys for BrokenStore {
    async fn add(&self, new: NewApiKey, limits: KeyLimits, act: Act) -> Result<ApiKey, AddKeyError> {
        let mut new = new;
        let consumer = new.key.consumer_id;
        new.idempotency_key = self.idempotency_key(new.idempotency_key);
        if self.fault == Fault::LetsEveryKeyManageKeys && !new.key.can_manage_keys {
            lock(&self.restricted).insert(new.key.id);
            new.key.can_manage_keys = true;
        }
        lock(&self.consumers).insert(new.key.id, consumer);
        lock(&self.digests).insert(new.key.id, new.digest);
        self.keep_digest(Secret::Token, new.digest.as_bytes());
        if matches!(
            self.fault,
            Fault::CountsKeysBeforeTransaction | Fault::ChecksKeyLimitFirst
        ) && self.count_valid(consumer, act.at).await? >= limits.valid.0 as usize
        {
            return Err(AddKeyError::LimitReached(limits.valid));
        }
        if self.fault == Fault::CountsKeysBeforeTransaction {
            pause().await;
            let valid = KeyLimit(u32::MAX);
            return self.sound.add(new, KeyLimits { valid, ..limits }, act).await;
        }
        if self.fault == Fault::ChecksAddingKeyBeforeTransaction
            && let Some(parent) = new.key.parent()
        {
            return self.add_below(parent, new, limits, act).await;
        }
        if self.fault == Fault::ChecksAddingMemberBeforeTransaction
            && self.is_member_beforehand(consumer, act.actor, act.at).await?
        {
            let late = new.key.clone();
            return match self.sound.add(new, limits, act).await {
                Err(AddKeyError::HolderGone) => Ok(self.keep_late(late)),
                answer => answer,
            };
        }
        if self.fault == Fault::CountsRotatedKeysInChains
            && self.count_chain(&new.key, act.at).await? >= ApiKey::MAX_TREE_DEPTH
        {
            return Err(AddKeyError::TreeTooDeep);
        }
        let changes = self
            .rate(consumer, limits.changes, act.at)
            .await
            .map_err(AddKeyError::Throttled)?;
        let limits = KeyLimits { changes, ..limits };
        let act = self.as_timed(act);
        let late = new.key.clone();
        match self.sound.add(new, limits, act).await {
            Err(AddKeyError::TreeTooDeep) if self.fault == Fault::IgnoresMaxTreeDepth => {
                Ok(self.keep_late(late))
            }
            Err(AddKeyError::InvalidExpiry(InvalidExpiry::LongerThanAllowed(_)))
                if self.fault == Fault::IgnoresLongestLife =>
            {
                Ok(self.keep_late(late))
            }
            added => Ok(self.as_told(added?)),
        }
    }

    async fn find(&self, consumer: MembershipId, id: ApiKeyId) -> Result<Option<ApiKey>, StorageError> {
        let consumer = self.owner(consumer, id, Fault::FindsAnyConsumersKey);
        let found = ApiKeys::find(&self.sound, consumer, id).await?;
        Ok(found.map(|key| self.as_read(key)))
    }

    async fn find_many(&self, consumer: MembershipId, ids: &[ApiKeyId]) -> Result<Vec<ApiKey>, StorageError> {
        let owner = |id: &ApiKeyId| self.owner(consumer, *id, Fault::FindsAnyConsumersKey);
        let consumer = ids.first().map_or(consumer, owner);
        let found = ApiKeys::find_many(&self.sound, consumer, ids).await?;
        Ok(found.into_iter().map(|key| self.as_read(key)).collect())
    }

    async fn leaked_since(
        &self,
        consumer: MembershipId,
        since: DateTime<Utc>,
        size: PageSize,
    ) -> Result<Vec<ApiKey>, StorageError> {
        let since = self.leaks_since(since);
        let leaked = ApiKeys::leaked_since(&self.sound, consumer, since, size).await?;
        Ok(leaked.into_iter().map(|key| self.as_read(key)).collect())
    }

    async fn list(
        &self,
        consumer: MembershipId,
        filter: KeyFilter,
        page: PageRequest<ApiKeyId>,
        now: DateTime<Utc>,
    ) -> Result<Page<ApiKey, ApiKeyId>, StorageError> {
        let now = self.asked_about(List::Keys, now);
        let filter = match filter.term() {
            Some(term) if self.fault == Fault::TreatsPercentSignsAsWildcards && term.contains('%') => {
                KeyFilter::new(filter.status(), Some(&term.replace('%', "")))
            }
            Some(term) if self.fault == Fault::FindsHintsByLastFourCharacters => {
                KeyFilter::new(filter.status(), Some(term))
            }
            Some(_) | None => filter,
        };
        let filter = match self.fault {
            Fault::IgnoresPlannedEndFilter => filter.expiring_before(None),
            _ => filter,
        };
        let is_filtered = filter != KeyFilter::default();
        let ask = |page| ApiKeys::list(&self.sound, consumer, filter, page, now);
        let Page { items, next } = self.page(List::Keys, is_filtered, page, ask).await?;
        let mut items: Vec<ApiKey> = items.into_iter().map(|key| self.as_read(key)).collect();
        self.show_late(consumer, &mut items);
        Ok(Page { items, next })
    }

    async fn valid_descendants(
        &self,
        consumer: MembershipId,
        id: ApiKeyId,
        now: DateTime<Utc>,
    ) -> Result<Vec<ApiKey>, StorageError> {
        let now = self.asked_about(List::Keys, now);
        let mut found = self.sound.valid_descendants(consumer, id, now).await?;
        let parents = lock(&self.parents).clone();
        for (child, parent) in parents {
            let is_below = parent == id || found.iter().any(|key| key.id == parent);
            if is_below && let Some(key) = ApiKeys::find(&self.sound, consumer, child).await? {
                found.push(key);
            }
        }
        found.sort_by_key(|key| std::cmp::Reverse(key.id));
        Ok(found.into_iter().map(|key| self.as_read(key)).collect())
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
        let early = self.fault == Fault::ChecksEditingKeyBeforeTransaction;
        let actor = self.actor(early, consumer, id, act.actor, act.at).await?;
        let mut act = self.as_timed(act);
        act.actor = actor.ok_or(EditKeyError::HolderGone)?;
        let before = ApiKeys::find(&self.sound, consumer, id).await?;
        let as_member = self.fault == Fault::ChecksEditingMemberBeforeTransaction
            && self.is_member_beforehand(consumer, act.actor, act.at).await?;
        let asked = edit.clone();
        let edit = match &before {
            Some(before) if self.fault == Fault::LosesConcurrentEdits => {
                pause().await;
                let mut whole = edit;
                whole.name.get_or_insert_with(|| before.name.clone());
                whole
                    .description
                    .get_or_insert_with(|| before.description.clone());
                let end = before.revocation.as_ref().map(|planned| planned.end.at());
                let end = end.and_then(|end| Expiry::new(end, act.at).ok());
                whole
                    .expiry
                    .get_or_insert(end.map_or(ExpiryChange::Remove, ExpiryChange::Set));
                whole
            }
            Some(_) | None => edit,
        };
        let precondition = self
            .precondition(consumer, id, precondition)
            .await?
            .ok_or(EditKeyError::PreconditionFailed)?;
        let changes = match self.fault {
            Fault::IgnoresRateLimitOfEdits => UNLIMITED,
            _ => self
                .rate(consumer, changes, act.at)
                .await
                .map_err(EditKeyError::Throttled)?,
        };
        if self.fault == Fault::LetsKeysExtendThemselves
            && let Some(before) = &before
            && act.actor.api_key() == Some(id)
        {
            act.actor = before.origin.actor();
        }
        if self.fault == Fault::RefusesNewEndsOfRotatedKeys
            && edit.expiry.is_some()
            && before.as_ref().is_some_and(|before| before.rotated_to.is_some())
        {
            return Err(CannotExtendLife::OfRotatedKey.into());
        }
        let omits_event = self.fault == Fault::OmitsEditEventIfEndChanges && edit.expiry.is_some();
        let edit = match omits_event {
            true => KeyEdit {
                expiry: edit.expiry,
                ..KeyEdit::default()
            },
            false => edit,
        };
        let edited = self
            .sound
            .edit(consumer, id, edit, precondition, changes, act.clone());
        let after = match (edited.await, &before) {
            (Err(EditKeyError::HolderGone), Some(before)) if as_member => {
                self.edit_late(before, &asked, act.actor)
            }
            (Err(EditKeyError::CannotExtendLife(CannotExtendLife::BeyondLongestLife(_))), Some(before))
                if self.fault == Fault::IgnoresLongestLife =>
            {
                self.edit_late(before, &asked, act.actor)
            }
            (Ok(after), _) if omits_event => self.edit_late(&after, &asked, act.actor),
            (after, _) => after?,
        };
        if self.fault == Fault::WritesEventsOfIneffectiveEdits && before.as_ref() == Some(&after) {
            let event = act.event(Action::EditApiKey, Subject::ApiKey(id));
            AuditLog::record(&self.sound, event).await?;
        }
        Ok(self.as_read(after))
    }

    async fn rotate(&self, new: NewRotation, changes: Rate, act: Act) -> Result<ApiKey, RotateKeyError> {
        let (mut new, mut act) = (new, act);
        new.idempotency_key = self.idempotency_key(new.idempotency_key);
        let changes = match self.fault {
            Fault::IgnoresRateLimitOfRotations => UNLIMITED,
            _ => changes,
        };
        let is_in_person = match (self.fault, act.actor.api_key()) {
            (Fault::LetsEveryKeyRotate, acting) => acting.is_some(),
            (Fault::IgnoresMaxTreeDepth, acting) => acting.is_some_and(|acting| acting != new.old_key),
            _ => false,
        };
        if is_in_person {
            act.actor = Actor::Administrator;
        }
        let consumer = new.consumer_id;
        if self.fault == Fault::ChecksRotatingKeyBeforeTransaction
            && let Some(acting) = act.actor.api_key()
            && self.reach_beforehand(consumer, acting, act.at).await? == Some(KeyReach::All)
        {
            act.actor = Actor::Administrator;
        }
        let as_member = self.fault == Fault::ChecksRotatingMemberBeforeTransaction
            && self.is_member_beforehand(consumer, act.actor, act.at).await?;
        let old = ApiKeys::find(&self.sound, consumer, new.old_key).await?;
        let act = self.as_timed(act);
        let successor = old.as_ref().and_then(|old| old.rotated_to);
        if let Some(successor) = successor.filter(|_| self.fault == Fault::RotatesEachKeyOnce) {
            return Err(RotateKeyError::AlreadyRotated(successor));
        }
        let is_unreplaced = self.fault == Fault::ReadsSuccessorsBeforeTransaction
            && !self.has_live_successor(old.as_ref(), act.at).await?;
        match (self.sound.rotate(new.clone(), changes, act.clone()).await, old) {
            (Err(RotateKeyError::AlreadyRotated(_)), Some(old)) if is_unreplaced => {
                self.rotate_late(old, &new, &act)
            }
            (Err(RotateKeyError::HolderGone), Some(old)) if as_member => self.rotate_late(old, &new, &act),
            (Err(RotateKeyError::InvalidExpiry(InvalidExpiry::LongerThanAllowed(_))), Some(old))
                if self.fault == Fault::IgnoresLongestLife =>
            {
                self.rotate_late(old, &new, &act)
            }
            (successor, _) => Ok(self.as_read(successor?)),
        }
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
        let found = ApiKeys::find(&self.sound, consumer, id).await?;
        if self.fault == Fault::LeavesDueEndsOfRevokedKeys
            && found.is_some_and(|key| key.end().is_some_and(|end| end.is_due(act.at)))
        {
            return Ok(Vec::new());
        }
        let (mut act, who) = (act.clone(), act.actor);
        let early = self.fault == Fault::ChecksRevokingKeyBeforeTransaction;
        let actor = self.actor(early, consumer, id, who, act.at).await?;
        act.actor = actor.ok_or(RevokeKeyError::HolderGone)?;
        let consumer = self.owner(consumer, id, Fault::RevokesAnyConsumersKey);
        let revoked = if let Some(targets) = self.targets(consumer, id, descendants, act.at).await? {
            pause().await;
            self.revoke_one_by_one(consumer, targets, &cause, &act).await?
        } else {
            let precondition = self
                .precondition(consumer, id, precondition)
                .await?
                .ok_or(RevokeKeyError::PreconditionFailed)?;
            let revoked = self
                .sound
                .revoke(consumer, id, cause, descendants, precondition, act);
            revoked.await?
        };
        self.were_revoked_by(who, &revoked);
        Ok(revoked)
    }
}

impl BrokenStore {
    /// An edit that the sound store has refused.
    fn edit_late(&self, key: &ApiKey, edit: &KeyEdit, by: Actor) -> ApiKey {
        let mut late = key.clone();
        let _ = late.apply(edit, None, None, by);
        self.keep_late(late)
    }

    /// A rotation that the sound store has refused.
    fn rotate_late(&self, key: ApiKey, new: &NewRotation, act: &Act) -> Result<ApiKey, RotateKeyError> {
        let mut late = key;
        Ok(self.keep_late(late.rotate(new, None, None, act)?))
    }

    /// Whether this key's successor is valid now. Other tasks run before this returns.
    async fn has_live_successor(
        &self,
        key: Option<&ApiKey>,
        at: DateTime<Utc>,
    ) -> Result<bool, StorageError> {
        let Some((key, successor)) = key.and_then(|key| Some((key, key.rotated_to?))) else {
            return Ok(false);
        };
        let successor = ApiKeys::find(&self.sound, key.consumer_id, successor).await?;
        pause().await;
        Ok(successor.is_some_and(|successor| successor.is_valid(at)))
    }

    /// The idempotency key that is passed to the sound store.
    fn idempotency_key(&self, given: Option<IdempotencyKey>) -> Option<IdempotencyKey> {
        let without_request = |given: IdempotencyKey| IdempotencyKey::parse(&given.to_string()).ok();
        match self.fault {
            Fault::IgnoresIdempotencyKeysOfKeys => None,
            Fault::IgnoresRequestDigests => given.and_then(without_request),
            _ => given,
        }
    }

    /// The key's consumer if the store has this fault, which ignores the given one; else the given one.
    fn owner(&self, given: MembershipId, id: ApiKeyId, negligent: Fault) -> MembershipId {
        if self.fault == negligent {
            lock(&self.consumers).get(&id).copied().unwrap_or(given)
        } else {
            given
        }
    }

    /// The actor that is passed to the sound store: not the acting key, if the fault is to allow it, or to
    /// check it before the transaction.
    async fn actor(
        &self,
        early: bool,
        consumer: MembershipId,
        id: ApiKeyId,
        actor: Actor,
        at: DateTime<Utc>,
    ) -> Result<Option<Actor>, StorageError> {
        let Some(key) = actor.api_key() else {
            return Ok(Some(actor));
        };
        if self.fault == Fault::LetsRevokedKeysAct {
            return Ok(Some(Actor::Administrator));
        }
        if !early {
            return Ok(Some(actor));
        }
        let reach = self.reach_beforehand(consumer, key, at).await?;
        Ok(reach.map(|reach| {
            if reach.includes(id) {
                Actor::Administrator
            } else {
                actor
            }
        }))
    }

    /// Adds a key below one that was valid before the transaction, whether it still is or not.
    async fn add_below(
        &self,
        parent: ApiKeyId,
        new: NewApiKey,
        limits: KeyLimits,
        act: Act,
    ) -> Result<ApiKey, AddKeyError> {
        let consumer = new.key.consumer_id;
        match self.reach_beforehand(consumer, parent, act.at).await? {
            None => return Err(AddKeyError::HolderGone),
            Some(KeyReach::Only(_)) => return Err(AddKeyError::MayNotManageKeys),
            Some(KeyReach::All) => {}
        }
        match self.sound.add(new.clone(), limits, act.clone()).await {
            Err(AddKeyError::HolderGone) => {
                let mut new = new;
                lock(&self.parents).insert(new.key.id, parent);
                new.key.origin = Origin::Console(UserId::from_uuid(parent.as_uuid()));
                Ok(self.as_told(self.sound.add(new, limits, act).await?))
            }
            answer => answer,
        }
    }

    /// The rate that is passed to the sound store: unlimited, if the fault is to check it before the
    /// transaction.
    async fn rate(&self, consumer: MembershipId, rate: Rate, at: DateTime<Utc>) -> Result<Rate, Throttled> {
        if self.fault != Fault::ReadsRateLimitBeforeTransaction {
            return Ok(rate);
        }
        let empty_at = lock(&self.changes).get(&consumer).copied();
        pause().await;
        let empty_at = rate.admit(empty_at, at)?;
        lock(&self.changes).insert(consumer, empty_at);
        Ok(UNLIMITED)
    }

    /// The precondition that is passed to the sound store: any version, if the fault is to compare versions
    /// too early or never. `None` if an early comparison failed.
    async fn precondition(
        &self,
        consumer: MembershipId,
        id: ApiKeyId,
        given: KeyPrecondition,
    ) -> Result<Option<KeyPrecondition>, StorageError> {
        match self.fault {
            Fault::IgnoresPreconditions => Ok(Some(KeyPrecondition::AnyVersion)),
            Fault::ComparesVersionsBeforeTransaction => {
                let key = ApiKeys::find(&self.sound, consumer, id).await?;
                pause().await;
                Ok(key
                    .is_none_or(|key| given.is_met_by(&key))
                    .then_some(KeyPrecondition::AnyVersion))
            }
            _ => Ok(Some(given)),
        }
    }

    /// The number of valid ancestors of a new key; rotated keys and their successors count separately.
    async fn count_chain(&self, new: &ApiKey, at: DateTime<Utc>) -> Result<u32, StorageError> {
        let (mut valid, mut next) = (0, new.parent());
        while let Some(id) = next {
            let found = ApiKeys::find(&self.sound, new.consumer_id, id).await?;
            valid += u32::from(found.as_ref().is_some_and(|key| key.is_valid(at)));
            next = found.and_then(|key| key.effective_parent());
        }
        Ok(valid)
    }

    async fn count_valid(&self, consumer: MembershipId, now: DateTime<Utc>) -> Result<usize, StorageError> {
        let request = PageRequest::first(PageSize::DEFAULT);
        let filter = KeyFilter::new(StatusFilter::Valid, None);
        let page = ApiKeys::list(&self.sound, consumer, filter, request, now);
        Ok(page.await?.items.len())
    }
}
