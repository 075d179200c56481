//! Limits of the keys of one consumer.

use crate::rate::Rate;

/// The maximum number of a consumer's valid keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyLimit(pub u32);

impl Default for KeyLimit {
    fn default() -> Self {
        Self(100)
    }
}

/// The limits of a consumer's keys and of changes to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyLimits {
    /// The maximum number of valid keys.
    pub valid: KeyLimit,
    /// How often keys may be created, edited and rotated. Revoking is not limited.
    pub changes: Rate,
}

impl Default for KeyLimits {
    /// 100 valid keys; 60 changes a minute, and 120 at once.
    fn default() -> Self {
        Self {
            valid: KeyLimit::default(),
            changes: Rate::per_minute(60, 120),
        }
    }
}
