//! The port for last uses of keys.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::api_key::KeyUse;
use crate::ports::StorageError;

/// Keeps when and from where each key was last used. [`ApiKey::last_use`](crate::api_key::ApiKey::last_use)
/// shows it.
///
/// Optional: without it, last uses are not recorded. See
/// [`Authenticate::with_recent_uses`](crate::access::Authenticate::with_recent_uses).
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait LastUses: Send + Sync {
    /// Records the last uses of keys, of any consumers and in any state, atomically.
    ///
    /// A key's last use MUST only move forward: an earlier use MUST be ignored, and so MUST the use of a key
    /// that does not exist. But a stored last use that is more than
    /// [`MAX_AHEAD`](crate::api_key::LastUse::MAX_AHEAD) ahead of `now` MUST be replaced: else none would be
    /// recorded until then. Replicas may record the same keys concurrently, and MUST NOT fail because of that.
    /// Writes no audit event.
    async fn record(&self, uses: Vec<KeyUse>, now: DateTime<Utc>) -> Result<(), StorageError>;
}
