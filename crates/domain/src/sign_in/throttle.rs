//! How often somebody may try to sign in.
//!
//! Each bucket has a [rate](crate::rate): a store keeps one moment for it.

use std::fmt;
use std::net::IpAddr;

use chrono::{DateTime, TimeDelta, Utc};
use sha2::{Digest, Sha256};

use crate::id::{ApiKeyId, InvitationId, OrganizationId, UserId};
use crate::rate::{Rate, Throttled};
use crate::sign_in::password::{HashingQueue, PasswordHash};
use crate::sign_in::remembered_browser::RememberedBrowser;

/// What attempts are counted by. Those that succeed are given back, so what stays counted are failures; except where a
/// bucket says otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThrottleBucket {
    key: [u8; 32],
    rate: Rate,
}

// What an attacker gets against one account, by arithmetic: from one IPv4 address or one IPv6 /64, 10 guesses at once and
// 1,440 a day; from one IPv6 /48, 30 and 4,320 a day; from however many, 2,000 and 43,200 a day: 45,200 on the first day, and
// 15.8 million in a year. Whoever signed in with the password that the account has now gets more guesses at it from there: 10
// and 1,440 a day from one browser, 100 and 4,320 a day from all of them. A password has 15 characters at least, and no listed
// one is accepted: three words that were drawn from 7,776 are one of 4.7 × 10^11 (one year of guessing finds one of 30,000
// such passwords), fifteen random letters one of 1.7 × 10^21. Against all accounts together, one address or /64 gets 200 and
// 8,640 a day, one /48 500 and 17,280 a day.
//
// To keep an account's own bucket full, and so its holder's new browsers out, takes 30 addresses or 10 networks of /48 that
// guess all the time; or one address, if the holder's new browser shares it. Browsers in which the holder signed in with
// this password before are never concerned.

/// Slow enough that guessing is hopeless, forgiving to somebody who tries their old passwords.
const PER_PERSON: Rate = Rate::new(10, TimeDelta::minutes(1));
/// Of one IPv6 site against one account.
const PER_ACCOUNT_AND_SITE: Rate = Rate::new(30, TimeDelta::seconds(20));
/// However many addresses guess.
const PER_ACCOUNT: Rate = Rate::new(2_000, TimeDelta::seconds(2));
/// Of all browsers in which somebody signed in to the account. Only who knows its password can make one of them.
const PER_ACCOUNT_REMEMBERED: Rate = Rate::new(100, TimeDelta::seconds(20));
/// Offices share an address. More than ever are checked at once, so that nobody is refused because others, who will turn
/// out to be right, are being checked.
const PER_ADDRESS: Rate = Rate::new(200, TimeDelta::seconds(10));
/// An IPv6 /48 is what a provider gives to one site: it has 65,536 networks of /64.
const PER_SITE: Rate = Rate::new(500, TimeDelta::seconds(5));

/// More than any person needs, and few events in a year.
const SIGN_INS: Rate = Rate::new(60, TimeDelta::minutes(1));

const PER_INVITATION: Rate = Rate::new(10, TimeDelta::days(1));

/// Of events that strangers can bring about, so many are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventLimit {
    /// Wrong passwords of a user.
    WrongPasswords(UserId),
    /// Attempts at the password of a user that were not checked.
    UncheckedAttempts(UserId),
    /// Wrong current passwords of a user who wants another. Only who is signed in as them brings these about, and strangers
    /// hide none of them.
    WrongCurrentPasswords(UserId),
    /// Attempts at the current password of a user who wants another that were not checked.
    UncheckedCurrentPasswords(UserId),
    /// Attempts that were not checked because this bucket, of an address, was full.
    UncheckedFrom(ThrottleBucket),
    /// Usernames that nobody has.
    Nobody,
    /// Uses of a key that no longer works.
    RefusedUses {
        /// The key.
        of: ApiKeyId,
        /// Its organization.
        within: OrganizationId,
    },
    /// That more keys of an organization that no longer work were used than are told.
    MoreRefusedUses(OrganizationId),
}

impl EventLimit {
    /// How long it takes until the next is written of those that are written once an hour.
    pub const ONCE_AN_HOUR: TimeDelta = TimeDelta::hours(1);

    /// From which buckets such an event is taken: the narrowest first.
    #[must_use]
    pub fn buckets(self) -> Vec<ThrottleBucket> {
        let of = ThrottleBucket::of;
        match self {
            Self::WrongPasswords(user) => vec![of("refusals", user.as_uuid().as_bytes(), REFUSALS)],
            Self::UncheckedAttempts(user) => vec![of("limits", user.as_uuid().as_bytes(), ONE_AN_HOUR)],
            Self::WrongCurrentPasswords(user) => {
                vec![of("current refusals", user.as_uuid().as_bytes(), REFUSALS)]
            }
            Self::UncheckedCurrentPasswords(user) => {
                vec![of("current limits", user.as_uuid().as_bytes(), ONE_AN_HOUR)]
            }
            Self::UncheckedFrom(full) => vec![of("limits by", &full.key, ONE_AN_HOUR), Self::of_nobody()],
            Self::Nobody => vec![Self::of_nobody()],
            Self::RefusedUses { of: key, within } => vec![
                of("refused uses of", key.as_uuid().as_bytes(), ONE_AN_HOUR),
                of("refused uses in", within.as_uuid().as_bytes(), REFUSED_USES),
            ],
            Self::MoreRefusedUses(within) => {
                vec![of(
                    "more refused uses in",
                    within.as_uuid().as_bytes(),
                    ONE_AN_HOUR,
                )]
            }
        }
    }

    fn of_nobody() -> ThrottleBucket {
        ThrottleBucket::of("refusals of nobody", &[], OF_NOBODY)
    }
}

const REFUSALS: Rate = Rate::new(20, TimeDelta::hours(1));
const ONE_AN_HOUR: Rate = Rate::new(1, EventLimit::ONCE_AN_HOUR);
/// A program may hold many keys, and whoever took it uses each of them.
const REFUSED_USES: Rate = Rate::new(100, TimeDelta::seconds(36));
const OF_NOBODY: Rate = Rate::new(60, TimeDelta::minutes(10));

/// An account as attempts to sign in are counted: by what was typed as username, whether it exists or not, and by the
/// password that it has. So a new password begins with nothing counted, without a store having to find what to clear.
#[derive(Clone, Copy)]
pub struct CountedAccount([u8; 32]);

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

    /// With whom an attempt waits to be checked. Strangers, however many, do not wait with remembered browsers.
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

impl ThrottleBucket {
    /// The buckets of an attempt to sign in from a browser in which nobody signed in to the account before, in the order in
    /// which they MUST be taken from: so no two attempts wait for each other, and an address that is refused makes no
    /// buckets of accounts.
    #[must_use]
    pub fn of_attempt(account: CountedAccount, address: Option<IpAddr>) -> Vec<Self> {
        let networks = address.map(Networks::of);
        let mut buckets = networks
            .as_ref()
            .map(|networks| Self::of_networks("site", "address", networks))
            .unwrap_or_default();
        if let Some(networks) = networks {
            let from = |network: &[u8]| [account.0.as_slice(), network].concat();
            buckets.extend(
                networks
                    .site
                    .map(|site| Self::of("account and site", &from(&site), PER_ACCOUNT_AND_SITE)),
            );
            buckets.push(Self::of("account and address", &from(&networks.own), PER_PERSON));
        }
        buckets.push(Self::of("account", &account.0, PER_ACCOUNT));
        buckets
    }

    /// The buckets of a client's address: its own, in which an IPv6 client is its /64 network, and that of its /48.
    #[must_use]
    pub fn of_address(address: IpAddr) -> Vec<Self> {
        Self::of_networks("site", "address", &Networks::of(address))
    }

    /// The buckets of the usernames that newcomers at an address tried and that are taken. Who guesses at passwords there
    /// fills others: only who has an invitation gets here.
    #[must_use]
    pub fn of_newcomers_address(address: IpAddr) -> Vec<Self> {
        Self::of_networks("newcomers' site", "newcomers' address", &Networks::of(address))
    }

    fn of_networks(site: &str, own: &str, networks: &Networks) -> Vec<Self> {
        let site = networks.site.map(|network| Self::of(site, &network, PER_SITE));
        let own = Self::of(own, &networks.own, PER_ADDRESS);
        site.into_iter().chain([own]).collect()
    }

    /// The buckets of an attempt from a browser in which its user signed in before: that browser's, and the one of all such
    /// browsers, of which somebody may have collected many. Nobody else can fill them.
    #[must_use]
    pub fn of_remembered(account: CountedAccount, browser: RememberedBrowser) -> Vec<Self> {
        let own = [account.0.as_slice(), &browser.0].concat();
        vec![
            Self::of("browser", &own, PER_PERSON),
            Self::of("browsers", &account.0, PER_ACCOUNT_REMEMBERED),
        ]
    }

    /// The bucket of the sign-ins of a user that succeed, which are never given back: each starts a session and is told in
    /// the audit log.
    #[must_use]
    pub fn sign_ins_of(user: UserId) -> Self {
        Self::of("sign-ins", user.as_uuid().as_bytes(), SIGN_INS)
    }

    /// The bucket of a user who changes their password. Only who is signed in as them takes from it: strangers who try
    /// to sign in as them fill [others](Self::of_attempt).
    #[must_use]
    pub fn password_change(user: UserId) -> Self {
        Self::of("password", user.as_uuid().as_bytes(), PER_PERSON)
    }

    /// The bucket of the usernames that were tried with an invitation and are taken. An honest newcomer meets few; whoever
    /// wants to know who is here learns 10 names at once and 16 in the invitation's 7 days.
    #[must_use]
    pub fn invitation(invitation: InvitationId) -> Self {
        Self::of("invitation", invitation.as_uuid().as_bytes(), PER_INVITATION)
    }

    fn of(kind: &str, value: &[u8], rate: Rate) -> Self {
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
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.key
    }

    /// What a store keeps once an attempt is given back, if it kept `empty_at`.
    #[must_use]
    pub fn give_back(&self, empty_at: DateTime<Utc>) -> DateTime<Utc> {
        empty_at - self.rate.interval()
    }

    /// Decides about one attempt at `now`, as [`Rate::take`] does.
    ///
    /// # Errors
    /// The bucket is full; what is stored MUST stay as it is.
    pub fn take(
        &self,
        empty_at: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Result<DateTime<Utc>, Throttled> {
        self.rate.take(empty_at, now)
    }
}

/// Where an attempt comes from, as much of the address as one person or one site has.
struct Networks {
    own: [u8; 16],
    site: Option<[u8; 16]>,
}

impl Networks {
    fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self {
                own: address.to_ipv6_mapped().octets(),
                site: None,
            },
            IpAddr::V6(address) => {
                let prefix = |bits: u32| (u128::from(address) >> (128 - bits) << (128 - bits)).to_be_bytes();
                Self {
                    own: prefix(64),
                    site: Some(prefix(48)),
                }
            }
        }
    }
}

fn digest(kind: &str, value: &[u8]) -> [u8; 32] {
    Sha256::new()
        .chain_update(kind)
        .chain_update([0])
        .chain_update(value)
        .finalize()
        .into()
}

impl fmt::Debug for ThrottleBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThrottleBucket")
            .field("rate", &self.rate)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use chrono::{DateTime, TimeDelta, Utc};

    use super::{CountedAccount, ThrottleBucket, Throttled};
    use crate::clock::Clock;
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

        fn take(&mut self, now: DateTime<Utc>) -> Result<(), Throttled> {
            self.empty_at = Some(self.bucket.take(self.empty_at, now)?);
            Ok(())
        }

        fn passing(&mut self, now: DateTime<Utc>) -> usize {
            (0..10_000).take_while(|_| self.take(now).is_ok()).count()
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
    fn a_full_bucket_gives_attempts_back_one_by_one() {
        let mut stored = Stored::new(password_change());
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
    fn the_bounds_of_guessing_are_as_documented() {
        let told: Vec<_> = attempt("ada", "192.0.2.7").into_iter().map(bounds).collect();
        let (address, from_address, account) = ((200, 8_640), (10, 1_440), (2_000, 43_200));
        assert_eq!(told, [address, from_address, account]);

        let told: Vec<_> = attempt("ada", "2001:db8::1").into_iter().map(bounds).collect();
        let (site, from_site) = ((500, 17_280), (30, 4_320));
        assert_eq!(told, [site, address, from_site, from_address, account]);

        let account = CountedAccount::new("ada", None);
        let browsers = ThrottleBucket::of_remembered(account, RememberedBrowser([7; 16]));
        let told: Vec<_> = browsers.into_iter().map(bounds).collect();
        assert_eq!(told, [(10, 1_440), (100, 4_320)]);
    }

    #[test]
    fn an_attempt_that_is_given_back_was_never_counted() {
        let bucket = password_change();
        let now = FixedClock::default().now();
        let once = bucket.take(None, now).unwrap();
        let twice = bucket.take(Some(once), now).unwrap();
        assert_eq!(bucket.give_back(twice), once);
        assert!(bucket.give_back(once) <= now, "as good as never used");
    }

    #[test]
    fn a_clock_that_steps_back_gives_nothing_away() {
        let mut stored = Stored::new(password_change());
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
        let bucket = password_change();
        let now = FixedClock::default().now();
        for past in [now, now - TimeDelta::seconds(1), now - TimeDelta::days(400)] {
            assert_eq!(bucket.take(Some(past), now), bucket.take(None, now));
        }
    }

    #[test]
    fn ipv6_networks_share_buckets_and_ipv4_addresses_do_not() {
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
    fn accounts_share_only_the_address() {
        let other = attempt("bob", "192.0.2.7");
        let shared: Vec<_> = attempt("ada", "192.0.2.7")
            .into_iter()
            .filter(|bucket| other.contains(bucket))
            .collect();
        assert_eq!(shared, ThrottleBucket::of_address([192, 0, 2, 7].into()));
    }

    #[test]
    fn a_new_password_begins_with_nothing_counted() {
        let buckets = |hash: &str| {
            let hash = PasswordHash::from_phc_string(hash.to_owned());
            ThrottleBucket::of_attempt(CountedAccount::new("ada", Some(&hash)), None)
        };
        assert_eq!(buckets("one"), buckets("one"));
        assert_ne!(buckets("one"), buckets("another"));
    }
}
