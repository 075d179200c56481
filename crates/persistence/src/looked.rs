//! What a look at a key says about its revocation, before anything is locked for it.

use keyward_domain::id::ApiKeyId;
use keyward_domain::ports::RevokeKeyError;

/// What revoking a key would come to.
pub(crate) enum Looked {
    /// The key that asks for it acts no more.
    HolderGone,
    /// There is no such key.
    NotFound,
    /// The key is of another version than the revocation is for.
    PreconditionFailed,
    /// Neither the key nor anything that came from it is valid.
    NothingToRevoke,
    /// Only who holds the lock can tell what.
    SomethingToRevoke,
}

impl Looked {
    /// The answer, if the look was enough.
    pub(crate) const fn answer(self) -> Option<Result<Vec<ApiKeyId>, RevokeKeyError>> {
        match self {
            Self::HolderGone => Some(Err(RevokeKeyError::HolderGone)),
            Self::NotFound => Some(Err(RevokeKeyError::NotFound)),
            Self::PreconditionFailed => Some(Err(RevokeKeyError::PreconditionFailed)),
            Self::NothingToRevoke => Some(Ok(Vec::new())),
            Self::SomethingToRevoke => None,
        }
    }
}
