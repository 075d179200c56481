//! Keys: each method is one transaction.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::api_key::{ApiKey, KeyEdit, KeyPrecondition, Revocation, RevocationCause};
use keyward_domain::audit::{Act, Action, Subject};
use keyward_domain::holder::KeyReach;
use keyward_domain::id::{ApiKeyId, MembershipId};
use keyward_domain::keys::{FirstUse, IdempotencyKey, Repetition, RequestDigest};
use keyward_domain::page::{Page, PageRequest, PageSize};
use keyward_domain::ports::{
    AddKeyError, ApiKeys, DescendantKeys, EditKeyError, KeyFilter, KeyLimits, NewApiKey, NewRotation,
    RevokeKeyError, RotateKeyError, StorageError,
};
use keyward_domain::rate::Rate;
use keyward_domain::token::TokenDigest;
use keyward_domain::validity::End;
use redb::WriteTransaction;

use crate::audit_log;
use crate::columns::Row;
use crate::directory::{chosen_for_new_keys, organization_of};
use crate::key_table::{
    KEYS, Keys, count_change, descendants, find, holder_reach, live_successor, newest_first, put,
    valid_in_chain,
};
use crate::store::{FileStore, failed};
use crate::tables::{CREATED_WITH, KEYS_BY_DIGEST};

#[async_trait]
impl ApiKeys for FileStore {
    async fn add(&self, new: NewApiKey, limits: KeyLimits, act: Act) -> Result<ApiKey, AddKeyError> {
        self.change(move |transaction| {
            let act = act.at_current_time();
            let (consumer, id) = (new.key.consumer_id, new.key.id);
            let mut keys = transaction.open_table(KEYS).map_err(failed)?;
            match holder_reach(transaction, &keys, consumer, new.key.parent(), act.at)? {
                Some(KeyReach::All) => {}
                Some(KeyReach::Only(_)) => return Err(AddKeyError::MayNotManageKeys),
                None => return Err(AddKeyError::HolderGone),
            }
            count_change(transaction, consumer, limits.changes, act.at)?.map_err(AddKeyError::Throttled)?;
            // If one of the next checks refuses the change, this write is rolled back.
            match earlier_use(transaction, consumer, new.idempotency_key, id, act.at)? {
                Some((first, Repetition::Same)) => return Err(AddKeyError::AlreadyCreated(first)),
                Some((_, Repetition::Different)) => return Err(AddKeyError::IdempotencyKeyReused),
                Some((_, Repetition::Forgotten)) | None => {}
            }
            let mut valid = 0;
            for key in newest_first(&keys, consumer, None)? {
                let key = key?;
                // Both count as one.
                let is_rotated = live_successor(&keys, &key, act.at)?.is_some();
                valid += u32::from(key.is_valid(act.at) && !is_rotated);
            }
            if valid >= limits.valid.0 {
                return Err(AddKeyError::LimitReached(limits.valid));
            }
            if valid_in_chain(&keys, consumer, new.key.parent(), act.at)? >= ApiKey::MAX_TREE_DEPTH as usize {
                return Err(AddKeyError::TreeTooDeep);
            }
            new.check_expiry(act.at)?;
            keep_digest(transaction, &keys, &new.key, new.digest)?;
            let mut key = new.key;
            let (manage_keys, longest) = chosen_for_new_keys(transaction, consumer)?;
            key.limit_life(longest)?;
            if new.organization_decides {
                key.can_manage_keys = manage_keys;
            }
            put(&mut keys, &key)?;
            audit_log::write(transaction, &act.creation_of_key(&key))?;
            Ok(key)
        })
        .await
    }

    async fn find(&self, consumer: MembershipId, id: ApiKeyId) -> Result<Option<ApiKey>, StorageError> {
        self.read(move |transaction| find(&transaction.open_table(KEYS).map_err(failed)?, consumer, id))
            .await
    }

    async fn find_many(&self, consumer: MembershipId, ids: &[ApiKeyId]) -> Result<Vec<ApiKey>, StorageError> {
        let ids: BTreeSet<ApiKeyId> = ids.iter().copied().collect();
        self.read(move |transaction| {
            let keys = transaction.open_table(KEYS).map_err(failed)?;
            let found = ids.into_iter().map(|id| find(&keys, consumer, id));
            found.filter_map(Result::transpose).collect()
        })
        .await
    }

    async fn leaked_since(
        &self,
        consumer: MembershipId,
        since: DateTime<Utc>,
        size: PageSize,
    ) -> Result<Vec<ApiKey>, StorageError> {
        self.read(move |transaction| {
            let keys = transaction.open_table(KEYS).map_err(failed)?;
            let mut leaked = newest_first(&keys, consumer, None)?
                .filter(|key| key.as_ref().map_or(true, |key| key.leaked_since(since)))
                .collect::<Result<Vec<_>, _>>()?;
            leaked.sort_by_key(|key| (Reverse(key.end().map(End::at)), key.id));
            leaked.truncate(size.items() + 1);
            Ok(leaked)
        })
        .await
    }

    async fn list(
        &self,
        consumer: MembershipId,
        filter: KeyFilter,
        page: PageRequest<ApiKeyId>,
        now: DateTime<Utc>,
    ) -> Result<Page<ApiKey, ApiKeyId>, StorageError> {
        self.read(move |transaction| {
            let keys = transaction.open_table(KEYS).map_err(failed)?;
            let accepted = newest_first(&keys, consumer, page.after)?
                .filter(|key| key.as_ref().map_or(true, |key| filter.accepts(key, now)))
                .take(page.size.items() + 1)
                .collect::<Result<Vec<_>, _>>()?;
            Ok(Page::from_one_more(accepted, page.size, |key| key.id))
        })
        .await
    }

    async fn valid_descendants(
        &self,
        consumer: MembershipId,
        id: ApiKeyId,
        now: DateTime<Utc>,
    ) -> Result<Vec<ApiKey>, StorageError> {
        self.read(move |transaction| {
            let keys = transaction.open_table(KEYS).map_err(failed)?;
            let mut found = descendants(&keys, consumer, id)?;
            found.retain(|key| key.is_valid(now));
            Ok(found)
        })
        .await
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
        self.change(move |transaction| {
            let act = act.at_current_time();
            let mut keys = transaction.open_table(KEYS).map_err(failed)?;
            let reach = holder_reach(transaction, &keys, consumer, act.actor.api_key(), act.at)?
                .ok_or(EditKeyError::HolderGone)?;
            count_change(transaction, consumer, changes, act.at)?.map_err(EditKeyError::Throttled)?;
            if !reach.includes(id) {
                return Err(EditKeyError::NotFound);
            }
            let mut key = find(&keys, consumer, id)?.ok_or(EditKeyError::NotFound)?;
            if !key.is_valid(act.at) {
                return Err(EditKeyError::Revoked);
            }
            if !precondition.is_met_by(&key) {
                return Err(EditKeyError::PreconditionFailed);
            }
            edit.check(act.at)?;
            let live = live_successor(&keys, &key, act.at)?;
            let (_, longest) = chosen_for_new_keys(transaction, consumer)?;
            for change in key.apply(&edit, live, longest, act.actor)? {
                audit_log::write(transaction, &act.edit_of_key(id, change))?;
            }
            put(&mut keys, &key)?;
            Ok(key)
        })
        .await
    }

    async fn rotate(&self, new: NewRotation, changes: Rate, act: Act) -> Result<ApiKey, RotateKeyError> {
        self.change(move |transaction| {
            let act = act.at_current_time();
            let consumer = new.consumer_id;
            let mut keys = transaction.open_table(KEYS).map_err(failed)?;
            match holder_reach(transaction, &keys, consumer, act.actor.api_key(), act.at)? {
                Some(KeyReach::All) => {}
                Some(KeyReach::Only(_)) => return Err(RotateKeyError::MayNotManageKeys),
                None => return Err(RotateKeyError::HolderGone),
            }
            count_change(transaction, consumer, changes, act.at)?.map_err(RotateKeyError::Throttled)?;
            let mut old = find(&keys, consumer, new.old_key)?.ok_or(RotateKeyError::NotFound)?;
            match earlier_use(transaction, consumer, new.idempotency_key, new.successor, act.at)? {
                Some((first, Repetition::Same)) => return Err(RotateKeyError::AlreadyCreated(first)),
                Some((_, Repetition::Different)) => return Err(RotateKeyError::IdempotencyKeyReused),
                Some((_, Repetition::Forgotten)) | None => {}
            }
            let (live, longest) = (
                live_successor(&keys, &old, act.at)?,
                chosen_for_new_keys(transaction, consumer)?.1,
            );
            let successor = old.rotate(&new, live, longest, &act)?;
            let acting = act.actor.api_key().filter(|acting| *acting != old.id);
            if valid_in_chain(&keys, consumer, acting, act.at)? >= ApiKey::MAX_TREE_DEPTH as usize {
                return Err(RotateKeyError::TreeTooDeep);
            }
            keep_digest(transaction, &keys, &successor, new.digest)?;
            let before = old.rotated_from.map(|id| find(&keys, consumer, id)).transpose()?;
            if let Some(mut before) = before.flatten().filter(|key| key.is_valid(act.at)) {
                before.revocation = Some(Revocation::by_rotation(act.at, act.actor));
                put(&mut keys, &before)?;
                let event = act.event(Action::RevokeApiKey, Subject::ApiKey(before.id));
                audit_log::write(transaction, &event)?;
            }
            put(&mut keys, &old)?;
            put(&mut keys, &successor)?;
            for event in act.rotation_of_key(&old, &successor) {
                audit_log::write(transaction, &event)?;
            }
            Ok(successor)
        })
        .await
    }

    async fn revoke(
        &self,
        consumer: MembershipId,
        id: ApiKeyId,
        cause: RevocationCause,
        descendant_keys: DescendantKeys,
        precondition: KeyPrecondition,
        act: Act,
    ) -> Result<Vec<ApiKeyId>, RevokeKeyError> {
        self.change(move |transaction| {
            let mut keys = transaction.open_table(KEYS).map_err(failed)?;
            let acting_key = act.actor.api_key();
            // A signed-in user may revoke keys even after the membership has ended.
            if acting_key.is_some() {
                let reach = holder_reach(transaction, &keys, consumer, acting_key, act.at)?
                    .ok_or(RevokeKeyError::HolderGone)?;
                if !reach.includes(id) {
                    return Err(RevokeKeyError::NotFound);
                }
            }
            let key = find(&keys, consumer, id)?.ok_or(RevokeKeyError::NotFound)?;
            let is_met = precondition.is_met_by(&key);
            let mut targets = vec![key];
            if descendant_keys == DescendantKeys::Revoke {
                targets.extend(descendants(&keys, consumer, id)?);
            }
            let due = |key: &ApiKey| key.end().is_some_and(|end| end.is_due(act.at));
            let due: Vec<ApiKey> = targets.iter().filter(|key| due(key)).cloned().collect();
            targets.retain(|key| key.is_valid(act.at));
            if !targets.is_empty() && !is_met {
                return Err(RevokeKeyError::PreconditionFailed);
            }
            // A planned end that has come is recorded: from then on, no server accepts the key, even one
            // whose clock is behind.
            for mut key in due {
                key.revocation = key.revocation.map(|revocation| Revocation {
                    end: revocation.end.recorded(act.at),
                    ..revocation
                });
                put(&mut keys, &key)?;
                let organization = organization_of(transaction, consumer)?;
                audit_log::write(
                    transaction,
                    &act.planned_end_of_key(organization, key.id, key.end()),
                )?;
            }
            for key in &mut targets {
                key.revocation = Some(Revocation {
                    end: End::Come(act.at),
                    by: act.actor,
                    reason: cause.reason,
                    note: cause.note.clone(),
                });
                put(&mut keys, key)?;
                let event = act.event(Action::RevokeApiKey, Subject::ApiKey(key.id));
                audit_log::write(transaction, &event)?;
            }
            Ok(targets.into_iter().map(|key| key.id).collect())
        })
        .await
    }
}

impl FileStore {
    /// Replaces a stored key, for example to set a planned end, for which Keyward has no use case. It writes
    /// no event.
    ///
    /// # Errors
    /// The store failed.
    pub async fn replace_key(&self, key: ApiKey) -> Result<(), StorageError> {
        self.change(move |transaction| put(&mut transaction.open_table(KEYS).map_err(failed)?, &key))
            .await
    }
}

/// Stores the idempotency key with which a consumer creates this key; returns the meaning of an earlier use,
/// if there was one. If the change is refused, this write is rolled back.
fn earlier_use(
    transaction: &WriteTransaction,
    consumer: MembershipId,
    key: Option<IdempotencyKey>,
    creates: ApiKeyId,
    at: DateTime<Utc>,
) -> Result<Option<(ApiKeyId, Repetition)>, StorageError> {
    let Some(key) = key else {
        return Ok(None);
    };
    let mut created_with = transaction.open_table(CREATED_WITH).map_err(failed)?;
    let scoped = (consumer.as_uuid(), key.to_bytes());
    let request = key.request().map(RequestDigest::to_bytes);
    let row = (creates.as_uuid(), at.timestamp_millis(), request);
    let first = created_with.insert(scoped, row).map_err(failed)?;
    let Some((first, first_at, request)) = first.map(|first| first.value()) else {
        return Ok(None);
    };
    let row = Row {
        table: "created_with",
        id: first,
    };
    let first_use = FirstUse {
        request: request.map(RequestDigest::from_bytes),
        at: row.moment("at", first_at)?,
    };
    Ok(Some((ApiKeyId::from_uuid(first), key.repeats(first_use, at))))
}

/// Keeps the digest of a new key's token.
fn keep_digest(
    transaction: &WriteTransaction,
    keys: &impl Keys,
    key: &ApiKey,
    digest: TokenDigest,
) -> Result<(), StorageError> {
    let mut by_digest = transaction.open_table(KEYS_BY_DIGEST).map_err(failed)?;
    let path = (key.consumer_id.as_uuid(), key.id.as_uuid());
    let taken = by_digest.insert(*digest.as_bytes(), path).map_err(failed)?;
    if taken.is_some() || find(keys, key.consumer_id, key.id)?.is_some() {
        return Err(StorageError::Defect(
            "two keys share an identifier or a digest".into(),
        ));
    }
    Ok(())
}
