//! The keys that an owner revokes together, and the preview of the revocation.

use crate::administration::cutoff_time::CutoffTime;
use crate::administration::held_key::HeldKey;
use crate::api_key::DescendantKeys;
use crate::id::{ApiKeyId, MembershipId};

/// Which keys to revoke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySelection {
    /// Keys by their identifiers.
    Keys {
        /// Identifiers of other organizations' keys select nothing.
        ids: Vec<ApiKeyId>,
        /// Whether their descendants are revoked, too.
        descendants: DescendantKeys,
    },
    /// All of one consumer.
    OfConsumer(MembershipId),
    /// All that were created before the cut-off time, and their descendants, also below keys that retention
    /// has removed: the thief of a key may have created others with it since, and revoked it. The cut-off
    /// time is at least [`CutoffTime::MIN_AGE`] old, because a store cannot see keys that are being created.
    IssuedBefore(CutoffTime),
}

/// The result of one batch of a revocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevokedBatch {
    /// The keys that were valid until then, the oldest first (by identifier, or by when their
    /// key trees began).
    pub keys: Vec<ApiKeyId>,
    /// Whether no other selected key is valid or has an end that is [due](crate::validity::End::is_due).
    /// Else, a repeated call continues.
    pub is_last: bool,
}

/// The result of one batch of applying a longest life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortenedBatch {
    /// How many keys got an earlier end, or one at all.
    pub keys: u32,
    /// The key after which another call continues; `None` if no later key would get an end.
    pub continues_after: Option<ApiKeyId>,
}

/// The keys that a revocation would end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RevocationPreview {
    /// Of the keys that were selected.
    pub selected: PreviewedKeys,
    /// Their descendants among the other keys; empty unless the selection includes descendants.
    pub descendants: PreviewedKeys,
}

/// Keys that a revocation would revoke, or whose life would be shortened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PreviewedKeys {
    /// How many valid keys, at most [`PreviewedKeys::COUNTED`].
    pub keys: u32,
    /// Whether there are more. The other fields then describe the counted keys only.
    pub has_more: bool,
    /// How many of them give no access any more, because their holders have left.
    pub without_access: u32,
    /// How many consumers hold the counted keys.
    pub holders: u32,
    /// Before a revocation, at most [`PreviewedKeys::SHOWN`] of the counted keys, by name; before lives are
    /// shortened, at most [`PreviewedKeys::SHOWN_OF_SHORTENED`], the most recently used first.
    pub first: Vec<HeldKey>,
}

impl PreviewedKeys {
    /// The most keys that are counted.
    pub const COUNTED: usize = 5_000;
    /// The most keys that are shown before a revocation.
    pub const SHOWN: usize = 20;
    /// The most keys that are shown before their lives are shortened: their users have to act in time.
    pub const SHOWN_OF_SHORTENED: usize = 50;
}
