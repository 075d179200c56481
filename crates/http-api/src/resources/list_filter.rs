//! Query parameters of the list of keys.

use chrono::{DateTime, Utc};
use keyward_domain::api_key::{Expiry, InvalidExpiry};
use keyward_domain::clock::whole_milliseconds;
use keyward_domain::page::{InvalidPageSize, PageSize};
use keyward_domain::ports::{SearchedText, StatusFilter};
use poem_openapi::registry::MetaSchema;

use crate::request::QueryValue;

impl QueryValue for PageSize {
    fn schema() -> MetaSchema {
        MetaSchema {
            minimum: Some(1.0),
            maximum: Some(f64::from(Self::MAX)),
            default: Some(Self::DEFAULT.items().into()),
            ..MetaSchema::new_with_format("integer", "int32")
        }
    }

    fn read(text: &str) -> Result<Self, String> {
        // Digits only, without a sign or leading zero.
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
        Some(text)
            .filter(|_| is_plain)
            .and_then(|text| text.parse().ok())
            .ok_or(InvalidPageSize)
            .and_then(Self::new)
            .map_err(|error| error.to_string())
    }
}

impl QueryValue for StatusFilter {
    const NAME: Option<&'static str> = Some("ApiKeyStatusFilter");

    /// No default in the schema: generated clients would send it together with a cursor, which has its own
    /// status.
    fn schema() -> MetaSchema {
        let words = [Self::Valid, Self::Revoked, Self::All].map(|status| status.as_str().into());
        MetaSchema {
            description: Some("Which keys to list."),
            enum_items: words.into(),
            ..MetaSchema::new("string")
        }
    }

    fn read(text: &str) -> Result<Self, String> {
        Self::from_word(text).ok_or_else(|| "must be `valid`, `revoked` or `all`".to_owned())
    }
}

/// Refuses text that no name or description can contain, so that NUL does not reach the database, and tokens,
/// which must not be put into URLs.
impl QueryValue for SearchedText {
    /// No maximum length in the schema, because the length counts after normalization and trimming.
    fn schema() -> MetaSchema {
        MetaSchema::new("string")
    }

    fn read(text: &str) -> Result<Self, String> {
        Self::parse(text).map_err(|error| error.to_string())
    }
}

/// A time in whole milliseconds, in the years 1 to 9999, which every database can store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment(pub(crate) DateTime<Utc>);

impl Moment {
    /// The first moment of the year 1.
    const EARLIEST: DateTime<Utc> = DateTime::from_timestamp_millis(-62_135_596_800_000).unwrap();
    /// The last millisecond of the year 9999.
    const LATEST: DateTime<Utc> = DateTime::from_timestamp_millis(253_402_300_799_999).unwrap();

    pub(crate) fn within_years(time: DateTime<Utc>) -> Option<Self> {
        let time = whole_milliseconds(time);
        (Self::EARLIEST..=Self::LATEST)
            .contains(&time)
            .then_some(Self(time))
    }

    /// The nearest such time: with its offsets, RFC 3339 reaches from the year -1 to 10000. Valid keys end far
    /// from either limit, so the same keys expire before the nearest time.
    fn nearest_to(time: DateTime<Utc>) -> Self {
        Self(whole_milliseconds(time).clamp(Self::EARLIEST, Self::LATEST))
    }
}

impl QueryValue for Moment {
    fn schema() -> MetaSchema {
        MetaSchema::new_with_format("string", "date-time")
    }

    fn read(text: &str) -> Result<Self, String> {
        Expiry::parse_moment(text)
            .map(Self::nearest_to)
            .map_err(|_| format!("{}, with `+` written as `%2B`", InvalidExpiry::Malformed))
    }
}
