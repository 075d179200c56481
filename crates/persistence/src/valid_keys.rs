//! What a look at the valid keys of a member finds.

use uuid::Uuid;

/// A member's valid keys.
#[derive(Default)]
pub(crate) struct ValidKeys {
    pub(crate) keys: i64,
    /// How many of them were used after some moment.
    pub(crate) recently_used: i64,
    /// Some of them, those first that were used last.
    pub(crate) first: Vec<Uuid>,
}
