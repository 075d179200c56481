//! Browsers in which a user signed in before, so that strangers who guess the password of the same account do
//! not lock the user out.
//!
//! Such a browser has a cookie that names it, signed for its user and the password at that time. It gives no
//! access, only a rate limit of its own (see
//! [`ThrottleBucket::of_remembered`](super::throttle::ThrottleBucket::of_remembered)). Nothing about it is
//! stored, so nothing has to be purged. A new password invalidates the cookies of all browsers but the one in
//! which it was chosen, because a thief of the old password may have such cookies.

use chrono::{DateTime, TimeDelta, Utc};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::id::UserId;
use crate::random::Random;
use crate::secret::redacted;
use crate::sign_in::password::PasswordHash;

/// The key with which an installation signs these cookies, the same on every server.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct BrowserKey([u8; Self::BYTES]);

/// A browser in which a user signed in: the number that it was given then.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RememberedBrowser(pub(super) [u8; NONCE]);

/// The value of such a browser's cookie: an entry for each of the users who signed in there recently, the
/// latest first.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct BrowserToken(String);

const NONCE: usize = 16;
/// Half of an HMAC-SHA-256, as RFC 2104 allows.
const SIGNATURE: usize = 16;
/// In hexadecimal digits: the number, when the entry expires (in seconds since 1970), and the signatures for
/// the user and for their password.
const ENTRY: usize = 2 * (NONCE + 8 + 2 * SIGNATURE);

impl BrowserKey {
    /// How long it is.
    pub const BYTES: usize = 32;

    /// Makes a new key.
    #[must_use]
    pub fn generate(random: &dyn Random) -> Self {
        let mut key = Self([0; Self::BYTES]);
        random.fill(&mut key.0);
        key
    }

    /// Takes a key from storage.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// The key as storage keeps it.
    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    fn mac(&self, signed: &[&[u8]]) -> Option<Hmac<Sha256>> {
        // Any length of a key will do, so there is always one.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        for part in signed {
            mac.update(part);
        }
        Some(mac)
    }
}

/// The signed data of one user's entry.
struct Entry {
    nonce: [u8; NONCE],
    expires_at: i64,
}

impl Entry {
    /// Says whose entry it is, also after they chose another password.
    fn mac_of_user(&self, key: &BrowserKey, user: UserId) -> Option<Hmac<Sha256>> {
        let expires_at = self.expires_at.to_be_bytes();
        key.mac(&[
            b"remembered browser",
            user.as_uuid().as_bytes(),
            &self.nonce,
            &expires_at,
        ])
    }

    fn mac_of_password(&self, key: &BrowserKey, password: &PasswordHash) -> Option<Hmac<Sha256>> {
        key.mac(&[
            b"password at that time",
            &self.nonce,
            password.as_str().as_bytes(),
        ])
    }
}

/// An entry as a browser sends it.
struct SentEntry {
    entry: Entry,
    of_user: [u8; SIGNATURE],
    of_password: [u8; SIGNATURE],
}

impl SentEntry {
    fn parse(digits: &str) -> Option<Self> {
        let (nonce, rest) = digits.split_at_checked(2 * NONCE)?;
        let (expires_at, rest) = rest.split_at_checked(2 * 8)?;
        let (of_user, of_password) = rest.split_at_checked(2 * SIGNATURE)?;
        Some(Self {
            entry: Entry {
                nonce: from_hexadecimal(nonce)?,
                expires_at: i64::from_be_bytes(from_hexadecimal(expires_at)?),
            },
            of_user: from_hexadecimal(of_user)?,
            of_password: from_hexadecimal(of_password)?,
        })
    }

    fn is_of_user(&self, key: &BrowserKey, user: UserId) -> bool {
        is_signed(self.entry.mac_of_user(key, user), &self.of_user)
    }

    fn is_of_password(&self, key: &BrowserKey, password: &PasswordHash) -> bool {
        is_signed(self.entry.mac_of_password(key, password), &self.of_password)
    }
}

/// In constant time.
fn is_signed(mac: Option<Hmac<Sha256>>, signature: &[u8; SIGNATURE]) -> bool {
    mac.is_some_and(|mac| mac.verify_truncated_left(signature).is_ok())
}

impl BrowserToken {
    /// How long a browser is remembered after its user signed in there: half the time that browsers keep
    /// cookies (400 days, RFC 6265bis §5.5), and longer than people stay away.
    pub const LIFETIME: TimeDelta = TimeDelta::days(200);

    /// How many users of one browser are remembered.
    const USERS: usize = 4;

    /// Reads a cookie; `None` if it is malformed.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let is_entry = |entry: &str| entry.len() == ENTRY && entry.bytes().all(is_digit);
        let entries = text.split('.');
        (entries.clone().count() <= Self::USERS && entries.into_iter().all(is_entry))
            .then(|| Self(text.to_owned()))
    }

    /// The value of the cookie.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The browser, if the user signed in there with the password that they have now, and not too long before
    /// `now`.
    #[must_use]
    pub fn browser_of(
        &self,
        user: UserId,
        password: &PasswordHash,
        key: &BrowserKey,
        now: DateTime<Utc>,
    ) -> Option<RememberedBrowser> {
        let mut sent = self.entries().filter_map(SentEntry::parse);
        let found = sent.find(|sent| sent.is_of_user(key, user) && sent.is_of_password(key, password))?;
        (now.timestamp() < found.entry.expires_at).then_some(RememberedBrowser(found.entry.nonce))
    }

    /// The new cookie after the user proved that they know this password. It has a new random number, so that
    /// an attacker who planted the previous cookie does not share the user's rate limit.
    #[must_use]
    pub fn remember(
        user: UserId,
        password: &PasswordHash,
        before: Option<&Self>,
        key: &BrowserKey,
        now: DateTime<Utc>,
        random: &dyn Random,
    ) -> Option<Self> {
        let mut entry = Entry {
            nonce: [0; NONCE],
            expires_at: (now + Self::LIFETIME).timestamp(),
        };
        random.fill(&mut entry.nonce);
        let of_user = entry.mac_of_user(key, user)?.finalize().into_bytes();
        let of_password = entry.mac_of_password(key, password)?.finalize().into_bytes();
        let expires_at = entry.expires_at.to_be_bytes();
        let parts = [
            &entry.nonce[..],
            &expires_at,
            &of_user[..SIGNATURE],
            &of_password[..SIGNATURE],
        ];
        let mut text = parts.map(hex::encode).concat();
        let is_of_another =
            |entry: &&str| SentEntry::parse(entry).is_some_and(|sent| !sent.is_of_user(key, user));
        let others = before.into_iter().flat_map(Self::entries).filter(is_of_another);
        for other in others.take(Self::USERS - 1) {
            text.push('.');
            text.push_str(other);
        }
        Some(Self(text))
    }

    fn entries(&self) -> impl Iterator<Item = &str> {
        self.0.split('.')
    }
}

fn from_hexadecimal<const BYTES: usize>(digits: &str) -> Option<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    hex::decode_to_slice(digits, &mut bytes).ok()?;
    Some(bytes)
}

redacted!(BrowserKey, BrowserToken, RememberedBrowser);

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::{BrowserKey, BrowserToken};
    use crate::clock::Clock;
    use crate::id::UserId;
    use crate::sign_in::password::PasswordHash;
    use crate::testing::Builder;

    fn password(number: u8) -> PasswordHash {
        PasswordHash::from_phc_string(format!("$password-{number}"))
    }

    fn remember(
        make: &Builder,
        key: &BrowserKey,
        user: UserId,
        before: Option<&BrowserToken>,
    ) -> BrowserToken {
        let token = BrowserToken::remember(user, &password(1), before, key, make.clock.now(), &*make.random)
            .expect("a token");
        BrowserToken::parse(token.expose()).expect("it is read back")
    }

    #[test]
    fn browser_is_remembered_for_its_user_only() {
        let make = Builder::new(1);
        let key = BrowserKey::generate(&*make.random);
        let (ada, bob): (UserId, UserId) = (make.ids.next(), make.ids.next());
        let token = remember(&make, &key, ada, None);
        let now = make.clock.now();
        assert!(token.browser_of(ada, &password(1), &key, now).is_some());
        assert_eq!(token.browser_of(bob, &password(1), &key, now), None);
        let other_key = BrowserKey::generate(&*make.random);
        assert_eq!(token.browser_of(ada, &password(1), &other_key, now), None);
    }

    #[test]
    fn password_change_forgets_browser_without_adding_a_second_entry() {
        let make = Builder::new(1);
        let key = BrowserKey::generate(&*make.random);
        let (ada, bob): (UserId, UserId) = (make.ids.next(), make.ids.next());
        let now = make.clock.now();
        let old = remember(&make, &key, ada, None);
        let old = remember(&make, &key, bob, Some(&old));
        assert_eq!(old.browser_of(ada, &password(2), &key, now), None);

        let new = BrowserToken::remember(ada, &password(2), Some(&old), &key, now, &*make.random);
        let new = new.expect("a token");
        assert!(new.browser_of(ada, &password(2), &key, now).is_some());
        assert_eq!(new.browser_of(ada, &password(1), &key, now), None);
        assert!(new.browser_of(bob, &password(1), &key, now).is_some());
        assert_eq!(new.expose().len(), old.expose().len());
    }

    #[test]
    fn remembered_browser_expires() {
        let make = Builder::new(1);
        let key = BrowserKey::generate(&*make.random);
        let ada = make.ids.next();
        let token = remember(&make, &key, ada, None);
        let end = make.clock.now() + BrowserToken::LIFETIME;
        assert!(
            token
                .browser_of(ada, &password(1), &key, end - TimeDelta::seconds(1))
                .is_some()
        );
        assert_eq!(
            token.browser_of(ada, &password(1), &key, end + TimeDelta::seconds(1)),
            None
        );
    }

    #[test]
    fn altered_browser_token_is_rejected() {
        let make = Builder::new(1);
        let key = BrowserKey::generate(&*make.random);
        let ada = make.ids.next();
        let token = remember(&make, &key, ada, None);
        for position in 0..token.expose().len() {
            let mut changed: Vec<char> = token.expose().chars().collect();
            changed[position] = if changed[position] == '0' { '1' } else { '0' };
            let changed: String = changed.into_iter().collect();
            let changed = BrowserToken::parse(&changed).expect("still of that form");
            assert_eq!(
                changed.browser_of(ada, &password(1), &key, make.clock.now()),
                None,
                "digit {position}"
            );
        }
    }

    #[test]
    fn browser_remembers_each_of_its_last_users() {
        let make = Builder::new(1);
        let key = BrowserKey::generate(&*make.random);
        let users: Vec<UserId> = (0..5).map(|_| make.ids.next()).collect();
        let mut token = None;
        for user in &users {
            token = Some(remember(&make, &key, *user, token.as_ref()));
        }
        let token = token.expect("a token");
        let known = users.iter().map(|user| {
            token
                .browser_of(*user, &password(1), &key, make.clock.now())
                .is_some()
        });
        assert_eq!(known.collect::<Vec<_>>(), [false, true, true, true, true]);

        let again = remember(&make, &key, users[4], Some(&token));
        assert_eq!(
            again.expose().len(),
            token.expose().len(),
            "no user is in it twice"
        );
        let number = |token: &BrowserToken| token.browser_of(users[4], &password(1), &key, make.clock.now());
        assert_ne!(number(&again), number(&token), "the number is new");
    }

    #[test]
    fn malformed_browser_token_is_ignored() {
        let entry = "0".repeat(super::ENTRY);
        for text in [
            "",
            "x",
            &entry[1..],
            &entry.replace('0', "A"),
            &[entry.as_str(); 5].join("."),
            &format!("{entry}."),
        ] {
            assert!(BrowserToken::parse(text).is_none(), "{text}");
        }
        assert_eq!(
            format!("{:?}", BrowserToken::parse(&entry)),
            "Some(BrowserToken(redacted))"
        );
    }
}
