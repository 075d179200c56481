//! The hot path's own view of keys.

use async_trait::async_trait;

use crate::credential::Credential;
use crate::ports::StorageError;
use crate::token::TokenDigest;

/// Finds what decides about one token.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Credentials: Send + Sync {
    /// The credential whose token has this digest, in any state, all of it as of one moment.
    ///
    /// MUST see every revocation and every ended membership that was answered before the call. If it cannot
    /// know, because neither the database answers nor a lease says that its memory is right, it MUST fail.
    async fn find(&self, digest: &TokenDigest) -> Result<Option<Credential>, StorageError>;

    /// The same, if it is in this process's memory and its memory is known to be right.
    fn remembered(&self, _digest: &TokenDigest) -> Option<Credential> {
        None
    }

    /// Whether a key with this token was found here before, although nothing is known of its present state:
    /// then it is no guess.
    fn is_familiar(&self, _digest: &TokenDigest) -> bool {
        false
    }
}
