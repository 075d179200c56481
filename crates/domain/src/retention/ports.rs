//! The port for purging: what a store must guarantee.
//!
//! Each method purges at most a given number of records and returns how many it purged. Any number of
//! processes may call them concurrently: a call MUST NOT fail because of another one, or wait long for it; it
//! may return 0 while another one purges, or changes what could be purged. While there is something else to
//! purge, one of them MUST make progress.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use super::{ClockDoubt, SurplusKeys};
use crate::audit::AuditEvent;
use crate::id::MembershipId;
use crate::ports::StorageError;

/// Purges expired records.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait RetentionStore: Send + Sync {
    /// Checks a clock that shows `now`, before records are removed by it: MUST ask
    /// [`ClockWitnesses::check`](super::ClockWitnesses::check) with all witnesses that it has and, if the
    /// clock is trusted, keep that time, in one transaction. Returns why the clock is not trusted, if it is
    /// not. `is_confirmed` if an administrator confirmed that it is right.
    async fn check_clock(
        &self,
        now: DateTime<Utc>,
        is_confirmed: bool,
    ) -> Result<Option<ClockDoubt>, StorageError>;

    /// Removes keys whose recorded end was before this moment, and keys without a recorded end of memberships
    /// whose recorded end was before it: see [`ApiKey::dead_since`](crate::api_key::ApiKey::dead_since).
    /// Writes no audit event, and removes none.
    ///
    /// The children of a purged key stay in its key tree: in the same transaction, a store MUST set their
    /// [`ApiKey::adoptive_parent_id`](crate::api_key::ApiKey::adoptive_parent_id) to their nearest ancestor
    /// that is still stored, and keep it where there is none: a successor must not come below its creator.
    /// MUST NOT change anything else. Before that, in separate transactions, a store may record which former
    /// members have no keys left, and may give a part of the children of a key that has very many their new
    /// parent.
    async fn remove_dead_keys(&self, dead_before: DateTime<Utc>, at_most: u32) -> Result<u32, StorageError>;

    /// The first membership after this one, by identifier, that has more than `kept` keys with a recorded end
    /// of their own; of all memberships, if none is given. It may have ended itself.
    ///
    /// It is called repeatedly, with each answer, until there is none. A store MUST NOT block changes of keys
    /// meanwhile, and MUST read little more than the ended keys, in bounded batches.
    async fn next_with_surplus_keys(
        &self,
        after: Option<MembershipId>,
        kept: u32,
    ) -> Result<Option<MembershipId>, StorageError>;

    /// Removes [`SurplusKeys`]; if several keys ended at the same time, it is up to the store which of them
    /// count as the last. MUST neither remove nor count a key whose planned end is not recorded, even if its
    /// time has come. What holds for [`Self::remove_dead_keys`] holds here, too: no audit event, and children
    /// MUST stay in the key tree.
    async fn remove_surplus_keys(&self, surplus: SurplusKeys, at_most: u32) -> Result<u32, StorageError>;

    /// Removes invitations that were [over](crate::invitation::Invitation::ended_or_expires_at) before this
    /// moment.
    async fn remove_ended_invitations(
        &self,
        ended_before: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError>;

    /// Removes sessions that were [live](crate::sign_in::session::Session::is_live) no more at this moment.
    async fn remove_expired_sessions(
        &self,
        expired_at: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError>;

    /// Forgets the [idempotency keys of requests](crate::keys::IdempotencyKey::request) that created keys
    /// before this time, in any state of these keys. Those of forms stay.
    async fn forget_idempotency_keys(
        &self,
        created_before: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError>;

    /// Removes throttle buckets that ran empty before this moment.
    async fn remove_empty_throttle_buckets(
        &self,
        empty_before: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError>;

    /// Removes audit events that happened before this moment, oldest identifiers first, of all organizations
    /// and of none. A process that may only add events is refused with [`RetentionError::NotAllowed`].
    ///
    /// If it removes any, it MUST write the given event, if one is given, in the same transaction; else it
    /// MUST NOT. It is the only way to remove events, and there MUST be none to change them. A store with a
    /// clock of its own MUST keep events that are younger than
    /// [`MIN_AUDIT_EVENT_RETENTION`](super::RetentionPeriods::MIN_AUDIT_EVENT_RETENTION) by it.
    async fn remove_audit_events(
        &self,
        before: DateTime<Utc>,
        at_most: u32,
        event: Option<AuditEvent>,
    ) -> Result<u32, RetentionError>;
}

/// Why nothing was purged.
#[derive(Debug, thiserror::Error)]
pub enum RetentionError {
    /// The process's database role may only add audit events.
    #[error("the database lets its user only add audit events, and remove none")]
    NotAllowed,
    /// The clock may be wrong.
    #[error(transparent)]
    Clock(ClockDoubt),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
