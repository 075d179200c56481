//! The one-time link of the first run.

use chrono::{DateTime, TimeDelta, Utc};

use crate::secret::secret_type;

secret_type! {
    /// The secret in the one-time setup link. Its user becomes the first owner.
    SetupToken,
    /// The stored digest of a [`SetupToken`].
    SetupDigest
}

/// How long a setup link works.
pub const LINK_LIFETIME: TimeDelta = TimeDelta::hours(24);

/// The link that gives the right to complete the first-run setup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupProof {
    /// They have the link.
    Link {
        /// The digest of the link's secret.
        digest: SetupDigest,
        /// When they used it.
        at: DateTime<Utc>,
    },
    /// They run the command line on the server.
    CommandLine,
}
