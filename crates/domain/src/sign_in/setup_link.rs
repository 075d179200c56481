//! The one-time link of the first run.

use chrono::TimeDelta;

use crate::secret::secret_type;

secret_type! {
    /// The secret in the one-time setup link. Whoever has it becomes the first owner.
    SetupToken,
    /// What is stored of a [`SetupToken`].
    SetupDigest
}

/// How long a setup link works.
pub const LINK_LIFETIME: TimeDelta = TimeDelta::hours(24);
