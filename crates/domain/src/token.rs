//! The token: what a client sends, and what is kept of it.
//!
//! `kwp_`, 32 random characters of `[0-9A-Za-z]` (190 bits), 6 characters of checksum. The prefix and the checksum
//! make a leaked token recognizable to scanners, and let a mistyped one be refused before any storage is asked.

mod checksum;

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::random::Random;
use checksum::checksum;

/// What every token begins with.
pub const PREFIX: &str = "kwp_";
/// Characters of a whole token.
pub const LENGTH: usize = PREFIX.len() + BODY_LENGTH + checksum::LENGTH;
const BODY_LENGTH: usize = 32;

/// The digits of base 62, in the order of their values.
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A token in the clear: well formed, with a checksum that holds. It says nothing about whether a key exists.
///
/// It exists only between its making or arrival and its [digest](Token::digest), and is wiped from memory after that.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Token(String);

/// Why a text is not a token. Callers answer all of it like an unknown token; the reasons are for
/// `keyward token check`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MalformedToken {
    /// Not `kwp_` and 38 characters of `[0-9A-Za-z]`.
    #[error("not a Keyward token: expected `kwp_` followed by 38 letters and digits")]
    Shape,
    /// The right shape, but the last six characters do not match the rest.
    #[error("the checksum does not match: the token was mistyped or cut off")]
    Checksum,
}

impl Token {
    /// Makes a new token from 32 independent, evenly distributed characters.
    #[must_use]
    pub fn generate(random: &dyn Random) -> Self {
        let mut token = String::with_capacity(LENGTH);
        token.push_str(PREFIX);
        let mut bytes = [0_u8; BODY_LENGTH * 2];
        while token.len() < PREFIX.len() + BODY_LENGTH {
            random.fill(&mut bytes);
            let missing = PREFIX.len() + BODY_LENGTH - token.len();
            token.extend(
                bytes
                    .iter()
                    .filter_map(|&byte| evenly_chosen_digit(byte))
                    .take(missing),
            );
        }
        bytes.zeroize();
        let check = checksum(&token.as_bytes()[PREFIX.len()..]);
        token.extend(check.map(char::from));
        Self(token)
    }

    /// Reads a token that a client sent.
    ///
    /// # Errors
    /// The shape or the checksum is wrong.
    pub fn parse(text: &str) -> Result<Self, MalformedToken> {
        let rest = text.strip_prefix(PREFIX).ok_or(MalformedToken::Shape)?.as_bytes();
        if text.len() != LENGTH || !rest.iter().all(u8::is_ascii_alphanumeric) {
            return Err(MalformedToken::Shape);
        }
        let (body, check) = rest.split_at(BODY_LENGTH);
        if checksum(body).as_slice() == check {
            Ok(Self(text.to_owned()))
        } else {
            Err(MalformedToken::Checksum)
        }
    }

    /// The token itself, for the one answer that shows it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What is stored in the token's place.
    #[must_use]
    pub fn digest(&self) -> TokenDigest {
        TokenDigest(Sha256::digest(self.0.as_bytes()).into())
    }

    /// What people recognize the token by.
    #[must_use]
    pub fn hint(&self) -> TokenHint {
        TokenHint(format!("{PREFIX}…{}", &self.0[LENGTH - TokenHint::SHOWN..]))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(redacted)")
    }
}

/// A digit for a random byte; none for the few bytes that would make the first digits likelier than the others.
fn evenly_chosen_digit(byte: u8) -> Option<char> {
    const FAIR: usize = 256 - 256 % ALPHABET.len();
    let value = usize::from(byte);
    (value < FAIR).then(|| char::from(ALPHABET[value % ALPHABET.len()]))
}

/// SHA-256 of a whole token. 190 random bits need no salt and no slow hash.
#[derive(Clone, Copy)]
pub struct TokenDigest([u8; 32]);

impl TokenDigest {
    /// Takes a digest back from storage.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest as storage keeps it.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl PartialEq for TokenDigest {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for TokenDigest {}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenDigest(redacted)")
    }
}

/// `kwp_…` and the last four characters: enough for a person to tell keys apart, useless to a scanner or a thief.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TokenHint(String);

/// A text that is not a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a token hint: expected `kwp_…` followed by 4 letters and digits")]
pub struct InvalidHint;

impl TokenHint {
    const SHOWN: usize = 4;

    /// Takes a hint back from storage.
    ///
    /// # Errors
    /// The text is not of the form above.
    pub fn parse(text: &str) -> Result<Self, InvalidHint> {
        let shown = text
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.strip_prefix('…'))
            .ok_or(InvalidHint)?;
        if shown.len() == Self::SHOWN && shown.bytes().all(|b| b.is_ascii_alphanumeric()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidHint)
        }
    }

    /// The hint as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Only the last four characters.
    #[must_use]
    pub fn last_four(&self) -> &str {
        &self.0[self.0.len() - Self::SHOWN..]
    }
}

impl fmt::Display for TokenHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
