//! Browsers in which somebody signed in before, so that strangers who guess at the same account do not keep them out.
//!
//! Such a browser has a cookie that names it, signed for its user. It lets nobody in: it only has attempts of its own
//! (see [`ThrottleBucket::browser`](super::throttle::ThrottleBucket::browser)). Nothing about it is stored, so nothing
//! has to be cleared up, and it outlives a change of the password.

use std::fmt;
use std::fmt::Write;

use chrono::{DateTime, TimeDelta, Utc};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::id::UserId;
use crate::random::Random;

/// What an installation signs these cookies with, the same on every server.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct BrowserKey([u8; Self::BYTES]);

/// A browser in which a user signed in: the number that it was given then.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RememberedBrowser(pub(super) [u8; NONCE]);

/// What the cookie of such a browser holds: an entry for each of the users who signed in there of late, the latest first.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct BrowserToken(String);

const NONCE: usize = 16;
/// In hexadecimal digits: the number, when the entry expires (in seconds since 1970), and the signature.
const ENTRY: usize = 2 * (NONCE + 8 + 32);

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
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    fn signature_of(&self, user: UserId, nonce: [u8; NONCE], expires_at: i64) -> Option<Hmac<Sha256>> {
        // Any length of a key will do, so there is always one.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        mac.update(b"remembered browser");
        mac.update(user.as_uuid().as_bytes());
        mac.update(&nonce);
        mac.update(&expires_at.to_be_bytes());
        Some(mac)
    }
}

impl BrowserToken {
    /// How long a browser is remembered after its user signed in there: half the time that browsers keep cookies (400
    /// days, RFC 6265bis §5.5), and longer than people stay away.
    pub const LIFETIME: TimeDelta = TimeDelta::days(200);

    /// How many users of one browser are remembered.
    const USERS: usize = 4;

    /// Reads a cookie that somebody sent; nothing if it cannot be one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let is_entry = |entry: &str| entry.len() == ENTRY && entry.bytes().all(is_digit);
        let entries = text.split('.');
        (entries.clone().count() <= Self::USERS && entries.into_iter().all(is_entry))
            .then(|| Self(text.to_owned()))
    }

    /// What the cookie holds.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The browser, if the user signed in there at some time before `now` that is not too long ago.
    #[must_use]
    pub fn browser_of(
        &self,
        user: UserId,
        key: &BrowserKey,
        now: DateTime<Utc>,
    ) -> Option<RememberedBrowser> {
        self.entries().find_map(|entry| {
            let (nonce, rest) = entry.split_at_checked(2 * NONCE)?;
            let (expires_at, signature) = rest.split_at_checked(2 * 8)?;
            let nonce = from_hexadecimal::<NONCE>(nonce)?;
            let expires_at = i64::from_be_bytes(from_hexadecimal(expires_at)?);
            let signature = from_hexadecimal::<32>(signature)?;
            // In constant time.
            let signed = key
                .signature_of(user, nonce, expires_at)?
                .verify(&signature.into());
            (signed.is_ok() && now.timestamp() < expires_at).then_some(RememberedBrowser(nonce))
        })
    }

    /// What the browser's cookie shall hold now that the user signed in there. It is a number that nobody knew before: who
    /// planted a cookie there shares no attempts with its user.
    #[must_use]
    pub fn remember(
        user: UserId,
        before: Option<&Self>,
        key: &BrowserKey,
        now: DateTime<Utc>,
        random: &dyn Random,
    ) -> Option<Self> {
        let mut nonce = [0; NONCE];
        random.fill(&mut nonce);
        let expires_at = (now + Self::LIFETIME).timestamp();
        let signature: [u8; 32] = key
            .signature_of(user, nonce, expires_at)?
            .finalize()
            .into_bytes()
            .into();
        let mut text = String::with_capacity(Self::USERS * (ENTRY + 1));
        for byte in nonce.iter().chain(&expires_at.to_be_bytes()).chain(&signature) {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        let others = before.into_iter().flat_map(Self::entries).filter(|entry| {
            let entry = Self((*entry).to_owned());
            entry.browser_of(user, key, now).is_none()
        });
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
    for (position, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * position..2 * position + 2)?, 16).ok()?;
    }
    Some(bytes)
}

impl fmt::Debug for BrowserKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BrowserKey(redacted)")
    }
}

impl fmt::Debug for BrowserToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BrowserToken(redacted)")
    }
}

impl fmt::Debug for RememberedBrowser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RememberedBrowser(redacted)")
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::{BrowserKey, BrowserToken};
    use crate::clock::Clock;
    use crate::id::UserId;
    use crate::testing::Builder;

    fn remember(
        make: &Builder,
        key: &BrowserKey,
        user: UserId,
        before: Option<&BrowserToken>,
    ) -> BrowserToken {
        let token =
            BrowserToken::remember(user, before, key, make.clock.now(), &*make.random).expect("a token");
        BrowserToken::parse(token.expose()).expect("it is read back")
    }

    #[test]
    fn a_browser_is_remembered_for_its_user_only() {
        let make = Builder::new(1);
        let key = BrowserKey::generate(&*make.random);
        let (ada, bob): (UserId, UserId) = (make.ids.next(), make.ids.next());
        let token = remember(&make, &key, ada, None);
        let now = make.clock.now();
        assert!(token.browser_of(ada, &key, now).is_some());
        assert_eq!(token.browser_of(bob, &key, now), None);
        let other_key = BrowserKey::generate(&*make.random);
        assert_eq!(token.browser_of(ada, &other_key, now), None);
    }

    #[test]
    fn a_browser_is_forgotten_after_its_time() {
        let make = Builder::new(1);
        let key = BrowserKey::generate(&*make.random);
        let ada = make.ids.next();
        let token = remember(&make, &key, ada, None);
        let end = make.clock.now() + BrowserToken::LIFETIME;
        assert!(token.browser_of(ada, &key, end - TimeDelta::seconds(1)).is_some());
        assert_eq!(token.browser_of(ada, &key, end + TimeDelta::seconds(1)), None);
    }

    #[test]
    fn a_token_that_was_changed_is_worth_nothing() {
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
                changed.browser_of(ada, &key, make.clock.now()),
                None,
                "digit {position}"
            );
        }
    }

    #[test]
    fn the_last_users_of_one_browser_are_each_remembered() {
        let make = Builder::new(1);
        let key = BrowserKey::generate(&*make.random);
        let users: Vec<UserId> = (0..5).map(|_| make.ids.next()).collect();
        let mut token = None;
        for user in &users {
            token = Some(remember(&make, &key, *user, token.as_ref()));
        }
        let token = token.expect("a token");
        let known = users
            .iter()
            .map(|user| token.browser_of(*user, &key, make.clock.now()).is_some());
        assert_eq!(known.collect::<Vec<_>>(), [false, true, true, true, true]);

        let again = remember(&make, &key, users[4], Some(&token));
        assert_eq!(
            again.expose().len(),
            token.expose().len(),
            "nobody is in it twice"
        );
        let number = |token: &BrowserToken| token.browser_of(users[4], &key, make.clock.now());
        assert_ne!(number(&again), number(&token), "the number is new");
    }

    #[test]
    fn what_cannot_be_a_token_is_none() {
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
