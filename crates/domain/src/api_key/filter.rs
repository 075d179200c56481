//! Which of its keys a consumer looks for.

use chrono::{DateTime, Utc};

use super::ApiKey;
use crate::text;
use crate::token::{InvalidHint, TokenHint};
use crate::words::words;

/// Which keys a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyFilter {
    status: StatusFilter,
    term: Option<String>,
    expires_before: Option<DateTime<Utc>>,
}

impl KeyFilter {
    /// Keys of a status whose [search text](ApiKey::search_text) contains the [term](search_term). An empty
    /// term finds all.
    #[must_use]
    pub fn new(status: StatusFilter, search: Option<&str>) -> Self {
        Self {
            status,
            term: search.and_then(search_term),
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

    /// Which keys pass by their status.
    #[must_use]
    pub const fn status(&self) -> StatusFilter {
        self.status
    }

    /// What the search text must contain, literally; a store escapes its own wildcards.
    #[must_use]
    pub fn term(&self) -> Option<&str> {
        self.term.as_deref()
    }

    /// Before which time the planned end must be; keys without one do not pass.
    #[must_use]
    pub const fn expires_before(&self) -> Option<DateTime<Utc>> {
        self.expires_before
    }

    /// Whether a key passes at this moment.
    #[must_use]
    pub fn accepts(&self, key: &ApiKey, now: DateTime<Utc>) -> bool {
        let expires_before = |time| key.expires_at(now).is_some_and(|at| at < time);
        self.status.accepts(key, now)
            && self.term().is_none_or(|term| key.search_text().contains(term))
            && self.expires_before.is_none_or(expires_before)
    }
}

/// What [`ApiKey::search_text`] must contain: what somebody typed, trimmed and folded; nothing for nothing. A
/// whole [hint](TokenHint), as people see it, is read as its last four characters, which the search text
/// holds.
#[must_use]
pub fn search_term(typed: &str) -> Option<String> {
    match TokenHint::parse(typed.trim()) {
        Ok(hint) => text::search_term(hint.last_four()),
        Err(InvalidHint) => text::search_term(typed),
    }
}

words! {
    /// Keys of which state a list shows.
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
    use super::{KeyFilter, StatusFilter};
    use crate::api_key::{ApiKey, KeyDescription, Revocation, RevocationReason};
    use crate::audit::Actor;
    use crate::clock::Clock;
    use crate::membership::Role;
    use crate::testing::{Builder, TestInstallation};
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
}
