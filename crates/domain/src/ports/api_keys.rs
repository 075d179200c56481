//! The store of keys.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::api_key::filter::KeyFilter;
use crate::api_key::limits::{KeyLimit, KeyLimits};
use crate::api_key::new_api_key::NewApiKey;
use crate::api_key::rotation::{NewRotation, NotRotated};
use crate::api_key::{
    ApiKey, DescendantKeys, InvalidExpiry, KeyEdit, KeyPrecondition, PostponesEnd, RevocationCause,
};
use crate::audit::Act;
use crate::id::{ApiKeyId, MembershipId};
use crate::page::{Page, PageRequest};
use crate::ports::StorageError;
use crate::rate::{Rate, Throttled};

/// Keeps keys, each with its consumer.
///
/// Every method takes the consumer whose keys it may touch. It MUST treat a key of another consumer exactly like a key
/// that does not exist, and MUST NOT change it.
///
/// A request takes its time, and a key may be revoked after it was let in and before its change commits. Once that
/// revocation is answered the key MUST NOT change anything any more. So, in the transaction of a change that a key
/// makes, and so that no revocation comes between, a store MUST check before all else that the membership is live and
/// that key a valid key of the same consumer; else it refuses with `HolderGone`.
///
/// A key that may not manage keys ([`ApiKey::can_manage_keys`]) creates none, and may edit and revoke only itself. In the
/// same transaction, right after that, a store MUST check this, too: to such a key, every other key does not exist.
///
/// Adding and editing keys share one [`Rate`] per consumer: one moment, kept with the membership, that a store takes from
/// by [`Rate::take`] with the moment of the act or the event, in the same transaction. It MUST be exact, however many
/// servers share the store. A change that is refused or fails takes nothing; an edit that changes nothing takes, too.
/// Revocations MUST NOT take from it, nor be refused by it.
///
/// Which keys are valid and which memberships live is a question about a moment (see [`validity`](crate::validity)): the
/// moment of the act or the event or, where nothing is changed, the one that a method takes as `now`. An end may lie ahead
/// of it, and come while a store waits for a lock. Where a store checks who adds or edits a key, what has ended, and whether
/// an end lies ahead, it MUST do so by the moment [at which](Act::as_late_as_now) it has that lock. Who revokes a key whose
/// end is planned ends it at the moment of the act. Where the end of a key that is to be revoked is
/// [due](crate::validity::End::is_due) by then, a store MUST [record](crate::planned_ends::ports) it instead: so no server
/// accepts the key any more, also one whose clock is behind, and the key keeps its end and who planned it. It is none of the
/// keys that were valid until now.
///
/// Methods that change something MUST do so, and write the given audit events, in one transaction: both or neither.
/// They MUST finish that transaction even if the caller stops waiting.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait ApiKeys: Send + Sync {
    /// Adds a valid key, and returns it as it is stored.
    ///
    /// If [`NewApiKey::organization_decides`], MUST store as [`ApiKey::can_manage_keys`] what the consumer's organization
    /// has chosen for new keys, as read in this transaction. MUST write the event `act.creation_of_key(&key)`, with the
    /// key as it is stored.
    ///
    /// In the same transaction as the insert, and so that no concurrent addition or revocation of this consumer comes
    /// between, it MUST check in this order:
    /// 1. the consumer's membership is live and, if the key has a parent, that parent is a valid key of the same
    ///    consumer, else [`AddKeyError::HolderGone`]; that parent may manage keys, else
    ///    [`AddKeyError::MayNotManageKeys`];
    /// 2. there is room for one more change by `limits.changes`, else [`AddKeyError::Throttled`]: before all that costs
    ///    more to find out;
    /// 3. no key of this consumer was added with the same [`NewApiKey::idempotency_key`], unless that must be
    ///    [forgotten](crate::keys::Repetition::Forgotten) by the moment of the act; else [`AddKeyError::AlreadyCreated`] or, if that asked
    ///    for [something else](crate::keys::Repetition::Different), [`AddKeyError::IdempotencyKeyReused`];
    /// 4. the consumer has fewer valid keys than `limits.valid`, a rotated key and its valid successor counted as one; else
    ///    [`AddKeyError::LimitReached`] with that limit;
    /// 5. of the parent and all that it came from, directly or not, fewer than [`ApiKey::MAX_TREE_DEPTH`] are valid; else
    ///    [`AddKeyError::TreeTooDeep`];
    /// 6. a planned end [lies ahead](crate::api_key::Expiry::check); else [`AddKeyError::InvalidExpiry`].
    ///
    /// It MUST NOT take the longer the more of them are revoked: a key that makes its successor and revokes itself may
    /// go on so for ever. The same holds for [`ApiKeys::valid_descendants`] and [`ApiKeys::revoke`].
    async fn add(&self, new: NewApiKey, limits: KeyLimits, act: Act) -> Result<ApiKey, AddKeyError>;

    /// One key of the consumer, in whatever state.
    async fn find(&self, consumer: MembershipId, id: ApiKeyId) -> Result<Option<ApiKey>, StorageError>;

    /// Those of these keys that are the consumer's, in whatever state and order, each once.
    async fn find_many(&self, consumer: MembershipId, ids: &[ApiKeyId]) -> Result<Vec<ApiKey>, StorageError>;

    /// A page of the consumer's keys that pass the filter at this moment, by falling identifier.
    async fn list(
        &self,
        consumer: MembershipId,
        filter: KeyFilter,
        page: PageRequest<ApiKeyId>,
        now: DateTime<Utc>,
    ) -> Result<Page<ApiKey, ApiKeyId>, StorageError>;

    /// The keys valid at this moment that were created from this one, directly or not, also through keys that are revoked
    /// by then; by falling identifier. Nothing for a key that does not exist.
    async fn valid_descendants(
        &self,
        consumer: MembershipId,
        id: ApiKeyId,
        now: DateTime<Utc>,
    ) -> Result<Vec<ApiKey>, StorageError>;

    /// Edits a valid key (see [`ApiKey::apply`]) and returns it as it is then.
    ///
    /// MUST check in this order, in the same transaction:
    /// 1. the consumer's membership is live and, if a key acts, that is a valid key of the same consumer; else
    ///    [`EditKeyError::HolderGone`];
    /// 2. there is room for one more change by `changes`; else [`EditKeyError::Throttled`];
    /// 3. the key exists, within the reach of who acts, and is valid; else [`EditKeyError::NotFound`] or
    ///    [`EditKeyError::Revoked`];
    /// 4. the key [meets](KeyPrecondition::is_met_by) the precondition; else [`EditKeyError::PreconditionFailed`];
    /// 5. a planned end that it sets [lies ahead](crate::api_key::Expiry::check); else [`EditKeyError::InvalidExpiry`];
    /// 6. the planned end may be moved so; else [`EditKeyError::PostponesEnd`].
    ///
    /// MUST write the event with the action that [`ApiKey::apply`] returns, about the key, and none if that is `None`. Two
    /// concurrent edits MUST NOT undo each other's fields. Once a change of the planned end returns, [`Credentials::find`] MUST tell of it.
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

    /// Replaces a valid key by a successor (see [`ApiKey::rotate`]), which it adds and returns.
    ///
    /// MUST check in this order, in the same transaction:
    /// 1. and 2. as [`ApiKeys::add`] does, with the actor of the act in place of the parent;
    /// 3. the key exists, else [`RotateKeyError::NotFound`];
    /// 4. no key of this consumer was added with the same idempotency key, as [`ApiKeys::add`] does; one that was added by the
    ///    same request is [`RotateKeyError::AlreadyRotated`];
    /// 5. [`ApiKey::rotate`] allows it;
    /// 6. if a key rotates another one, it and its ancestors include fewer than [`ApiKey::MAX_TREE_DEPTH`] valid keys, else
    ///    [`RotateKeyError::TreeTooDeep`]. A key that rotates itself is not refused: it ends in its successor's favour.
    ///
    /// While the key that the old one succeeds is valid, it MUST be revoked at the moment of the act, by its
    /// actor and with the reason [`Rotation`](crate::api_key::RevocationReason::Rotation): so of keys that succeed each other,
    /// two are valid at most. These two count as one for the limit of valid keys that [`ApiKeys::add`] checks, and a rotation
    /// is not refused for that limit.
    ///
    /// MUST write the events of [`Act::rotation_of_key`], and `act.event(Action::RevokeApiKey, Subject::ApiKey(id))` for the
    /// key that the old one succeeded, if it is revoked. Once it returns, [`Credentials::find`](crate::ports::Credentials::find)
    /// MUST tell of the old key's end.
    async fn rotate(&self, new: NewRotation, changes: Rate, act: Act) -> Result<ApiKey, RotateKeyError>;

    /// Revokes a key and, if asked, all its descendants, also those below keys that are revoked already, and also if the
    /// key itself is. Returns the keys that were valid until now. Where nothing of a whole tree is, a store should answer
    /// without taking a lock that others wait for.
    ///
    /// If a key acts, MUST check first that it still may, as said above; else [`RevokeKeyError::HolderGone`], or
    /// [`RevokeKeyError::NotFound`] for a key out of its reach. Whoever acts in person may revoke keys of a membership that
    /// has ended.
    ///
    /// Of the keys that it would revoke, MUST revoke none, and refuse with [`RevokeKeyError::PreconditionFailed`], unless the
    /// key `id` itself [meets](KeyPrecondition::is_met_by) the precondition, in the same transaction. Where there are none, the
    /// precondition does not matter: what was asked for is so already, as after a repeated request (RFC 9110 §13.1.1).
    ///
    /// The revocation's moment and actor are those of the act, its reason and note those of the cause. A key that is revoked already keeps its first
    /// revocation. For each returned key, and no other, MUST write the event
    /// `act.event(Action::RevokeApiKey, Subject::ApiKey(id))`.
    /// Once it returns, [`Credentials::find`](crate::ports::Credentials::find) MUST NOT return an accepted credential
    /// for any of these keys, and no key can be added with one of them as its parent.
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
    /// The same request is being handled at this moment.
    #[error("the same request is in progress")]
    InProgress,
    /// The consumer has as many valid keys as it may.
    #[error("at most {} valid keys are allowed: revoke one first", .0.0)]
    LimitReached(KeyLimit),
    /// As many valid keys as a line may have are above it already.
    #[error(
        "at most {} valid keys may come from one another: create the key with one that was made earlier, or in the console",
        ApiKey::MAX_TREE_DEPTH
    )]
    TreeTooDeep,
    /// The key's planned end has passed.
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
    #[error("the holder is gone")]
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
    /// Somebody changed the key: it is of none of the versions that the change is for.
    #[error("the key is of another version")]
    PreconditionFailed,
    /// Its planned end may not be postponed.
    #[error(transparent)]
    PostponesEnd(#[from] PostponesEnd),
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
    /// The same request is being handled at this moment.
    #[error("the same request is in progress")]
    InProgress,
    /// The consumer has no such key.
    #[error("no such key")]
    NotFound,
    /// It has a successor, whose token is not shown again.
    #[error("the key was rotated already, to key {0}")]
    AlreadyRotated(ApiKeyId),
    /// A revoked key stays as it was.
    #[error("the key is revoked")]
    Revoked,
    /// There are as many valid keys above the successor as a line may have.
    #[error(
        "at most {} valid keys may come from one another: rotate the key with one that was made earlier, or in the console",
        ApiKey::MAX_TREE_DEPTH
    )]
    TreeTooDeep,
    /// The successor's planned end has passed.
    #[error(transparent)]
    InvalidExpiry(#[from] InvalidExpiry),
    /// The successor would live longer than the key that asks for it.
    #[error(transparent)]
    PostponesEnd(#[from] PostponesEnd),
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
            NotRotated::PostponesEnd(refusal) => refusal.into(),
        }
    }
}

/// Why a key was not revoked.
#[derive(Debug, thiserror::Error)]
pub enum RevokeKeyError {
    /// The key that acts is not valid any more, or its membership has ended.
    #[error("the holder is gone")]
    HolderGone,
    /// The consumer has no such key.
    #[error("no such key")]
    NotFound,
    /// Somebody changed the key: it is of none of the versions that the revocation is for.
    #[error("the key is of another version")]
    PreconditionFailed,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
