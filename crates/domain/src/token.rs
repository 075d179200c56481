//! The token: the secret that a client sends, its digest and its hint.
//!
//! `kwp_`, 32 random characters of `[0-9A-Za-z]` (190 bits), 6 characters of checksum. The prefix and the
//! checksum make a leaked token recognizable to scanners, and let a mistyped one be refused before any
//! storage is asked.

mod checksum;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::random::Random;
use crate::secret::redacted;
use crate::text::displayed;
use checksum::{ALPHABET, checksum};

/// The prefix of every token.
pub const PREFIX: &str = "kwp_";
/// Characters of a whole token.
pub const LENGTH: usize = PREFIX.len() + BODY_LENGTH + checksum::LENGTH;
const BODY_LENGTH: usize = 32;

/// A token in the clear: well formed, with a checksum that holds. It says nothing about whether a key exists.
///
/// It exists only between its making or arrival and its [digest](Token::digest), and is wiped from memory
/// after that.
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

    /// Whether a text contains a whole token, wherever it begins and ends.
    #[must_use]
    pub fn is_in(text: &str) -> bool {
        let mut candidates = text
            .match_indices(PREFIX)
            .map(|(at, _)| text.get(at..at + LENGTH));
        candidates.any(|candidate| candidate.is_some_and(|text| Self::parse(text).is_ok()))
    }

    /// The token itself, for the one answer that shows it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The digest, which is stored in place of the token.
    #[must_use]
    pub fn digest(&self) -> TokenDigest {
        TokenDigest(Sha256::digest(self.0.as_bytes()).into())
    }

    /// The hint, by which people recognize the token.
    #[must_use]
    pub fn hint(&self) -> TokenHint {
        TokenHint(format!("{PREFIX}…{}", &self.0[LENGTH - TokenHint::SHOWN..]))
    }
}

/// A digit for a random byte; none for the few bytes that would make the first digits likelier than the
/// others.
fn evenly_chosen_digit(byte: u8) -> Option<char> {
    const FAIR: usize = 256 - 256 % ALPHABET.len();
    let value = usize::from(byte);
    (value < FAIR).then(|| char::from(ALPHABET[value % ALPHABET.len()]))
}

/// SHA-256 of a whole token. 190 random bits need no salt and no slow hash.
///
/// Two are compared in constant time. A store that looks keys up by it uses the bytes as its index.
#[derive(Clone, Copy)]
pub struct TokenDigest([u8; 32]);

impl TokenDigest {
    /// Takes a digest back from storage.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest as storage keeps it.
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

redacted!(Token, TokenDigest);

/// `kwp_…` and the last four characters: enough for people to distinguish keys, useless to a scanner or a
/// thief.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TokenHint(String);

/// A text that is not a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a token hint: expected `kwp_…` followed by 4 letters and digits")]
pub struct InvalidHint;

impl TokenHint {
    /// How many characters of the token it shows.
    pub const SHOWN: usize = 4;

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
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Only the last four characters.
    #[must_use]
    pub fn last_four(&self) -> &str {
        &self.0[self.0.len() - Self::SHOWN..]
    }
}

displayed!(TokenHint);

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::{ALPHABET, MalformedToken, PREFIX, Token, TokenDigest, TokenHint, evenly_chosen_digit};
    use crate::testing::SeededRandom;

    const VALID: &str = "kwp_0123456789ABCDEFGHIJKLMNOPQRSTUV1ggZdL";

    fn refusal(text: &str) -> Option<MalformedToken> {
        Token::parse(text).err()
    }

    #[test]
    fn new_token_has_the_published_format() {
        let random = SeededRandom::new(1);
        for _ in 0..100 {
            let token = Token::generate(&random);
            let rest = token.expose().strip_prefix("kwp_").unwrap();
            assert_eq!(rest.len(), 38);
            assert!(rest.bytes().all(|b| b.is_ascii_alphanumeric()));
            assert_eq!(Token::parse(token.expose()).unwrap().expose(), token.expose());
        }
    }

    #[test]
    fn tokens_differ() {
        let random = SeededRandom::new(1);
        assert_ne!(
            Token::generate(&random).expose(),
            Token::generate(&random).expose()
        );
    }

    #[test]
    fn every_digit_is_equally_likely() {
        let mut chosen: HashMap<char, u32> = HashMap::new();
        for digit in (0..=u8::MAX).filter_map(evenly_chosen_digit) {
            *chosen.entry(digit).or_default() += 1;
        }
        assert_eq!(chosen.len(), ALPHABET.len());
        assert!(chosen.values().all(|&times| times == 4), "{chosen:?}");
    }

    #[test]
    fn text_of_another_format_is_rejected() {
        for text in [
            "",
            "kwp_",
            &VALID[..41],
            &format!("{VALID}0"),
            &format!(" {VALID}"),
            &format!("{VALID}\n"),
            &VALID.replace("kwp_", "KWP_"),
            &VALID.replace("kwp_", "kwp-"),
            &VALID.replace("kwp_", "ghp_"),
            &VALID.replace('5', "-"),
            &VALID.replace("56", "é"),
            &VALID.replace("567", "５"),
            &VALID.replace('0', "\0"),
        ] {
            assert_eq!(refusal(text), Some(MalformedToken::Shape), "{text:?}");
        }
    }

    #[test]
    fn wrong_checksum_is_rejected() {
        for text in [
            "kwp_0123456789ABCDEFGHIJKLMNOPQRSTUV1ggZdM",
            "kwp_1023456789ABCDEFGHIJKLMNOPQRSTUV1ggZdL",
            "kwp_0123456789ABCDEFGHIJKLMNOPQRSTUV1GGZDL",
            "kwp_0123456789ABCDEFGHIJKLMNOPQRSTUVzzzzzz",
        ] {
            assert_eq!(refusal(text), Some(MalformedToken::Checksum), "{text:?}");
        }
        assert_eq!(refusal(VALID), None);
    }

    #[test]
    fn digest_is_sha_256_of_the_complete_token() {
        let digest = Token::parse(VALID).unwrap().digest();
        assert_eq!(
            hex::encode(digest.as_bytes()),
            "ef244c49c68170cf23c41e48cce6fb6b1c4530989f132c6a9f1abc4de56d9a9d"
        );
        assert_eq!(TokenDigest::from_bytes(*digest.as_bytes()), digest);
        let mut other = *digest.as_bytes();
        other[31] ^= 1;
        assert_ne!(TokenDigest::from_bytes(other), digest);
    }

    #[test]
    fn hint_is_the_last_four_characters_and_no_token() {
        let hint = Token::parse(VALID).unwrap().hint();
        assert_eq!(hint.as_str(), "kwp_…gZdL");
        assert_eq!(hint.last_four(), "gZdL");
        assert_eq!(refusal(hint.as_str()), Some(MalformedToken::Shape));
        assert_eq!(TokenHint::parse(hint.as_str()), Ok(hint));
        for text in [
            "",
            "gZdL",
            "kwp_gZdL",
            "kwp_…gZd",
            "kwp_…gZdLL",
            "kwp_…gZ-L",
            VALID,
        ] {
            assert!(TokenHint::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn debug_output_shows_no_secret() {
        let token = Token::parse(VALID).unwrap();
        assert_eq!(format!("{token:?}"), "Token(redacted)");
        assert_eq!(format!("{:?}", token.digest()), "TokenDigest(redacted)");
    }

    proptest! {
        #![proptest_config(crate::property_tests::config())]

        #[test]
        fn token_round_trips_through_text(seed in any::<u64>()) {
            let token = Token::generate(&SeededRandom::new(seed));
            let read = Token::parse(token.expose()).unwrap();
            prop_assert_eq!(read.expose(), token.expose());
            prop_assert_eq!(read.digest(), token.digest());
            prop_assert_eq!(read.hint(), token.hint());
        }

        // CRC-32 finds every error within 32 consecutive bits, so this holds always, not just mostly.
        #[test]
        fn any_single_wrong_character_is_rejected(seed in any::<u64>(), at in 0_usize..42, with in "[0-9A-Za-z]") {
            let token = Token::generate(&SeededRandom::new(seed));
            let mut mistyped = token.expose().to_owned();
            mistyped.replace_range(at..=at, &with);
            prop_assume!(mistyped != token.expose());
            let expected = if at < PREFIX.len() { MalformedToken::Shape } else { MalformedToken::Checksum };
            prop_assert_eq!(refusal(&mistyped), Some(expected));
        }

        #[test]
        fn any_swap_of_two_neighbours_is_rejected(seed in any::<u64>(), at in 0_usize..41) {
            let token = Token::generate(&SeededRandom::new(seed));
            let mut swapped = token.expose().as_bytes().to_vec();
            swapped.swap(at, at + 1);
            prop_assume!(swapped != token.expose().as_bytes());
            prop_assert!(refusal(std::str::from_utf8(&swapped).unwrap()).is_some());
        }

        #[test]
        fn any_text_is_parsed_or_rejected_without_panic(text in any::<String>()) {
            prop_assert!(Token::parse(&text).is_err());
        }

        #[test]
        fn token_like_text_is_parsed_or_rejected_without_panic(text in "kwp_\\PC{30,40}|kwp_[0-9A-Za-z]{38}") {
            if let Ok(token) = Token::parse(&text) {
                prop_assert_eq!(token.expose(), text);
            }
        }
    }
}
