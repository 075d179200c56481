//! Versions of a key, for optimistic concurrency control.

use std::fmt;

use super::ApiKey;
use crate::half_digest::half_digest;

/// A digest of a key's editable fields: it changes with every effective edit, and returns to the old value
/// when an edit is undone. Other changes, such as the last use, do not affect it.
///
/// 128 bits of SHA-256. Versions are only ever compared with those of the same key, whose holder alone could
/// search for two texts with one version.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyVersion(u128);

/// A text that is not a version of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a version of a key: expected 32 hexadecimal digits")]
pub struct InvalidKeyVersion;

impl KeyVersion {
    const DIGITS: usize = 32;

    /// Reads what [`Display`](fmt::Display) wrote, and nothing else.
    ///
    /// # Errors
    /// The text is not 32 hexadecimal digits, in lower case.
    pub fn parse(text: &str) -> Result<Self, InvalidKeyVersion> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != Self::DIGITS || !text.bytes().all(is_digit) {
            return Err(InvalidKeyVersion);
        }
        u128::from_str_radix(text, 16)
            .map(Self)
            .map_err(|_| InvalidKeyVersion)
    }
}

impl fmt::Display for KeyVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for KeyVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyVersion({self})")
    }
}

impl ApiKey {
    /// The version of what people may change.
    #[must_use]
    pub fn version(&self) -> KeyVersion {
        KeyVersion(half_digest(self.changeable().iter().map(|text| text.as_bytes())))
    }
}

/// The versions to which a change applies: those in `If-Match`, or the one that an edit form was opened with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPrecondition {
    /// Every version matches, as without `If-Match` or with `*` (RFC 9110, section 13.1.1).
    AnyVersion,
    /// One of these versions; an empty list is never met.
    OneOf(Vec<KeyVersion>),
}

impl KeyPrecondition {
    /// Whether the key meets the precondition.
    #[must_use]
    pub fn is_met_by(&self, key: &ApiKey) -> bool {
        match self {
            Self::AnyVersion => true,
            Self::OneOf(versions) => versions.contains(&key.version()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidKeyVersion, KeyPrecondition, KeyVersion};
    use crate::api_key::{ApiKey, ChangeOfKey, KeyDescription, KeyEdit, KeyName};
    use crate::audit::Actor;
    use crate::clock::Clock;
    use crate::membership::Role;
    use crate::testing::TestInstallation;

    const ACTOR: Actor = Actor::Administrator;

    fn key(name: &str, description: &str) -> ApiKey {
        let installation = TestInstallation::new();
        let organization = installation.organization("Acme");
        let ada = installation.member(&organization, "ada", Role::Owner);
        let (new, _) = installation.builder.new_key(&ada.as_holder(), name);
        ApiKey {
            description: KeyDescription::parse(description).unwrap(),
            ..new.key
        }
    }

    fn describe(description: Option<&str>) -> KeyEdit {
        KeyEdit {
            description: description.map(|text| KeyDescription::parse(text).unwrap()),
            ..KeyEdit::default()
        }
    }

    #[test]
    fn every_effective_edit_changes_the_version() {
        let mut key = key("Deploy", "nightly");
        let first = key.version();
        let edits = [
            (Some("Deplo"), Some("ynightly")),
            (Some("Deploy"), Some("")),
            (None, Some("n")),
            (Some("deploy"), Some("nightly")),
        ];
        let mut seen = vec![first];
        for (name, description) in edits {
            let edit = KeyEdit {
                name: name.map(|name| KeyName::parse(name).unwrap()),
                ..describe(description)
            };
            assert_eq!(key.apply(&edit, None, None, ACTOR), Ok(vec![ChangeOfKey::Words]));
            assert!(!seen.contains(&key.version()), "{edit:?}");
            seen.push(key.version());
        }
        let back = KeyEdit {
            name: Some(KeyName::parse("Deploy").unwrap()),
            ..KeyEdit::default()
        };
        assert!(key.apply(&back, None, None, ACTOR).is_ok());
        assert_eq!(key.version(), first);
    }

    #[test]
    fn key_use_does_not_change_the_version() {
        let installation = TestInstallation::new();
        let before = key("Deploy", "");
        let used = ApiKey {
            last_use: Some(crate::api_key::LastUse {
                at: installation.builder.clock.now(),
                from: None,
            }),
            ..before.clone()
        };
        assert_eq!(used.version(), before.version());
    }

    #[test]
    fn precondition_is_met_by_any_listed_version() {
        let (key, other) = (key("Deploy", ""), key("Other", ""));
        let one_of = |versions: &[KeyVersion]| KeyPrecondition::OneOf(versions.to_vec());
        assert!(KeyPrecondition::AnyVersion.is_met_by(&key));
        assert!(one_of(&[key.version()]).is_met_by(&key));
        assert!(one_of(&[other.version(), key.version()]).is_met_by(&key));
        assert!(!one_of(&[other.version()]).is_met_by(&key));
        assert!(!one_of(&[]).is_met_by(&key));
    }

    #[test]
    fn version_is_32_lowercase_hexadecimal_digits() {
        for text in ["", "0", "G", "A", "+", "é"] {
            let text = format!("{}{text}", "0".repeat(32 - text.len()));
            let expected = match text.trim_start_matches('0') {
                "" => Ok(text.clone()),
                _ => Err(InvalidKeyVersion),
            };
            let read = KeyVersion::parse(&text).map(|version| version.to_string());
            assert_eq!(read, expected, "{text:?}");
        }
        for digits in [31, 33] {
            assert_eq!(KeyVersion::parse(&"0".repeat(digits)), Err(InvalidKeyVersion));
        }
    }
}
