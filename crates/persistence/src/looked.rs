//! What a look at a key says about its revocation, before anything is locked for it.
//!
//! Such a look only spares work. If it fails or is late, the change is made without it.

use std::time::Duration;

use keyward_domain::id::ApiKeyId;
use keyward_domain::ports::RevokeKeyError;
use uuid::Uuid;

/// How long a look may take, of the time in which the change is answered.
pub(crate) fn patience(answer_timeout: Duration) -> Duration {
    answer_timeout / 4
}

/// What revoking a key would come to.
pub(crate) enum Looked {
    /// The key that asks for it acts no more.
    HolderGone,
    /// There is no such key.
    NotFound,
    /// Neither the key nor anything that came from it is valid.
    NothingToRevoke,
    /// Only who holds the lock can tell what.
    SomethingToRevoke,
}

impl Looked {
    /// What these come to: the keys of the tree that are valid.
    pub(crate) fn of_valid(keys: &[Uuid]) -> Self {
        if keys.is_empty() {
            Self::NothingToRevoke
        } else {
            Self::SomethingToRevoke
        }
    }

    /// The answer, if the look was enough.
    pub(crate) const fn answer(self) -> Option<Result<Vec<ApiKeyId>, RevokeKeyError>> {
        match self {
            Self::HolderGone => Some(Err(RevokeKeyError::HolderGone)),
            Self::NotFound => Some(Err(RevokeKeyError::NotFound)),
            Self::NothingToRevoke => Some(Ok(Vec::new())),
            Self::SomethingToRevoke => None,
        }
    }
}
