//! The organization: the tenant that owns keys and has members.

use std::fmt;

use chrono::{DateTime, Utc};
use unicode_normalization::UnicodeNormalization;

use crate::id::OrganizationId;
use crate::text::{one_line, text_type};

/// A tenant of the installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Organization {
    /// Its identifier.
    pub id: OrganizationId,
    /// Its place in console addresses; stays when the name changes.
    pub slug: Slug,
    /// Its name for people.
    pub name: OrganizationName,
    /// When it was created.
    pub created_at: DateTime<Utc>,
}

text_type! {
    /// An organization's name: one line of 1 to 100 code points.
    OrganizationName, max 100, one_line
}

/// An organization's name in addresses: `[a-z0-9]+(-[a-z0-9]+)*`, at most 40 characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Slug(String);

/// A text that is not a slug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a slug: expected lower-case letters and digits, in words joined by single hyphens")]
pub struct InvalidSlug;

impl Slug {
    /// The most characters of a slug.
    pub const MAX: usize = 40;

    /// The slug that an organization gets from its first name. Accents are dropped; a name without any Latin letter
    /// or digit becomes `organization`.
    #[must_use]
    pub fn from_name(name: &OrganizationName) -> Self {
        let mut slug = String::with_capacity(Self::MAX);
        let mut between_words = false;
        for c in name
            .as_str()
            .nfkd()
            .filter(|c| !unicode_normalization::char::is_combining_mark(*c))
        {
            if c.is_ascii_alphanumeric() {
                let hyphen = between_words && !slug.is_empty();
                if slug.len() + usize::from(hyphen) >= Self::MAX {
                    break;
                }
                if hyphen {
                    slug.push('-');
                }
                slug.push(c.to_ascii_lowercase());
                between_words = false;
            } else {
                between_words = true;
            }
        }
        if slug.is_empty() {
            Self("organization".to_owned())
        } else {
            Self(slug)
        }
    }

    /// Reads a slug from an address or from storage.
    ///
    /// # Errors
    /// The text is not of the form above.
    pub fn parse(text: &str) -> Result<Self, InvalidSlug> {
        let is_word = |word: &str| {
            !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        };
        if text.len() <= Self::MAX && text.split('-').all(is_word) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidSlug)
        }
    }

    /// The slug as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
