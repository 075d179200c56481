//! The ports for recording planned ends that have come.
//!
//! To record an end is to replace [`End::Planned`](crate::validity::End::Planned) by
//! [`End::Come`](crate::validity::End::Come) of the same moment. Nothing else of the key or the membership
//! changes: a key keeps who planned its end, why, and the note. Every method that records an end (also
//! [`ApiKeys::revoke`](crate::ports::ApiKeys::revoke), [`MemberStore::end`] and others) MUST write its event
//! in the same transaction, [`Act::planned_end_of_key`] or [`Act::planned_end_of_membership`], and so that of
//! any number of concurrent calls one does.
//!
//! [`MemberStore::end`]: crate::administration::ports::MemberStore::end

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::audit::Act;
use crate::ports::StorageError;

/// Records planned ends that have come.
///
/// Each method records at most a given number of ends, of all organizations, the earliest first, and returns
/// how many it recorded. Any number of processes call them at once: concurrent calls MUST NOT make a method
/// fail or wait long. One call may return 0 while another records something; while an end is due, one of the
/// calls MUST record some.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait PlannedEndStore: Send + Sync {
    /// Whether any end is [due](crate::validity::End::is_due) at this moment, or any key is to be ended by
    /// [`PlannedEndStore::end_rotated_keys`]. Its cost MUST NOT grow with the number of planned or recorded
    /// ends, and it MUST NOT wait for changes.
    async fn has_due(&self, now: DateTime<Utc>) -> Result<bool, StorageError>;

    /// Records ends of keys that are due at the moment of the act.
    async fn record_ends_of_keys(&self, at_most: u32, act: Act) -> Result<u32, StorageError>;

    /// Ends valid keys that [end on the first use](crate::api_key::ApiKey::ends_on_first_use) of their
    /// successors, if a use of the successor is recorded: each is [revoked by its
    /// rotation](crate::api_key::Revocation::by_rotation), at the moment of the act and by its actor. Their
    /// order is not defined. A key whose successor has ended MUST stay valid, because its successor cannot be
    /// used instead.
    ///
    /// MUST write [`Act::end_of_rotated_key`] of each.
    async fn end_rotated_keys(&self, at_most: u32, act: Act) -> Result<u32, StorageError>;

    /// Records ends of memberships that are due at the moment of the act.
    ///
    /// MUST, in the same transaction, also end what [`MemberStore::end`] ends: the member's places in
    /// projects, and their open invitations, which the system revokes ([`Act::of_system`],
    /// [`Act::invitation_revoked`]).
    ///
    /// [`MemberStore::end`]: crate::administration::ports::MemberStore::end
    async fn record_ends_of_memberships(&self, at_most: u32, act: Act) -> Result<u32, StorageError>;
}
