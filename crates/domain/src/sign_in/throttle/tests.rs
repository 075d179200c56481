use std::net::IpAddr;

use chrono::{DateTime, TimeDelta, Utc};

use super::{CountedAccount, ThrottleBucket};
use crate::clock::Clock;
use crate::rate::Throttled;
use crate::sign_in::password::PasswordHash;
use crate::sign_in::remembered_browser::RememberedBrowser;
use crate::testing::{Builder, FixedClock};

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

    fn count_attempt(&mut self, now: DateTime<Utc>) -> Result<(), Throttled> {
        self.empty_at = Some(self.bucket.count_attempt(self.empty_at, now)?);
        Ok(())
    }

    fn passing(&mut self, now: DateTime<Utc>) -> usize {
        (0..10_000)
            .take_while(|_| self.count_attempt(now).is_ok())
            .count()
    }
}

fn attempt(typed: &str, address: &str) -> Vec<ThrottleBucket> {
    let address = address.parse::<IpAddr>().unwrap();
    ThrottleBucket::of_attempt(CountedAccount::new(typed, None), Some(address))
}

fn password_change() -> ThrottleBucket {
    ThrottleBucket::password_change(Builder::new(1).ids.next())
}

/// How many attempts pass at once, and how many more in a day.
fn bounds(bucket: ThrottleBucket) -> (usize, usize) {
    let now = FixedClock::default().now();
    let mut stored = Stored::new(bucket);
    let at_once = stored.passing(now);
    let minutes = 1..=24 * 60;
    let later = minutes.map(|minute| stored.passing(now + TimeDelta::minutes(minute)));
    (at_once, later.sum())
}

#[test]
fn exhausted_bucket_regains_attempts_one_by_one() {
    let mut stored = Stored::new(password_change());
    let now = FixedClock::default().now();
    assert_eq!(stored.passing(now), 10);
    let refused = stored.count_attempt(now).unwrap_err();
    assert_eq!(refused.retry_after, TimeDelta::minutes(1));

    let almost = now + TimeDelta::minutes(1) - TimeDelta::milliseconds(1);
    assert_eq!(
        stored.count_attempt(almost).unwrap_err().retry_after,
        TimeDelta::milliseconds(1)
    );
    assert_eq!(stored.passing(now + TimeDelta::minutes(1)), 1);
    assert_eq!(stored.passing(now + TimeDelta::minutes(4)), 3);
    assert_eq!(stored.passing(now + TimeDelta::days(1)), 10);
}

#[test]
fn guessing_limits_are_as_documented() {
    let counted: Vec<_> = attempt("ada", "192.0.2.7").into_iter().map(bounds).collect();
    let (address, from_address, account) = ((200, 8_640), (10, 1_440), (2_000, 43_200));
    assert_eq!(counted, [address, from_address, account]);

    let counted: Vec<_> = attempt("ada", "2001:db8::1").into_iter().map(bounds).collect();
    let (site, from_site) = ((500, 17_280), (30, 4_320));
    assert_eq!(counted, [site, address, from_site, from_address, account]);

    let account = CountedAccount::new("ada", None);
    let browsers = ThrottleBucket::of_remembered(account, RememberedBrowser([7; 16]));
    let counted: Vec<_> = browsers.into_iter().map(bounds).collect();
    assert_eq!(counted, [(10, 1_440), (100, 4_320)]);
}

#[test]
fn returned_attempt_is_not_counted() {
    let bucket = password_change();
    let now = FixedClock::default().now();
    let once = bucket.count_attempt(None, now).unwrap();
    let twice = bucket.count_attempt(Some(once), now).unwrap();
    assert_eq!(bucket.give_back(twice), once);
    assert!(bucket.give_back(once) <= now, "as good as never used");
}

#[test]
fn clock_stepping_back_grants_no_attempts() {
    let mut stored = Stored::new(password_change());
    let now = FixedClock::default().now();
    assert_eq!(stored.passing(now), 10);
    let earlier = now - TimeDelta::seconds(30);
    assert_eq!(
        stored.count_attempt(earlier).unwrap_err().retry_after,
        TimeDelta::seconds(90)
    );
}

#[test]
fn refilled_bucket_may_be_forgotten() {
    let bucket = password_change();
    let now = FixedClock::default().now();
    for past in [now, now - TimeDelta::seconds(1), now - TimeDelta::days(400)] {
        assert_eq!(
            bucket.count_attempt(Some(past), now),
            bucket.count_attempt(None, now)
        );
    }
}

#[test]
fn ipv6_networks_share_buckets_but_ipv4_addresses_do_not() {
    let shared = |one: &str, other: &str| {
        let other = attempt("ada", other);
        attempt("ada", one)
            .iter()
            .filter(|bucket| other.contains(bucket))
            .count()
    };
    let only_the_account = 1;
    assert_eq!(shared("2001:db8::1", "2001:db8::ffff:0:0:2"), 5);
    assert_eq!(shared("2001:db8::1", "2001:db8:0:1::1"), only_the_account + 2);
    assert_eq!(shared("2001:db8::1", "2001:db8:1::1"), only_the_account);
    assert_eq!(shared("::ffff:192.0.2.7", "192.0.2.7"), 3);
    assert_eq!(shared("192.0.2.7", "192.0.2.8"), only_the_account);
}

#[test]
fn accounts_share_only_the_address_bucket() {
    let other = attempt("bob", "192.0.2.7");
    let shared: Vec<_> = attempt("ada", "192.0.2.7")
        .into_iter()
        .filter(|bucket| other.contains(bucket))
        .collect();
    assert_eq!(shared, ThrottleBucket::of_address([192, 0, 2, 7].into()));
}

#[test]
fn new_password_starts_with_empty_counters() {
    let buckets = |hash: &str| {
        let hash = PasswordHash::from_phc_string(hash.to_owned());
        ThrottleBucket::of_attempt(CountedAccount::new("ada", Some(&hash)), None)
    };
    assert_eq!(buckets("one"), buckets("one"));
    assert_ne!(buckets("one"), buckets("another"));
}
