//! How often somebody may try to sign in.
//!
//! A leaky bucket in the form of the generic cell rate algorithm (GCRA, ITU-T I.371): one moment per bucket, so that a
//! store needs one row, one atomic statement, and no clean-up to be right.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use chrono::{DateTime, TimeDelta, Utc};
use sha2::{Digest, Sha256};

use crate::id::UserId;

/// What attempts are counted by: an account, an address, or who changes their password.
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

    /// The bucket of a user who changes their password. Only who is signed in as them takes from it: strangers who try
    /// to sign in as them fill [another](Self::account).
    #[must_use]
    pub fn password_change(user: UserId) -> Self {
        Self::of("password", user.as_uuid().as_bytes(), PER_ACCOUNT)
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
#[error("too many attempts: try again in {} seconds", self.whole_seconds())]
pub struct Throttled {
    /// How long to wait.
    pub retry_after: TimeDelta,
}

impl Throttled {
    /// How long to wait, in seconds, rounded up.
    #[must_use]
    pub fn whole_seconds(&self) -> i64 {
        self.retry_after.num_seconds() + i64::from(self.retry_after.subsec_nanos() > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use chrono::{DateTime, TimeDelta, Utc};

    use super::{ThrottleBucket, Throttled};
    use crate::clock::Clock;
    use crate::testing::FixedClock;

    /// A bucket as a store keeps it.
    struct Stored {
        bucket: ThrottleBucket,
        empty_at: Option<DateTime<Utc>>,
    }

    impl Stored {
        fn new(bucket: ThrottleBucket) -> Self {
            Self {
                bucket,
                empty_at: None,
            }
        }

        fn take(&mut self, now: DateTime<Utc>) -> Result<(), Throttled> {
            self.empty_at = Some(self.bucket.take(self.empty_at, now)?);
            Ok(())
        }

        fn passing(&mut self, now: DateTime<Utc>) -> usize {
            (0..1_000).take_while(|_| self.take(now).is_ok()).count()
        }
    }

    fn address(text: &str) -> ThrottleBucket {
        ThrottleBucket::address(text.parse::<IpAddr>().unwrap())
    }

    #[test]
    fn an_account_takes_10_attempts_and_one_more_each_minute() {
        let mut stored = Stored::new(ThrottleBucket::account("ada"));
        let now = FixedClock::default().now();
        assert_eq!(stored.passing(now), 10);
        let refused = stored.take(now).unwrap_err();
        assert_eq!(refused.retry_after, TimeDelta::minutes(1));

        let almost = now + TimeDelta::minutes(1) - TimeDelta::milliseconds(1);
        assert_eq!(
            stored.take(almost).unwrap_err().retry_after,
            TimeDelta::milliseconds(1)
        );
        assert_eq!(stored.passing(now + TimeDelta::minutes(1)), 1);
        assert_eq!(stored.passing(now + TimeDelta::minutes(4)), 3);
        assert_eq!(stored.passing(now + TimeDelta::days(1)), 10);
    }

    #[test]
    fn an_address_takes_50_attempts_and_one_more_every_10_seconds() {
        let mut stored = Stored::new(address("192.0.2.7"));
        let now = FixedClock::default().now();
        assert_eq!(stored.passing(now), 50);
        assert_eq!(stored.passing(now + TimeDelta::seconds(10)), 1);
        assert_eq!(stored.passing(now + TimeDelta::seconds(30)), 2);
    }

    #[test]
    fn a_clock_that_steps_back_gives_nothing_away() {
        let mut stored = Stored::new(ThrottleBucket::account("ada"));
        let now = FixedClock::default().now();
        assert_eq!(stored.passing(now), 10);
        let earlier = now - TimeDelta::seconds(30);
        assert_eq!(
            stored.take(earlier).unwrap_err().retry_after,
            TimeDelta::seconds(90)
        );
    }

    #[test]
    fn a_bucket_that_ran_empty_may_be_forgotten() {
        let bucket = ThrottleBucket::account("ada");
        let now = FixedClock::default().now();
        for past in [now, now - TimeDelta::seconds(1), now - TimeDelta::days(400)] {
            assert_eq!(bucket.take(Some(past), now), bucket.take(None, now));
        }
    }

    #[test]
    fn an_ipv6_network_shares_a_bucket_and_an_ipv4_address_has_its_own() {
        assert_eq!(address("2001:db8::1"), address("2001:db8::ffff:0:0:2"));
        assert_ne!(address("2001:db8::1"), address("2001:db8:0:1::1"));
        assert_ne!(address("192.0.2.7"), address("192.0.2.8"));
        assert_eq!(address("::ffff:192.0.2.7"), address("192.0.2.7"));
        assert_ne!(address("::ffff:192.0.2.7"), address("::ffff:192.0.2.8"));
    }

    #[test]
    fn a_username_that_looks_like_an_address_has_a_bucket_of_its_own() {
        let account = ThrottleBucket::account("192.0.2.7");
        assert_ne!(account.as_bytes(), address("192.0.2.7").as_bytes());
        assert_ne!(
            account.as_bytes(),
            ThrottleBucket::account("192.0.2.8").as_bytes()
        );
    }
}
