//! How often somebody may try to sign in.
//!
//! A leaky bucket in the form of the generic cell rate algorithm (GCRA, ITU-T I.371): one moment per bucket, so that a
//! store needs one row, one atomic statement, and no clean-up to be right.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use chrono::{DateTime, TimeDelta, Utc};
use sha2::{Digest, Sha256};

/// What attempts are counted by: an account, or an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThrottleBucket {
    key: [u8; 32],
    rate: Rate,
}

/// How many attempts at once, and how long until one of them is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Rate {
    burst: i32,
    interval: TimeDelta,
}

/// Slow enough that guessing is hopeless, forgiving to somebody who tries their old passwords.
const PER_ACCOUNT: Rate = Rate {
    burst: 10,
    interval: TimeDelta::minutes(1),
};
/// Offices share an address, so it may try more.
const PER_ADDRESS: Rate = Rate {
    burst: 50,
    interval: TimeDelta::seconds(10),
};

impl ThrottleBucket {
    /// The bucket of whatever was typed as username, whether it exists or not. Only a digest of it is kept: people
    /// type passwords into the wrong field.
    #[must_use]
    pub fn account(typed: &str) -> Self {
        Self::of("account", typed.as_bytes(), PER_ACCOUNT)
    }

    /// The bucket of a client's address; an IPv6 client is its /64 network, which one person has whole.
    #[must_use]
    pub fn address(address: IpAddr) -> Self {
        let network = match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => {
                let prefix = u128::from(address) >> 64 << 64;
                IpAddr::V6(Ipv6Addr::from(prefix))
            }
        };
        Self::of("address", network.to_string().as_bytes(), PER_ADDRESS)
    }

    fn of(kind: &str, value: &[u8], rate: Rate) -> Self {
        let key = Sha256::new()
            .chain_update(kind)
            .chain_update([0])
            .chain_update(value)
            .finalize()
            .into();
        Self { key, rate }
    }

    /// The bucket's key in storage.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.key
    }

    /// Decides about one attempt at `now`. A store keeps one moment per bucket, `empty_at`, at which the bucket will
    /// have run empty; it is absent for a bucket never used, and may be forgotten once it is past.
    ///
    /// # Errors
    /// The bucket is full; what is stored MUST stay as it is.
    pub fn take(
        &self,
        empty_at: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Result<DateTime<Utc>, Throttled> {
        let empty_at = empty_at.map_or(now, |moment| moment.max(now)) + self.rate.interval;
        let allowed_from = empty_at - self.rate.interval * self.rate.burst;
        if allowed_from <= now {
            Ok(empty_at)
        } else {
            Err(Throttled {
                retry_after: allowed_from - now,
            })
        }
    }
}

impl fmt::Debug for ThrottleBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThrottleBucket")
            .field("rate", &self.rate)
            .finish_non_exhaustive()
    }
}

/// Too many attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many attempts: try again in {} seconds", .retry_after.num_seconds() + 1)]
pub struct Throttled {
    /// How long to wait.
    pub retry_after: TimeDelta,
}
