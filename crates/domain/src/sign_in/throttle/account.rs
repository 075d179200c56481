//! The account that an attempt is for.

use std::net::IpAddr;

use super::digest::digest;
use super::networks::Networks;
use crate::sign_in::password::{HashingQueue, HashingQueues, PasswordHash};

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

    /// The queues of an attempt from a browser in which somebody signed in to the account before.
    #[must_use]
    pub fn queues_of_remembered(self) -> HashingQueues {
        HashingQueues::Known(HashingQueue::of(digest("remembered queue", &self.0)))
    }

    /// The queues of an attempt from any other browser. An IPv6 client waits with its whole site.
    #[must_use]
    pub fn queues_of_stranger(self, address: Option<IpAddr>) -> HashingQueues {
        let network = address.map(Networks::of).map(Networks::largest);
        HashingQueues::Stranger {
            network: network.map(|network| HashingQueue::of(digest("network's queue", &network))),
            account: HashingQueue::of(digest("queue", &self.0)),
        }
    }
}
