//! Passwords: the rule for choosing one, and the port that hashes them.
//!
//! The rule follows NIST SP 800-63B §3.1.1 and ASVS 5.0 §6.2: length instead of composition, and a list of
//! common passwords, which counts for what is made from them too.

mod common;
mod common_encoding;
mod guessing;
mod keyboard;

use std::error::Error;

use async_trait::async_trait;
use unicode_normalization::UnicodeNormalization;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::random::Random;
use crate::secret::redacted;
use crate::user::Username;

pub use common_encoding::encode as encode_common_passwords;

/// The product's name, which an attacker tries first.
const PRODUCT: &str = "keyward";

/// The byte order mark, which some editors write at the beginning of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A password in the clear. It is wiped from memory after use.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Password(String);

/// Why a password may not be chosen. The words are meant for the person who chose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WeakPassword {
    /// Fewer than [`Password::MIN`] code points.
    #[error("must be at least {} characters long", Password::MIN)]
    TooShort,
    /// More than [`Password::MAX`] code points.
    #[error("must be at most {} characters long", Password::MAX)]
    TooLong,
    /// It has a control character, or a byte-order mark before it.
    #[error(
        "must not contain control characters or begin with a byte-order mark: these cannot be typed when \
         signing in"
    )]
    Untypeable,
    /// Made from little else than what many people use, the names around it, repetitions and runs of keys.
    #[error(
        "is too easy to guess, being made from common passwords, names, repetitions or neighbouring keys: \
         choose several unrelated words instead"
    )]
    Predictable,
}

impl Password {
    /// The fewest code points of a chosen password.
    pub const MIN: usize = 15;
    /// The most code points of a chosen password; it bounds the work of hashing.
    pub const MAX: usize = 256;

    /// A password typed to sign in, which may be any text. It is brought to Unicode Normalization Form C,
    /// because keyboards differ in how they compose the same letters.
    #[must_use]
    pub fn attempt(typed: &str) -> Self {
        // Reserves the final size: growing would leave copies behind that are not wiped.
        let mut password = String::with_capacity((Self::MAX + 1) * char::MAX_LEN_UTF8);
        password.extend(typed.nfc().take(Self::MAX + 1));
        Self(password)
    }

    /// A new password. It must not be made from words that a stranger would try first: the username and
    /// `names`, the names of the user and of their organizations.
    ///
    /// # Errors
    /// Says which rule it breaks.
    pub fn choose(typed: &str, username: &Username, names: &[&str]) -> Result<Self, WeakPassword> {
        let password = Self::attempt(typed);
        if password.0.starts_with(BYTE_ORDER_MARK) || password.0.contains(char::is_control) {
            return Err(WeakPassword::Untypeable);
        }
        let length = password.0.chars().count();
        if length < Self::MIN {
            return Err(WeakPassword::TooShort);
        }
        if length > Self::MAX {
            return Err(WeakPassword::TooLong);
        }
        let known = [&[username.as_str(), PRODUCT], names].concat();
        if guessing::is_guessable(&password.0, &known) {
            return Err(WeakPassword::Predictable);
        }
        Ok(password)
    }

    /// A random password that is easy to type: five groups of five letters and digits, about 124 bits.
    #[must_use]
    pub fn generate(random: &dyn Random) -> Self {
        // 32 digits, so that each takes five bits of a random byte; without 0, 1, l and o, which look alike.
        const DIGITS: &[u8; 32] = b"23456789abcdefghijkmnpqrstuvwxyz";
        let mut bytes = Zeroizing::new([0_u8; 25]);
        random.fill(&mut *bytes);
        let mut password = String::with_capacity(29);
        for group in bytes.chunks(5) {
            if !password.is_empty() {
                password.push('-');
            }
            password.extend(
                group
                    .iter()
                    .map(|byte| char::from(DIGITS[usize::from(byte % 32)])),
            );
        }
        Self(password)
    }

    /// The password itself, for hashing and for showing a generated one.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// A salted, slow hash of a password, in PHC string format.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(String);

impl PasswordHash {
    /// Takes a hash from a [`PasswordHasher`] or from storage.
    #[must_use]
    pub const fn from_phc_string(hash: String) -> Self {
        Self(hash)
    }

    /// The hash as storage keeps it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

redacted!(Password, PasswordHash);

/// Why a password was neither hashed nor verified.
#[derive(Debug, thiserror::Error)]
pub enum HashingError {
    /// More hashes would exceed the memory for them; a later attempt may succeed.
    #[error("too many passwords are being checked at once")]
    Busy,
    /// The hash is unreadable, or hashing failed.
    #[error("a password could not be hashed")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
}

/// A queue of the passwords of one account or network. A hasher works on few passwords of a queue at once, so
/// that other queues get their turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HashingQueue([u8; 32]);

impl HashingQueue {
    /// The queue for setup and for administrators on the command line.
    pub const OF_INSTALLATION: Self = Self::of([0; 32]);

    /// The queue of the account or network with this digest.
    #[must_use]
    pub const fn of(digest: [u8; 32]) -> Self {
        Self(digest)
    }
}

/// The queues in which a password waits to be verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashingQueues {
    /// For a user who has shown before that they know the account's password. All others together MUST NOT
    /// delay them for longer than it takes to verify a few passwords.
    Known(HashingQueue),
    /// For all other clients.
    Stranger {
        /// The queue of the client's network, if it is known.
        network: Option<HashingQueue>,
        /// The queue of all strangers who try to sign in to the same account.
        account: HashingQueue,
    },
}

/// Hashes passwords, slowly, with bounded memory.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait PasswordHasher: Send + Sync {
    /// A new hash of the password, each with its own salt. Like [known](HashingQueues::Known) users, a user
    /// who sets a password MUST NOT be delayed by strangers.
    async fn hash(&self, password: &Password, queue: HashingQueue) -> Result<PasswordHash, HashingError>;

    /// Whether this is the password.
    async fn verify(
        &self,
        password: &Password,
        hash: &PasswordHash,
        queues: HashingQueues,
    ) -> Result<bool, HashingError>;

    /// Takes as long as [`verify`](PasswordHasher::verify), for a user who does not exist, so that the
    /// response time does not reveal who exists.
    async fn verify_dummy(&self, password: &Password, queues: HashingQueues) -> Result<(), HashingError>;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Password, PasswordHash, WeakPassword};
    use crate::testing::SeededRandom;
    use crate::user::Username;

    fn choose(typed: &str) -> Result<Password, WeakPassword> {
        Password::choose(typed, &Username::parse("ada").unwrap(), &["Ada Lovelace"])
    }

    fn refusal(typed: &str) -> Option<WeakPassword> {
        choose(typed).err()
    }

    #[test]
    fn password_length_matters_instead_of_composition() {
        for typed in [
            "quiet otters read maps",
            "correct donkey charger paperclip",
            "съешь ещё этих булок",
            "🦀🐢🦊🐼🐙🦉🐝🦋🐳🐘🦒🦔🐧🐨🦁",
        ] {
            assert_eq!(refusal(typed), None, "{typed}");
        }
        let letters: String = ('a'..='z').collect();
        assert_eq!(refusal(&letters[..14]), Some(WeakPassword::TooShort));
        assert_eq!(refusal("Tr0ub4dor&3"), Some(WeakPassword::TooShort));
        assert_eq!(refusal(""), Some(WeakPassword::TooShort));
    }

    #[test]
    fn length_is_counted_in_code_points_after_normalization() {
        let composed = "àéîõüàñçýåêìôùē";
        assert_eq!(composed.chars().count(), 15);
        assert_eq!(refusal(composed), None);
        let decomposed = "qe\u{301}we\u{301}rte\u{301}y zxcv";
        assert_eq!(decomposed.chars().count(), 16);
        assert_eq!(refusal(decomposed), Some(WeakPassword::TooShort));
    }

    #[test]
    fn password_over_the_maximum_length_is_rejected() {
        let words = "seven brisk cranes over a lake; ".repeat(10);
        assert_eq!(refusal(&words[..256]), None);
        assert_eq!(refusal(&words[..257]), Some(WeakPassword::TooLong));
        let attempt = Password::attempt(&words.repeat(1_000));
        assert_eq!(attempt.expose().chars().count(), 257, "and its work is bounded");
    }

    #[test]
    fn untypable_password_is_rejected() {
        for typed in [
            "\u{feff}quiet otters read maps",
            "quiet otters\0read maps",
            "quiet otters read\u{1b}[D maps",
            "quiet otters\tread maps",
            "quiet otters read maps\u{85}",
        ] {
            assert_eq!(refusal(typed), Some(WeakPassword::Untypeable), "{typed:?}");
            assert_eq!(Password::attempt(typed).expose(), typed, "but it still signs in");
        }
        assert_eq!(refusal("quiet otters\u{feff}read maps"), None);
    }

    #[test]
    fn password_from_common_passwords_and_known_names_is_rejected() {
        for typed in [
            "aaaaaaaaaaaaaaaa",
            "AbCabcaBCabcabc",
            "PasswordPassword1",
            "AdaADAadaAda2026!",
            "ada            ada",
            "Lovelace-Lovelace",
            "keyward2026keyward",
        ] {
            assert_eq!(refusal(typed), Some(WeakPassword::Predictable), "{typed}");
        }
    }

    #[test]
    fn password_matches_across_unicode_normalization_forms() {
        assert_eq!(
            Password::attempt("cafe\u{301}").expose(),
            Password::attempt("caf\u{e9}").expose()
        );
    }

    #[test]
    fn generated_password_is_acceptable() {
        let random = SeededRandom::new(1);
        for _ in 0..100 {
            let generated = Password::generate(&random);
            assert_eq!(generated.expose().len(), 29);
            assert_eq!(refusal(generated.expose()), None, "{}", generated.expose());
        }
        assert_ne!(
            Password::generate(&random).expose(),
            Password::generate(&random).expose()
        );
    }

    #[test]
    fn debug_output_shows_no_secret() {
        assert_eq!(format!("{:?}", Password::attempt("secret")), "Password(redacted)");
        let hash = PasswordHash::from_phc_string("$argon2id$secret".to_owned());
        assert_eq!(format!("{hash:?}"), "PasswordHash(redacted)");
    }

    proptest! {
        #![proptest_config(crate::property_tests::config())]

        #[test]
        fn accepted_password_can_be_typed_again(typed in any::<String>()) {
            if let Ok(chosen) = choose(&typed) {
                let attempt = Password::attempt(&typed);
                prop_assert_eq!(attempt.expose(), chosen.expose());
            }
        }
    }
}
