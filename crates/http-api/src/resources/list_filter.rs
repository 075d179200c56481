//! Which keys a list shows, as its query parameters say it.

use keyward_domain::api_key::KeyDescription;
use keyward_domain::page::{InvalidPageSize, PageSize};
use keyward_domain::ports::StatusFilter;
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
        // As JSON writes it: no sign, and no zero before it.
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

    /// Without its default: generated clients would send that along with a cursor, which carries a status of its own.
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

/// What to look for in names and descriptions.
///
/// It follows the rules of a description: what those refuse is in no key, and NUL must not reach the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SearchTerm(KeyDescription);

impl SearchTerm {
    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl QueryValue for SearchTerm {
    /// Without a length, which is counted after normalization and trimming.
    fn schema() -> MetaSchema {
        MetaSchema::new("string")
    }

    fn read(text: &str) -> Result<Self, String> {
        KeyDescription::parse(text)
            .map(Self)
            .map_err(|error| error.to_string())
    }
}
