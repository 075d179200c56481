//! Verifiers: the services that may introspect tokens. The operator names them, each with a secret of its
//! own.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

use crate::secret::secret_type;
use crate::text::displayed;

/// A verifier's name: 1 to 64 of `a-z`, `A-Z`, `0-9`, dot, underscore and hyphen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct VerifierName(String);

/// A text that is no verifier's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 64 letters, digits, dots, underscores and hyphens")]
pub struct InvalidVerifierName;

impl VerifierName {
    const MAX: usize = 64;

    /// Checks a name.
    ///
    /// # Errors
    /// It is empty, too long or has other characters.
    pub fn parse(text: &str) -> Result<Self, InvalidVerifierName> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        if (1..=Self::MAX).contains(&text.len()) && text.bytes().all(is_allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidVerifierName)
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

displayed!(VerifierName);

secret_type! {
    /// A new verifier's secret. The configuration of a verifier may have another text.
    VerifierSecret,
    /// The SHA-256 digest of a verifier's secret.
    VerifierSecretDigest
}

impl VerifierSecretDigest {
    /// The digest of a secret that was sent.
    fn of(secret: &[u8]) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// Reads a digest in hexadecimal; `None` unless it has 64 digits.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).ok().map(|()| Self(bytes))
    }

    /// The digest in hexadecimal.
    #[must_use]
    pub fn to_hex(self) -> String {
        hex::encode(self.0)
    }

    fn is(self, other: Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

/// All verifiers. One with several secrets is accepted with each of them, so that a secret can be replaced
/// without a pause.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verifiers(BTreeMap<VerifierName, Vec<VerifierSecretDigest>>);

impl Verifiers {
    /// Adds a secret to the verifier of this name, which is new or keeps its other secrets.
    pub fn add(&mut self, name: VerifierName, secret: VerifierSecretDigest) {
        self.0.entry(name).or_default().push(secret);
    }

    /// How many verifiers there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The verifier with this name and secret. Its duration reveals nothing about a secret.
    #[must_use]
    pub fn find(&self, name: &str, secret: &[u8]) -> Option<VerifierName> {
        let sent = VerifierSecretDigest::of(secret);
        let (name, known) = self.0.get_key_value(&VerifierName::parse(name).ok()?)?;
        let is_one = known
            .iter()
            .fold(Choice::from(0), |found, one| found | one.is(sent));
        bool::from(is_one).then(|| name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::{VerifierName, VerifierSecret, VerifierSecretDigest, Verifiers};
    use crate::testing::Builder;

    fn name(text: &str) -> VerifierName {
        VerifierName::parse(text).unwrap()
    }

    #[test]
    fn verifier_name_is_one_word_of_64_characters() {
        for text in ["a", "Orders-2.eu_west", &"x".repeat(64)] {
            assert_eq!(name(text).as_str(), text);
        }
        for text in ["", " ", "a b", "a:b", "ä", "a\n", "a%20b", &"x".repeat(65)] {
            assert!(VerifierName::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn verifier_is_found_by_each_of_its_own_secrets_only() {
        let make = Builder::new(1);
        let [old, new, others]: [VerifierSecret; 3] =
            std::array::from_fn(|_| VerifierSecret::generate(&*make.random));
        let mut verifiers = Verifiers::default();
        verifiers.add(name("orders"), old.digest());
        verifiers.add(name("orders"), new.digest());
        verifiers.add(name("billing"), others.digest());
        assert_eq!(verifiers.count(), 2);
        let find = |name: &str, secret: &VerifierSecret| verifiers.find(name, secret.expose().as_bytes());
        for secret in [&old, &new] {
            assert_eq!(find("orders", secret), Some(name("orders")));
            assert_eq!(find("billing", secret), None);
            assert_eq!(find("Orders", secret), None);
        }
        assert_eq!(find("orders", &others), None);
        assert_eq!(find("nobody", &others), None);
        assert_eq!(verifiers.find("orders", b""), None);
    }

    #[test]
    fn digest_is_read_from_64_hexadecimal_digits_only() {
        let digest = VerifierSecret::generate(&*Builder::new(1).random).digest();
        let text = digest.to_hex();
        assert_eq!(VerifierSecretDigest::from_hex(&text), Some(digest));
        assert_eq!(VerifierSecretDigest::from_hex(&text.to_uppercase()), Some(digest));
        for text in [
            "",
            &text[1..],
            &format!("{text}0"),
            &text.replace(&text[..1], "g"),
        ] {
            assert_eq!(VerifierSecretDigest::from_hex(text), None, "{text}");
        }
    }
}
