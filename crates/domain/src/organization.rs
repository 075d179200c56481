//! The organization: the tenant that owns keys and has members.

use chrono::{DateTime, Utc};
use deunicode::deunicode_with_tofu;

use crate::api_key::LongestLife;
use crate::id::OrganizationId;
use crate::text::{displayed, text_type};

/// A tenant of the installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Organization {
    /// Rises with the time of creation (UUID version 7).
    pub id: OrganizationId,
    /// Its name in console paths; stays when the name changes.
    pub slug: Slug,
    /// Its name for people.
    pub name: OrganizationName,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// Whether keys created from now on may manage keys unless something else is asked for.
    pub new_keys_manage_keys: bool,
    /// After which time keys that are created from now on end at the latest; `None` for never.
    pub longest_key_life: Option<LongestLife>,
}

impl Organization {
    /// A new organization, whose slug is made from its name. Its keys may manage keys and need not expire.
    #[must_use]
    pub fn new(id: OrganizationId, name: OrganizationName, created_at: DateTime<Utc>) -> Self {
        Self {
            id,
            slug: Slug::from_name(&name),
            name,
            created_at,
            new_keys_manage_keys: true,
            longest_key_life: None,
        }
    }
}

text_type! {
    /// An organization's name: one line of 1 to 100 code points.
    OrganizationName, max 100, OneLine
}

/// An organization's name in console paths: `[a-z0-9]+(-[a-z0-9]+)*`, at most 40 characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Slug(String);

/// A text that is not a slug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a slug: expected lowercase letters and digits, in words joined by single hyphens")]
pub struct InvalidSlug;

impl Slug {
    /// The most characters of a slug.
    pub const MAX: usize = 40;

    /// The slug that an organization gets from its first name, in Latin letters and digits: other scripts are
    /// transliterated, accents are dropped. If nothing remains of the name, the slug is `organization`.
    #[must_use]
    pub fn from_name(name: &OrganizationName) -> Self {
        let mut slug = String::with_capacity(Self::MAX);
        let mut between_words = false;
        for c in deunicode_with_tofu(name.as_str(), "").chars() {
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

    /// The slugs to try, in this order, for an organization that would like this one: itself, then with `-2`,
    /// `-3` and so on.
    pub fn candidates(&self) -> impl Iterator<Item = Self> {
        let numbered = (2..=u32::MAX).map(|number| self.numbered(number));
        std::iter::once(self.clone()).chain(numbered)
    }

    /// The slug with a number after it, and cut before it if both together are too long.
    fn numbered(&self, number: u32) -> Self {
        let suffix = format!("-{number}");
        let kept: String = self.0.chars().take(Self::MAX - suffix.len()).collect();
        Self(format!("{}{suffix}", kept.trim_end_matches('-')))
    }

    /// Reads a slug from a path or from storage.
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
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

displayed!(Slug);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{OrganizationName, Slug};

    fn slug_of(name: &str) -> String {
        let name = OrganizationName::parse(name).unwrap();
        Slug::from_name(&name).as_str().to_owned()
    }

    #[test]
    fn slug_consists_of_latin_letters_and_digits_of_the_name() {
        for (name, slug) in [
            ("Acme", "acme"),
            ("Acme, Inc. – R&D", "acme-inc-r-d"),
            ("Crème Brûlée", "creme-brulee"),
            ("  --x--  ", "x"),
            ("４２ Ｃo", "42-co"),
            ("Ключ", "kliuch"),
            ("株式会社 Foo", "zhu-shi-hui-she-foo"),
            ("🦀", "crab"),
            ("– … –", "organization"),
            ("a_b", "a-b"),
        ] {
            assert_eq!(slug_of(name), slug, "{name}");
        }
    }

    #[test]
    fn long_name_makes_truncated_slug_without_trailing_hyphen() {
        assert_eq!(slug_of(&"x".repeat(100)), "x".repeat(40));
        assert_eq!(slug_of(&format!("{} tail", "x".repeat(39))), "x".repeat(39));
        assert_eq!(
            slug_of(&format!("{} tail", "x".repeat(38))),
            format!("{}-t", "x".repeat(38))
        );
    }

    #[test]
    fn taken_slug_gets_a_number_and_remains_valid() {
        let candidates = |slug: &str| -> Vec<String> {
            let slug = Slug::parse(slug).unwrap();
            slug.candidates().take(3).map(|slug| slug.to_string()).collect()
        };
        assert_eq!(candidates("acme"), ["acme", "acme-2", "acme-3"]);
        let x = "x".repeat(38);
        assert_eq!(
            candidates(&format!("{x}yz")),
            [format!("{x}yz"), format!("{x}-2"), format!("{x}-3")]
        );
        let x = "x".repeat(37);
        let cut_at_a_hyphen = [format!("{x}-yz"), format!("{x}-2"), format!("{x}-3")];
        assert_eq!(candidates(&format!("{x}-yz")), cut_at_a_hyphen);
        let last = Slug::parse(&"x".repeat(40)).unwrap().numbered(u32::MAX);
        assert_eq!(Slug::parse(last.as_str()), Ok(last));
    }

    #[test]
    fn invalid_slug_is_rejected() {
        for text in ["a", "a-b", "42", "organization", &"x".repeat(40)] {
            assert_eq!(Slug::parse(text).unwrap().as_str(), text);
        }
        for text in [
            "",
            "-",
            "a-",
            "-a",
            "a--b",
            "A",
            "a_b",
            "a b",
            "é",
            "a/b",
            "..",
            &"x".repeat(41),
        ] {
            assert!(Slug::parse(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(crate::property_tests::config())]

        #[test]
        fn every_name_yields_a_slug(raw in "\\PC{1,100}") {
            if let Ok(name) = OrganizationName::parse(&raw) {
                let slug = Slug::from_name(&name);
                prop_assert_eq!(Slug::parse(slug.as_str()), Ok(slug));
            }
        }
    }
}
