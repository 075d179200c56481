//! The store of when keys were last used.

use async_trait::async_trait;

use crate::api_key::KeyUse;
use crate::ports::StorageError;

/// Keeps when and from where each key was last used. [`ApiKey::last_use`](crate::api_key::ApiKey::last_use) shows it.
///
/// A service that does not care for it need not have it: see
/// [`Authenticate::noting_uses_in`](crate::access::Authenticate::noting_uses_in).
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait LastUses: Send + Sync {
    /// Records the last uses of some keys, of whatever consumers and in whatever state: all of them or none.
    ///
    /// A key's last use MUST only move forward: one that is not later than what is kept MUST be passed over, and so MUST
    /// the use of a key that does not exist. Any number of replicas record at once, also the same keys, and none of them
    /// MUST fail for it. Writes no audit event.
    async fn record(&self, uses: Vec<KeyUse>) -> Result<(), StorageError>;
}
