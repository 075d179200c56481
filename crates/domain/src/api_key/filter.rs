//! Which of its keys a consumer looks for.

use chrono::{DateTime, Utc};

use super::{ApiKey, KeyDescription};
use crate::text::{self, Form, TextError};
use crate::token::TokenHint;
use crate::words::words;

/// Which keys a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyFilter {
    status: StatusFilter,
    term: Option<String>,
    hint: Option<TokenHint>,
    expires_before: Option<DateTime<Utc>>,
}

impl KeyFilter {
    /// Keys of a status whose [search text](ApiKey::search_text) contains the [term](search_term), and that
    /// have the [hint](TokenHint), if `search` is a whole one. An empty term finds all.
    #[must_use]
    pub fn new(status: StatusFilter, search: Option<&str>) -> Self {
        Self {
            status,
            term: search.and_then(search_term),
            hint: search.and_then(searched_hint),
            expires_before: None,
        }
    }

    /// Of these, only valid keys whose planned end is before this time, if one is given.
    #[must_use]
    pub fn expiring_before(self, time: Option<DateTime<Utc>>) -> Self {
        Self {
            expires_before: time,
            ..self
        }
    }

    /// The filter by status.
    pub const fn status(&self) -> StatusFilter {
        self.status
    }

    /// A text that the search text must contain literally; a store escapes its own wildcards.
    pub fn term(&self) -> Option<&str> {
        self.term.as_deref()
    }

    /// The hint that a key must have; its last four characters are the term then.
    pub const fn hint(&self) -> Option<&TokenHint> {
        self.hint.as_ref()
    }

    /// The time before which the planned end must be; keys without one do not pass.
    pub const fn expires_before(&self) -> Option<DateTime<Utc>> {
        self.expires_before
    }

    /// Whether a key passes at this moment.
    #[must_use]
    pub fn accepts(&self, key: &ApiKey, now: DateTime<Utc>) -> bool {
        let expires_before = |time| key.expires_at(now).is_some_and(|at| at < time);
        self.status.accepts(key, now)
            && self.term().is_none_or(|term| key.search_text().contains(term))
            && self.hint().is_none_or(|hint| key.hint == *hint)
            && self.expires_before.is_none_or(expires_before)
    }
}

/// The text that [`ApiKey::search_text`] must contain: the input, trimmed and folded; `None` for an empty
/// one. For a whole [hint](TokenHint), these are its last four characters, which the search text contains.
#[must_use]
pub fn search_term(typed: &str) -> Option<String> {
    match searched_hint(typed) {
        Some(hint) => text::search_term(hint.last_four()),
        None => text::search_term(typed),
    }
}

/// The hint in the input, if it is a whole one: a search for its last four characters also finds names.
pub(crate) fn searched_hint(typed: &str) -> Option<TokenHint> {
    TokenHint::parse(typed.trim()).ok()
}

/// A text to search for: any part of a name or a description, normalized and trimmed. Also parts that are not
/// valid names by themselves, or that only an older version accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchedText(String);

impl SearchedText {
    /// Parses the input of a search.
    ///
    /// # Errors
    /// It holds a token, is longer than any description, or has a control character.
    pub fn parse(typed: &str) -> Result<Self, TextError> {
        Form::Lines.searched(typed, KeyDescription::MAX).map(Self)
    }

    /// The text, in NFC.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

words! {
    /// A filter of keys by their state.
    #[derive(Default)]
    StatusFilter {
        /// Only valid ones.
        #[default]
        Valid = "valid",
        /// Only revoked ones.
        Revoked = "revoked",
        /// Valid and revoked keys.
        All = "all",
    }
}

impl StatusFilter {
    /// Whether a key passes at this moment.
    #[must_use]
    pub fn accepts(self, key: &ApiKey, now: DateTime<Utc>) -> bool {
        match self {
            Self::Valid => key.is_valid(now),
            Self::Revoked => !key.is_valid(now),
            Self::All => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyFilter, SearchedText, StatusFilter};
    use crate::api_key::{ApiKey, KeyDescription, KeyName, Revocation, RevocationReason};
    use crate::audit::Actor;
    use crate::clock::Clock;
    use crate::membership::Role;
    use crate::testing::{Builder, TestInstallation};
    use crate::text::TextError;
    use crate::token::TokenHint;
    use crate::validity::End;

    fn key() -> ApiKey {
        let installation = TestInstallation::new();
        let organization = installation.organization("Acme");
        let ada = installation.member(&organization, "ada", Role::Owner);
        let (new, _) = Builder::new(2).new_key(&ada.as_holder(), "Deploy Bot");
        ApiKey {
            description: KeyDescription::parse("nightly\nКлюч").unwrap(),
            ..new.key
        }
    }

    #[test]
    fn key_filter_defaults_to_valid_keys() {
        assert_eq!(KeyFilter::default(), KeyFilter::new(StatusFilter::Valid, None));
    }

    #[test]
    fn status_filter_accepts_keys_in_its_state() {
        let (valid, now) = (key(), Builder::new(1).clock.now());
        let revoked = ApiKey {
            revocation: Some(Revocation {
                end: End::Come(now),
                by: Actor::Administrator,
                reason: RevocationReason::Leak,
                note: None,
            }),
            ..valid.clone()
        };
        for (status, shows_valid, shows_revoked) in [
            (StatusFilter::Valid, true, false),
            (StatusFilter::Revoked, false, true),
            (StatusFilter::All, true, true),
        ] {
            let filter = KeyFilter::new(status, None);
            assert_eq!(filter.accepts(&valid, now), shows_valid);
            assert_eq!(filter.accepts(&revoked, now), shows_revoked);
            assert_eq!(StatusFilter::from_word(status.as_str()), Some(status));
        }
        assert_eq!(StatusFilter::from_word("Valid"), None);
    }

    #[test]
    fn search_term_is_trimmed_folded_and_possibly_empty() {
        let term = |text| {
            KeyFilter::new(StatusFilter::Valid, Some(text))
                .term()
                .map(str::to_owned)
        };
        assert_eq!(term("  DEPLOY Bot\n"), Some("deploy bot".to_owned()));
        assert_eq!(term("%_\\"), Some("%_\\".to_owned()));
        assert_eq!(term(""), None);
        assert_eq!(term(" \t"), None);
    }

    #[test]
    fn search_term_matches_name_description_and_hint() {
        let key = key();
        let hint = format!(" {} ", key.hint);
        for (term, found) in [
            ("deploy", true),
            ("Y B", true),
            ("NIGHTLY", true),
            ("ключ", true),
            (key.hint.last_four(), true),
            (&hint, true),
            ("kwp_", false),
            ("kwp_…", false),
            ("kwp_…\u{e9}\u{e9}\u{e9}\u{e9}", false),
            ("…", false),
            ("%", false),
            ("deploy%", false),
        ] {
            let filter = KeyFilter::new(StatusFilter::Valid, Some(term));
            assert_eq!(filter.accepts(&key, key.created_at), found, "{term}");
        }
    }

    #[test]
    fn searched_text_is_any_part_of_a_text() {
        let parsed = |typed: &str| SearchedText::parse(typed).map(|text| text.as_str().to_owned());
        for (typed, text) in [
            (" e\u{301}\r\nb ", "\u{e9}\nb"),
            ("\u{301}", "\u{301}"),
            ("\u{200d}", "\u{200d}"),
            ("a\u{202e}", "a\u{202e}"),
            ("\u{fffd}", "\u{fffd}"),
            (" ", ""),
        ] {
            assert_eq!(parsed(typed).as_deref(), Ok(text), "{typed:?}");
        }
        let bell = TextError::ForbiddenCharacter { code_point: 7 };
        assert_eq!(parsed("a\u{7}"), Err(bell));
        let token = "kwp_0123456789ABCDEFGHIJKLMNOPQRSTUV1ggZdL";
        assert_eq!(parsed(token), Err(TextError::HoldsToken));
        let too_long = TextError::TooLong {
            max: 500,
            actual: 501,
        };
        assert_eq!(parsed(&"x".repeat(501)), Err(too_long));
    }

    #[test]
    fn whole_hint_accepts_only_keys_with_it() {
        let key = key();
        let named = |hint: &TokenHint| ApiKey {
            hint: TokenHint::parse("kwp_…0000").unwrap(),
            name: KeyName::parse(&format!("after {hint}")).unwrap(),
            ..key.clone()
        };
        let filter = KeyFilter::new(StatusFilter::Valid, Some(key.hint.as_str()));
        assert!(filter.accepts(&key, key.created_at));
        assert!(!filter.accepts(&named(&key.hint), key.created_at));
    }
}
