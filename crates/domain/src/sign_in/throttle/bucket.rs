//! One count of attempts or events, and the rule that bounds it.

use std::fmt;

use chrono::{DateTime, Utc};

use super::digest::digest;
use crate::rate::{Rate, Throttled};
use crate::sign_in::password::HashingQueue;

/// A counter of attempts. Attempts that succeed are given back, so that only failures stay counted, unless a bucket
/// says otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThrottleBucket {
    key: [u8; 32],
    rate: Rate,
}

impl ThrottleBucket {
    pub(super) fn of(kind: &str, value: &[u8], rate: Rate) -> Self {
        Self {
            key: digest(kind, value),
            rate,
        }
    }

    /// The queue of the passwords that this bucket counts.
    #[must_use]
    pub const fn queue(&self) -> HashingQueue {
        HashingQueue::of(self.key)
    }

    /// How many it lets through at once.
    #[must_use]
    pub const fn burst(&self) -> i32 {
        self.rate.burst()
    }

    /// The bucket's key in storage.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.key
    }

    /// The time that a store keeps once an attempt is given back, if it kept `empty_at`.
    #[must_use]
    pub fn give_back(&self, empty_at: DateTime<Utc>) -> DateTime<Utc> {
        empty_at - self.rate.interval()
    }

    /// Decides about one attempt at `now`, as [`Rate::admit`] does.
    ///
    /// # Errors
    /// The bucket is full; the stored time MUST NOT change.
    pub fn count_attempt(
        &self,
        empty_at: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Result<DateTime<Utc>, Throttled> {
        self.rate.admit(empty_at, now)
    }
}

impl fmt::Debug for ThrottleBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThrottleBucket")
            .field("rate", &self.rate)
            .finish_non_exhaustive()
    }
}

/// The kind of attempt, which decides how many of a store's connections its counting may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptKind {
    /// To sign in from a browser that is not remembered for the account. Strangers may be many: while other work
    /// waits for the store, all such attempts together MUST get no more of it than one client.
    StrangersSignIn,
    /// To sign in from a remembered browser, to join or to change one's own password.
    SignIn,
    /// To change something as an owner. A store MUST NOT use space for it that is kept for signing in.
    OwnerChange,
}

/// The bucket for which an attempt is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FullBucket {
    /// The first full one, in the order in which they are counted.
    pub bucket: ThrottleBucket,
    /// How long attempts are refused.
    pub throttled: Throttled,
}

impl FullBucket {
    /// The bucket, if it is full.
    #[must_use]
    pub fn check(
        bucket: ThrottleBucket,
        empty_at: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Option<Self> {
        let throttled = bucket.count_attempt(empty_at, now).err()?;
        Some(Self { bucket, throttled })
    }
}
