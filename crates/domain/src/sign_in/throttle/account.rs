//! The account that an attempt is for.

use std::net::IpAddr;

use super::digest::digest;
use super::networks::Networks;
use crate::sign_in::password::{HashingQueue, HashingQueues, PasswordHash};

/// The account for which attempts to sign in are counted: the typed username, whether it exists or not, and
/// the account's present password. So a new password resets the count, without a store having to find the
/// buckets.
#[derive(Clone, Copy)]
pub struct CountedAccount(pub(super) [u8; 32]);

impl CountedAccount {
    /// Keeps only a digest of the typed username, because people type passwords into the wrong field.
    #[must_use]
    pub fn new(typed: &str, password_hash: Option<&PasswordHash>) -> Self {
        let typed = digest("typed", typed.as_bytes());
        let password = digest(
            "password hash",
            password_hash.map_or("", PasswordHash::as_str).as_bytes(),
        );
        Self(digest("account", &[typed, password].concat()))
    }

    /// The queues of an attempt from a browser in which the account's user signed in before.
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
