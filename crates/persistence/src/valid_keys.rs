//! The query result about a member's valid keys.

use uuid::Uuid;

/// A member's valid keys.
#[derive(Default)]
pub(crate) struct ValidKeys {
    pub(crate) keys: i64,
    /// How many of them were used after the given time.
    pub(crate) recently_used: i64,
    /// Some of them, most recently used first.
    pub(crate) first: Vec<Uuid>,
}
