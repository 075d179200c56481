//! What a store must promise for recording planned ends that have come.
//!
//! To record an end is to replace [`End::Planned`](crate::validity::End::Planned) by
//! [`End::Come`](crate::validity::End::Come) of the same moment. Nothing else of the key or the membership changes: a key
//! keeps who planned its end, why, and the note. Whatever records an end (also
//! [`ApiKeys::revoke`](crate::ports::ApiKeys::revoke), [`MemberStore::end`] and others) MUST write its event in the same
//! transaction, [`Act::planned_end_of_key`] or [`Act::planned_end_of_membership`], and so that of any number of concurrent
//! calls one does.
//!
//! [`MemberStore::end`]: crate::administration::ports::MemberStore::end

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::audit::Act;
use crate::ports::StorageError;

/// Records planned ends that have come.
///
/// Each method records at most a given number of ends, of all organizations, those that came earliest first, and returns how
/// many it recorded. Any number of processes call them at once: none of them MUST fail for it, or wait long for another; one
/// may return 0 while another records something. As long as an end is due, one of them MUST get on.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait PlannedEndStore: Send + Sync {
    /// Whether any end is [due](crate::validity::End::is_due) at this moment, or any key is to be ended by
    /// [`PlannedEndStore::end_rotated_keys`]. MUST NOT take the longer the more ends are planned or recorded, nor wait for
    /// changes.
    async fn has_due(&self, now: DateTime<Utc>) -> Result<bool, StorageError>;

    /// Records ends of keys that are due at the moment of the act.
    async fn record_ends_of_keys(&self, at_most: u32, act: Act) -> Result<u32, StorageError>;

    /// Ends valid keys that [end on the first use](crate::api_key::ApiKey::ends_on_first_use) of their successors, if a use
    /// of the successor is recorded: each is [revoked by its rotation](crate::api_key::Revocation::by_rotation), at the
    /// moment of the act and by its actor. Their order is not defined.
    ///
    /// MUST write [`Act::end_of_rotated_key`] of each.
    async fn end_rotated_keys(&self, at_most: u32, act: Act) -> Result<u32, StorageError>;

    /// Records ends of memberships that are due at the moment of the act.
    ///
    /// MUST in the same transaction take with each what [`MemberStore::end`] takes: the member's places in projects, and
    /// their open invitations, which the system revokes ([`Act::of_system`], [`Act::invitation_revoked`]).
    ///
    /// [`MemberStore::end`]: crate::administration::ports::MemberStore::end
    async fn record_ends_of_memberships(&self, at_most: u32, act: Act) -> Result<u32, StorageError>;
}
