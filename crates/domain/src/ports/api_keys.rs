//! The store of keys.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::api_key::filter::KeyFilter;
use crate::api_key::limits::{KeyLimit, KeyLimits};
use crate::api_key::new_api_key::NewApiKey;
use crate::api_key::rotation::{NewRotation, NotRotated};
use crate::api_key::{
    ApiKey, CannotExtendLife, DescendantKeys, InvalidExpiry, KeyEdit, KeyPrecondition, RevocationCause,
};
use crate::audit::Act;
use crate::id::{ApiKeyId, MembershipId};
use crate::page::{Page, PageRequest, PageSize};
use crate::ports::StorageError;
use crate::rate::{Rate, Throttled};

/// Keeps keys, each with its consumer.
///
/// Every method takes the consumer whose keys it may read or change. It MUST treat a key of another consumer
/// exactly like a key that does not exist, and MUST NOT change it.
///
/// A key may be revoked after its request was authenticated and before the change that it requested commits.
/// Once that revocation is answered, the key MUST NOT change anything any more. So, before any other check of
/// a change that a key makes, a store MUST check in the same transaction that the membership is live and that
/// the acting key is a valid key of the same consumer; else it refuses with `HolderGone`. No revocation may
/// commit between this check and the change.
///
/// A key that may not manage keys ([`ApiKey::can_manage_keys`]) creates none, and may edit and revoke only
/// itself. A store MUST check this next, in the same transaction: for such a key, every other key does not
/// exist.
///
/// Adding, editing and rotating keys share one rate limit ([`Rate`]) per consumer: one moment, kept with the
/// membership, that a store updates by [`Rate::admit`] with the moment of the act, in the same transaction.
/// The limit MUST be exact, however many servers share the store. A change that is refused or fails is not
/// counted; an edit that changes nothing is. Revocations MUST NOT be counted or refused by this limit.
///
/// Whether a key is valid or a membership live depends on the moment (see [`validity`](crate::validity)): the
/// moment of the act or, where nothing is changed, the `now` that a method takes. An end may be planned for
/// later than the act, and come while a store waits for a lock. So a change that adds, edits or rotates a key
/// MUST check who acts, what has ended and whether a planned end lies ahead at the moment
/// [at which](Act::at_current_time) the store has acquired the lock.
///
/// A revocation of a key with a planned end ends the key at the moment of the act. But if that planned end is
/// [due](crate::validity::End::is_due) by the moment of the act, a store MUST
/// [record](crate::planned_ends::ports) it instead. Then no server accepts the key any more, even if its
/// clock is behind, and the key keeps its end and who planned it. Such a key is not among the keys that a
/// method returns as revoked.
///
/// Methods that change something MUST do so, and write the audit events, in one transaction: both or neither.
/// They MUST finish that transaction even if the caller stops waiting.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait ApiKeys: Send + Sync {
    /// Adds a valid key, and returns it as it is stored.
    ///
    /// If [`NewApiKey::organization_decides`], MUST store as [`ApiKey::can_manage_keys`] the default of the consumer's
    /// organization, as read in this transaction. MUST write the event `act.creation_of_key(&key)`, with the key as it
    /// is stored.
    ///
    /// While another transaction handles a request with the same idempotency key, a store MAY refuse this one
    /// with [`AddKeyError::InProgress`], which precedes the checks. A form waits.
    ///
    /// It MUST check in this order, in the same transaction as the insert. No concurrent addition or
    /// revocation of a key of this consumer may commit between the checks and the insert.
    /// 1. the consumer's membership is live and, if the key has a parent, that parent is a valid key of the
    ///    same consumer, else [`AddKeyError::HolderGone`]; that parent may manage keys, else
    ///    [`AddKeyError::MayNotManageKeys`];
    /// 2. `limits.changes` allows one more change, else [`AddKeyError::Throttled`]; this precedes the more
    ///    expensive checks;
    /// 3. no key of this consumer was added with the same [`NewApiKey::idempotency_key`], unless that use
    ///    must be [forgotten](crate::keys::Repetition::Forgotten) by the moment of the act; else
    ///    [`AddKeyError::AlreadyCreated`] or, if the earlier request asked for
    ///    [something else](crate::keys::Repetition::Different), [`AddKeyError::IdempotencyKeyReused`];
    /// 4. the consumer has fewer valid keys than `limits.valid`, where a rotated key and its valid successor
    ///    count as one; else [`AddKeyError::LimitReached`] with that limit;
    /// 5. the parent and its ancestors include fewer than [`ApiKey::MAX_TREE_DEPTH`] valid keys, as
    ///    [`ApiKey::depth_of`] counts them; else [`AddKeyError::TreeTooDeep`];
    /// 6. a planned end [lies ahead](crate::api_key::Expiry::check), and within the longest life that the
    ///    consumer's organization allows ([`ApiKey::limit_life`], which also plans the end of a key without
    ///    one); else [`AddKeyError::InvalidExpiry`].
    ///
    /// The time that this takes MUST NOT grow with the number of revoked keys, because a key may create its
    /// successor and revoke itself, and the successor likewise, for ever. The same holds for
    /// [`ApiKeys::valid_descendants`] and [`ApiKeys::revoke`].
    async fn add(&self, new: NewApiKey, limits: KeyLimits, act: Act) -> Result<ApiKey, AddKeyError>;

    /// One key of the consumer, valid or revoked.
    async fn find(&self, consumer: MembershipId, id: ApiKeyId) -> Result<Option<ApiKey>, StorageError>;

    /// The consumer's keys among those with these identifiers, valid or revoked, each once, in any order.
    async fn find_many(&self, consumer: MembershipId, ids: &[ApiKeyId]) -> Result<Vec<ApiKey>, StorageError>;

    /// The consumer's keys that were revoked because of a leak at this moment or later, those revoked last first:
    /// at most one more than a page holds, which shows whether there are others.
    async fn leaked_since(
        &self,
        consumer: MembershipId,
        since: DateTime<Utc>,
        size: PageSize,
    ) -> Result<Vec<ApiKey>, StorageError>;

    /// A page of the consumer's keys that pass the filter at the moment `now`, in descending order of
    /// identifier.
    async fn list(
        &self,
        consumer: MembershipId,
        filter: KeyFilter,
        page: PageRequest<ApiKeyId>,
        now: DateTime<Utc>,
    ) -> Result<Page<ApiKey, ApiKeyId>, StorageError>;

    /// The descendants of this key that are valid at the moment `now`, also those below keys that are revoked
    /// by then, in descending order of identifier. Empty for a key that does not exist.
    async fn valid_descendants(
        &self,
        consumer: MembershipId,
        id: ApiKeyId,
        now: DateTime<Utc>,
    ) -> Result<Vec<ApiKey>, StorageError>;

    /// Edits a valid key (see [`ApiKey::apply`]) and returns the edited key.
    ///
    /// MUST check in this order, in the same transaction:
    /// 1. the consumer's membership is live and, if a key acts, that key is a valid key of the same consumer;
    ///    else [`EditKeyError::HolderGone`];
    /// 2. `changes` allows one more change; else [`EditKeyError::Throttled`];
    /// 3. the key exists within the reach of the actor, else [`EditKeyError::NotFound`], and is valid, else
    ///    [`EditKeyError::Revoked`];
    /// 4. the key [meets](KeyPrecondition::is_met_by) the precondition; else
    ///    [`EditKeyError::PreconditionFailed`];
    /// 5. a planned end that it sets [lies ahead](crate::api_key::Expiry::check); else
    ///    [`EditKeyError::InvalidExpiry`];
    /// 6. [`ApiKey::apply`] allows the change of the planned end, given the [live
    ///    successor](ApiKey::live_successor) as read in this transaction; else
    ///    [`EditKeyError::CannotExtendLife`].
    ///
    /// MUST write the event [`Act::edit_of_key`] of each change that [`ApiKey::apply`] returns. Two concurrent
    /// edits MUST NOT undo each other's fields. Once a change of the planned end returns,
    /// [`Credentials::find`] MUST return the new one.
    ///
    /// [`Credentials::find`]: crate::ports::Credentials::find
    async fn edit(
        &self,
        consumer: MembershipId,
        id: ApiKeyId,
        edit: KeyEdit,
        precondition: KeyPrecondition,
        changes: Rate,
        act: Act,
    ) -> Result<ApiKey, EditKeyError>;

    /// Replaces a valid key by a successor (see [`ApiKey::rotate`]), which it adds and returns, also if the
    /// key had one that has ended or was purged. MAY refuse a request that is being handled, as
    /// [`ApiKeys::add`] does.
    ///
    /// MUST check in this order, in the same transaction:
    /// 1. and 2. as in [`ApiKeys::add`], with the acting key, if any, in place of the parent;
    /// 3. the key exists, else [`RotateKeyError::NotFound`];
    /// 4. as check 3 of [`ApiKeys::add`], but for a repetition of the same request with
    ///    [`RotateKeyError::AlreadyCreated`] and otherwise with [`RotateKeyError::IdempotencyKeyReused`];
    /// 5. [`ApiKey::rotate`] allows it, given the [live successor](ApiKey::live_successor) as read in this
    ///    transaction: a key has at most one, however many rotations and revocations are concurrent;
    /// 6. if a key rotates another one, the acting key and its ancestors include fewer than
    ///    [`ApiKey::MAX_TREE_DEPTH`] valid keys, counted likewise, else [`RotateKeyError::TreeTooDeep`]. A key that rotates
    ///    itself is not refused, because its successor replaces it.
    ///
    /// If the old key is itself a successor and its predecessor is still valid, the predecessor MUST be
    /// revoked at the moment of the act, by its actor and with the reason
    /// [`Rotation`](crate::api_key::RevocationReason::Rotation): of keys that succeed each other, at most two
    /// are valid. These two count as one for the limit of valid keys that [`ApiKeys::add`] checks, and a
    /// rotation is not refused for that limit.
    ///
    /// MUST write the events of [`Act::rotation_of_key`] and, if the predecessor is revoked,
    /// `act.event(Action::RevokeApiKey, Subject::ApiKey(id))` for it. Once it returns,
    /// [`Credentials::find`](crate::ports::Credentials::find) MUST return the old key's end.
    async fn rotate(&self, new: NewRotation, changes: Rate, act: Act) -> Result<ApiKey, RotateKeyError>;

    /// Revokes a key and, if requested, all its descendants: also those below keys that are revoked already,
    /// and also if the key itself is revoked already. Returns the keys that this call revoked. If no key of
    /// the whole tree is valid, a store should answer without acquiring a lock that others wait for.
    ///
    /// If a key acts, MUST first check that it still may (see [`ApiKeys`]); else
    /// [`RevokeKeyError::HolderGone`], or [`RevokeKeyError::NotFound`] for a key out of its reach. Any other
    /// actor may also revoke keys of a membership that has ended.
    ///
    /// If there is a key to revoke, MUST check in the same transaction that the key `id` itself
    /// [meets](KeyPrecondition::is_met_by) the precondition; else [`RevokeKeyError::PreconditionFailed`], and
    /// no key is revoked. If there is none, MUST ignore the precondition, because the keys are in the
    /// requested state already, as after a repeated request (RFC 9110 §13.1.1).
    ///
    /// The revocation's moment and actor are those of the act, its reason and note those of the cause. A key
    /// that is revoked already keeps its first revocation. For each returned key, and no other, MUST write
    /// the event `act.event(Action::RevokeApiKey, Subject::ApiKey(id))`. Once it returns,
    /// [`Credentials::find`](crate::ports::Credentials::find) MUST NOT return an accepted credential for any
    /// of these keys, and no key can be added with one of them as its parent.
    async fn revoke(
        &self,
        consumer: MembershipId,
        id: ApiKeyId,
        cause: RevocationCause,
        descendants: DescendantKeys,
        precondition: KeyPrecondition,
        act: Act,
    ) -> Result<Vec<ApiKeyId>, RevokeKeyError>;
}

/// Why a key was not added.
#[derive(Debug, thiserror::Error)]
pub enum AddKeyError {
    /// The membership has ended, or the parent is not valid any more.
    #[error("the holder may not create keys any more")]
    HolderGone,
    /// The parent may not manage keys.
    #[error("this key may not create keys")]
    MayNotManageKeys,
    /// The consumer changed its keys too often.
    #[error(transparent)]
    Throttled(Throttled),
    /// The same form or request has created this key before; its token is not shown again.
    #[error("key {0} has been created already")]
    AlreadyCreated(ApiKeyId),
    /// Another request had the same idempotency key before.
    #[error("the idempotency key was used for another request")]
    IdempotencyKeyReused,
    /// The same request is being handled at this moment, by this server or another one.
    #[error("the same request is in progress")]
    InProgress,
    /// The consumer has the maximum number of valid keys.
    #[error("at most {} valid keys are allowed: revoke one first", .0.0)]
    LimitReached(KeyLimit),
    /// The parent and its ancestors already include the maximum number of valid keys.
    #[error(
        "at most {} valid keys may come from one another: create the key with one that was made earlier, or in the console",
        ApiKey::MAX_TREE_DEPTH
    )]
    TreeTooDeep,
    /// The key's planned end has passed, or is later than the owners of the organization allow.
    #[error(transparent)]
    InvalidExpiry(#[from] InvalidExpiry),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why a key was not edited.
#[derive(Debug, thiserror::Error)]
pub enum EditKeyError {
    /// The membership has ended, or the key that acts is not valid any more.
    #[error("the key that acts is no longer valid, or its membership has ended")]
    HolderGone,
    /// The consumer changed its keys too often.
    #[error(transparent)]
    Throttled(Throttled),
    /// The consumer has no such key.
    #[error("no such key")]
    NotFound,
    /// A revoked key stays as it was.
    #[error("the key is revoked")]
    Revoked,
    /// The key was changed meanwhile: it has none of the versions that the precondition names.
    #[error("the key is of another version")]
    PreconditionFailed,
    /// Its planned end may not be postponed or removed.
    #[error(transparent)]
    CannotExtendLife(#[from] CannotExtendLife),
    /// The new planned end has passed.
    #[error(transparent)]
    InvalidExpiry(#[from] InvalidExpiry),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why a key was not rotated.
#[derive(Debug, thiserror::Error)]
pub enum RotateKeyError {
    /// The membership has ended, or the key that acts is not valid any more.
    #[error("the holder may not create keys any more")]
    HolderGone,
    /// The key that acts may not manage keys.
    #[error("this key may not create keys")]
    MayNotManageKeys,
    /// The consumer changed its keys too often.
    #[error(transparent)]
    Throttled(Throttled),
    /// Another request had the same idempotency key before.
    #[error("the idempotency key was used for another request")]
    IdempotencyKeyReused,
    /// The same request is being handled at this moment, by this server or another one.
    #[error("the same request is in progress")]
    InProgress,
    /// The consumer has no such key.
    #[error("no such key")]
    NotFound,
    /// The same form or request has created this successor before; its token is not shown again.
    #[error("key {0} has been created already")]
    AlreadyCreated(ApiKeyId),
    /// Another request has rotated the key to this one.
    #[error("the key was rotated already, to key {0}")]
    AlreadyRotated(ApiKeyId),
    /// A revoked key stays as it was.
    #[error("the key is revoked")]
    Revoked,
    /// The acting key and its ancestors already include the maximum number of valid keys.
    #[error(
        "at most {} valid keys may come from one another: rotate the key with one that was made earlier, or in the console",
        ApiKey::MAX_TREE_DEPTH
    )]
    TreeTooDeep,
    /// The successor's planned end has passed, or is later than the owners of the organization allow.
    #[error(transparent)]
    InvalidExpiry(#[from] InvalidExpiry),
    /// The key rotates itself, and its successor's planned end would be later than its own.
    #[error(transparent)]
    CannotExtendLife(#[from] CannotExtendLife),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<NotRotated> for RotateKeyError {
    fn from(reason: NotRotated) -> Self {
        match reason {
            NotRotated::AlreadyRotated(successor) => Self::AlreadyRotated(successor),
            NotRotated::Revoked => Self::Revoked,
            NotRotated::InvalidExpiry(error) => error.into(),
            NotRotated::CannotExtendLife(refusal) => refusal.into(),
        }
    }
}

/// Why a key was not revoked.
#[derive(Debug, thiserror::Error)]
pub enum RevokeKeyError {
    /// The key that acts is not valid any more, or its membership has ended.
    #[error("the key that acts is no longer valid, or its membership has ended")]
    HolderGone,
    /// The consumer has no such key.
    #[error("no such key")]
    NotFound,
    /// The key was changed meanwhile: it has none of the versions that the precondition names.
    #[error("the key is of another version")]
    PreconditionFailed,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
