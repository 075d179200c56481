//! The user: a person who signs in to the console.

use chrono::{DateTime, Utc};

use crate::id::UserId;
use crate::text::{displayed, folded, text_type};

/// A person with an account on this installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Rises with the time of creation (UUID version 7).
    pub id: UserId,
    /// The name to sign in with; unique in the installation, never changes.
    pub username: Username,
    /// The name for people, in any script.
    pub display_name: DisplayName,
    /// When the account was created.
    pub created_at: DateTime<Utc>,
}

impl User {
    /// The text that searches look at: username and display name, folded.
    #[must_use]
    pub fn search_text(&self) -> String {
        folded(&format!("{}\n{}", self.username, self.display_name))
    }
}

text_type! {
    /// A user's name for people: one line of 1 to 100 code points.
    DisplayName, max 100, OneLine
}

/// A user's unique name: `[a-z0-9][a-z0-9._-]{0,38}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Username(Box<str>);

/// A text that is not a username. The words are meant for the person who chose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be 1 to 39 lowercase letters, digits, dots, underscores or hyphens, and begin with a letter or digit"
)]
pub struct InvalidUsername;

impl Username {
    /// The most characters of a username.
    pub const MAX: usize = 39;

    /// Reads a username.
    ///
    /// # Errors
    /// The text is not of the form above.
    pub fn parse(text: &str) -> Result<Self, InvalidUsername> {
        let is_letter_or_digit = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let begins_well = text.bytes().next().is_some_and(is_letter_or_digit);
        let goes_on_well = text
            .bytes()
            .all(|b| is_letter_or_digit(b) || matches!(b, b'.' | b'_' | b'-'));
        if text.len() <= Self::MAX && begins_well && goes_on_well {
            Ok(Self(text.into()))
        } else {
            Err(InvalidUsername)
        }
    }

    /// The username as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

displayed!(Username);

#[cfg(test)]
mod tests {
    use super::Username;

    #[test]
    fn invalid_username_is_rejected() {
        for text in ["a", "0", "ada", "ada.l-o_v", "0x", "a..", &"x".repeat(39)] {
            assert_eq!(Username::parse(text).unwrap().as_str(), text);
        }
        for text in [
            "",
            ".a",
            "-a",
            "_a",
            "Ada",
            "a b",
            "a@b",
            "é",
            "ａ",
            " a",
            "a\n",
            &"x".repeat(40),
        ] {
            assert!(Username::parse(text).is_err(), "{text:?}");
        }
    }
}
