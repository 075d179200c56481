//! The account that an attempt is for.

use super::digest::digest;
use crate::sign_in::password::{HashingQueue, PasswordHash};

/// An account as attempts to sign in are counted: by what was typed as username, whether it exists or not,
/// and by the password that it has. So a new password begins with nothing counted, without a store having to
/// find what to clear.
#[derive(Clone, Copy)]
pub struct CountedAccount(pub(super) [u8; 32]);

impl CountedAccount {
    /// Only a digest of what was typed is kept: people type passwords into the wrong field.
    #[must_use]
    pub fn new(typed: &str, password_hash: Option<&PasswordHash>) -> Self {
        let typed = digest("typed", typed.as_bytes());
        let password = digest(
            "password hash",
            password_hash.map_or("", PasswordHash::as_str).as_bytes(),
        );
        Self(digest("account", &[typed, password].concat()))
    }

    /// With whom an attempt waits to be checked. Strangers, however many, do not wait with remembered
    /// browsers.
    #[must_use]
    pub fn queue(self, is_remembered: bool) -> HashingQueue {
        let kind = if is_remembered {
            "remembered queue"
        } else {
            "queue"
        };
        HashingQueue::of(digest(kind, &self.0))
    }
}
