//! Ended keys beyond those that are kept.

use chrono::{DateTime, Utc};

use crate::id::MembershipId;

/// The ended keys of a membership that are too many: all but those that ended last. Keys count that have a
/// recorded end of their own, not those that only their membership's end ended: these were valid until then,
/// and so are few.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SurplusKeys {
    /// The membership whose keys are looked at.
    pub consumer: MembershipId,
    /// How many of the keys that ended last are kept.
    pub kept: u32,
    /// Keys that were created or ended at this time or later are kept besides.
    pub before: DateTime<Utc>,
}
