//! A check before a revocation, which takes no lock: often there is nothing to revoke.
//!
//! The check only saves work. If it fails or is late, the revocation proceeds without it.

use std::time::Duration;

use keyward_domain::id::ApiKeyId;
use keyward_domain::ports::RevokeKeyError;
use uuid::Uuid;

/// How much of the time for the answer the check may use.
pub(crate) fn time_budget(answer_timeout: Duration) -> Duration {
    answer_timeout / 4
}

/// The result that revoking a key would have.
pub(crate) enum RevocationPrecheck {
    /// The acting key is revoked, or its membership has ended.
    HolderGone,
    /// The consumer has no such key.
    NotFound,
    /// The key and all that came from it are recorded as ended.
    NothingToRevoke,
    /// Which keys are valid must be read again under the lock.
    SomethingToRevoke,
}

impl RevocationPrecheck {
    /// The outcome for these keys of the tree, which are not recorded as ended.
    pub(crate) fn of_keys_not_ended(keys: &[Uuid]) -> Self {
        if keys.is_empty() {
            Self::NothingToRevoke
        } else {
            Self::SomethingToRevoke
        }
    }

    /// The answer to the revocation, unless there is something to revoke.
    pub(crate) const fn answer(self) -> Option<Result<Vec<ApiKeyId>, RevokeKeyError>> {
        match self {
            Self::HolderGone => Some(Err(RevokeKeyError::HolderGone)),
            Self::NotFound => Some(Err(RevokeKeyError::NotFound)),
            Self::NothingToRevoke => Some(Ok(Vec::new())),
            Self::SomethingToRevoke => None,
        }
    }
}
