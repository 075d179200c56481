//! Idempotency keys of forms and requests.

use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};

use crate::half_digest::half_digest;
use crate::random::Random;

/// Marks one showing of a form, or one request of a client, so that sending it again creates nothing a second
/// time: no second key, invitation or project.
///
/// A form's is remembered as long as the created object. A request's is remembered for
/// [`IdempotencyKey::REMEMBERED`], with a digest of the request: a client that uses it for another request
/// made a mistake.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct IdempotencyKey {
    value: u128,
    request: Option<RequestDigest>,
}

/// A digest of what a request asks for: 128 bits of SHA-256.
///
/// It is only ever compared with those of requests of the same consumer with the same idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestDigest(u128);

impl RequestDigest {
    /// The digest of a request: the operation's name in the document of the API, and all values of the
    /// request, in an order that the operation defines.
    #[must_use]
    pub fn of(operation: &str, details: &[&str]) -> Self {
        let texts = std::iter::once(operation).chain(details.iter().copied());
        Self(half_digest(texts.map(str::as_bytes)))
    }

    /// As storage keeps it: 16 bytes.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// Reads the bytes of [`RequestDigest::to_bytes`].
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }
}

/// The earlier use of an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstUse {
    /// The digest of the API request; `None` for a form.
    pub request: Option<RequestDigest>,
    /// When it created something.
    pub at: DateTime<Utc>,
}

/// The meaning of an idempotency key that was used before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetition {
    /// The same form or request again.
    Same,
    /// It asks for something else.
    Different,
    /// The earlier use is too old to count: this one is the first.
    Forgotten,
}

/// The digest of the `Idempotency-Key` that a client chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChosenKey(u128);

impl ChosenKey {
    /// The maximum number of characters.
    pub const MAX: usize = 255;

    /// Reads the text.
    ///
    /// # Errors
    /// It is empty or too long, or has other characters than visible ones and spaces of ASCII.
    pub fn parse(text: &str) -> Result<Self, InvalidChosenKey> {
        let is_allowed = |byte: u8| matches!(byte, b' '..=b'~');
        if text.is_empty() || text.len() > Self::MAX || !text.bytes().all(is_allowed) {
            return Err(InvalidChosenKey);
        }
        Ok(Self(half_digest([text])))
    }

    /// The idempotency key of the request that is marked with it.
    #[must_use]
    pub const fn for_request(self, request: RequestDigest) -> IdempotencyKey {
        IdempotencyKey {
            value: self.0,
            request: Some(request),
        }
    }
}

/// A text that no client may choose to mark a request with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must have 1 to {} characters, each a visible one of ASCII or a space",
    ChosenKey::MAX
)]
pub struct InvalidChosenKey;

/// A text that is not an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an idempotency key: expected 32 hexadecimal digits")]
pub struct InvalidIdempotencyKey;

impl IdempotencyKey {
    const DIGITS: usize = 32;

    /// How long the key of a request is remembered.
    pub const REMEMBERED: TimeDelta = TimeDelta::hours(24);

    const fn of_form(value: u128) -> Self {
        Self { value, request: None }
    }

    /// The digest of the API request; `None` for a form.
    pub const fn request(self) -> Option<RequestDigest> {
        self.request
    }

    /// Judges that this key was used before.
    #[must_use]
    pub fn repeats(self, first: FirstUse, now: DateTime<Utc>) -> Repetition {
        let is_forgotten = first.request.is_some() && now - first.at >= Self::REMEMBERED;
        match (is_forgotten, first.request == self.request) {
            (true, _) => Repetition::Forgotten,
            (false, true) => Repetition::Same,
            (false, false) => Repetition::Different,
        }
    }

    /// One that no other form has.
    #[must_use]
    pub fn generate(random: &dyn Random) -> Self {
        let mut bytes = [0; 16];
        random.fill(&mut bytes);
        Self::of_form(u128::from_be_bytes(bytes))
    }

    /// Reads the hidden field of a sent form.
    ///
    /// # Errors
    /// The text is not 32 hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, InvalidIdempotencyKey> {
        if text.len() != Self::DIGITS || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(InvalidIdempotencyKey);
        }
        u128::from_str_radix(text, 16)
            .map(Self::of_form)
            .map_err(|_| InvalidIdempotencyKey)
    }

    /// As storage keeps it: 16 bytes.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.value.to_be_bytes()
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.value)
    }
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdempotencyKey({self})")
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use uuid::Uuid;

    use super::{ChosenKey, FirstUse, IdempotencyKey, InvalidChosenKey, Repetition, RequestDigest};
    use crate::api_key::{Expiry, Grace, OldKeyEnd};
    use crate::id::ApiKeyId;
    use crate::ports::RotationDraft;
    use crate::testing::SeededRandom;

    #[test]
    fn idempotency_key_round_trips_through_text() {
        let random = SeededRandom::new(1);
        let idempotency_key = IdempotencyKey::generate(&random);
        assert_eq!(
            IdempotencyKey::parse(&idempotency_key.to_string()),
            Ok(idempotency_key)
        );
        assert_ne!(IdempotencyKey::generate(&random), idempotency_key);
    }

    #[test]
    fn idempotency_key_is_32_lowercase_hexadecimal_digits() {
        let first = IdempotencyKey::parse(&format!("{:032x}", 1)).unwrap();
        assert_eq!(first.to_bytes(), 1_u128.to_be_bytes());
        for text in [
            String::new(),
            "0".repeat(31),
            "0".repeat(33),
            "g".repeat(32),
            format!("+{}", "0".repeat(31)),
            "é".repeat(16),
        ] {
            assert!(IdempotencyKey::parse(&text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn chosen_key_has_1_to_255_printable_ascii_characters() {
        let request = RequestDigest::of("createApiKey", &["ci"]);
        let mut seen = Vec::new();
        for text in [
            "a",
            "A",
            " ",
            "8e03978e-40d5-43dd-bc93-6894a57f9324",
            &"~".repeat(255),
        ] {
            let key = ChosenKey::parse(text).expect("a key").for_request(request);
            assert_eq!(key.request(), Some(request));
            assert!(!seen.contains(&key.to_bytes()), "{text:?}");
            seen.push(key.to_bytes());
        }
        for text in [
            "",
            &"a".repeat(256),
            &"a".repeat(300),
            "a\tb",
            "a\n",
            "\u{7f}",
            "é",
            "\0",
        ] {
            assert_eq!(ChosenKey::parse(text), Err(InvalidChosenKey), "{text:?}");
        }
    }

    #[test]
    fn request_digest_differs_by_operation_and_details() {
        let all = [
            RequestDigest::of("createApiKey", &["ci", ""]),
            RequestDigest::of("createApiKey", &["c", "i"]),
            RequestDigest::of("createApiKey", &["", "ci"]),
            RequestDigest::of("createApiKey", &["ci"]),
            RequestDigest::of("rotateApiKey", &["ci"]),
        ];
        for (number, one) in all.iter().enumerate() {
            assert!(!all[..number].contains(one), "{number}");
            assert_eq!(RequestDigest::from_bytes(one.to_bytes()), *one);
        }
    }

    /// Servers of other versions compare with what this one stored. Those of drafts are in `api_key.rs`.
    #[test]
    fn stored_digests_are_the_same_in_every_version() {
        let now = DateTime::UNIX_EPOCH;
        let expiry = Expiry::new(now + TimeDelta::days(1), now).ok();
        let id = ApiKeyId::from_uuid(Uuid::from_u128(7));
        let rotation = |old_key_ends, expiry| RotationDraft { old_key_ends, expiry }.request_digest(id);
        let minute = Grace::from_seconds(60).expect("a minute");
        let digests = [
            rotation(OldKeyEnd::default(), None),
            rotation(OldKeyEnd::After(minute), expiry),
            rotation(OldKeyEnd::AtOnce, None),
            rotation(OldKeyEnd::OnFirstUse, None),
        ];
        let digests = digests.map(|digest| hex::encode(digest.to_bytes()));
        let chosen = ChosenKey::parse("retry").expect("a key");
        let key = hex::encode(
            chosen
                .for_request(RequestDigest::of("createApiKey", &[]))
                .to_bytes(),
        );
        let expected = [
            "32d34b7babd3b5bc96f3c992db0ff248",
            "99440f160c1306bfb52a235fcba1dc14",
            "e8efacae9a3a1be98d37169466021c9c",
            "4552236ab3b63e5b184071d6e45968d0",
        ];
        assert_eq!(digests, expected);
        assert_eq!(key, "f93cb60009961220f5ef81ef797a6dd8");
    }

    #[test]
    fn repeated_request_is_judged_by_digest_for_24_hours() {
        let [ci, cd] = ["ci", "cd"].map(|name| RequestDigest::of("createApiKey", &[name]));
        let key = |request| ChosenKey::parse("retry").expect("a key").for_request(request);
        let at = DateTime::UNIX_EPOCH;
        let first = FirstUse {
            request: Some(ci),
            at,
        };
        let day = TimeDelta::hours(24);
        for now in [at - day, at, at + day - TimeDelta::milliseconds(1)] {
            assert_eq!(key(ci).repeats(first, now), Repetition::Same);
            assert_eq!(key(cd).repeats(first, now), Repetition::Different);
        }
        assert_eq!(key(ci).repeats(first, at + day), Repetition::Forgotten);
        assert_eq!(key(cd).repeats(first, at + day), Repetition::Forgotten);
    }

    #[test]
    fn used_form_is_never_forgotten() {
        let form = IdempotencyKey::generate(&SeededRandom::new(1));
        let at = DateTime::UNIX_EPOCH;
        let first = FirstUse { request: None, at };
        assert_eq!(form.repeats(first, at + TimeDelta::days(14)), Repetition::Same);
        let request = RequestDigest::of("createApiKey", &["ci"]);
        let chosen = ChosenKey::parse("retry").expect("a key").for_request(request);
        assert_eq!(
            chosen.repeats(first, at + TimeDelta::days(14)),
            Repetition::Different
        );
    }
}
