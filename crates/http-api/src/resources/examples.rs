//! Values of the document's examples. None of them exists.

use chrono::{DateTime, Utc};
use keyward_domain::ports::{SearchedText, StatusFilter};

use super::cursor::Cursor;
use super::list_filter::Moment;
use super::project_cursor::ProjectCursor;
use crate::request::QueryValue as _;

pub(crate) const API_KEY_ID: &str = "019b76da-a800-7c3e-8f21-5d1c3a9e4b70";
pub(crate) const PARENT_ID: &str = "019b76d2-11c0-7d4a-9b02-6e8f1c2d3a45";
pub(crate) const USER_ID: &str = "019b76ce-f000-7a10-9d3e-4f5a6b7c8d9e";
pub(crate) const CONSUMER_ID: &str = "019b76cf-0a00-7b11-a3c4-d5e6f7081929";
pub(crate) const PROJECT_ID: &str = "019b76da-b3b8-7d05-9a6e-7f8091a2b3c4";

/// Its last six characters are not the checksum of the others, so that no scanner takes it for a token that
/// leaked.
pub(crate) const TOKEN: &str = "kwp_0123456789ABCDEFGHIJKLMNOPQRSTUVEXAMPL";
/// The hint of that token.
pub(crate) const HINT: &str = "kwp_…AMPL";

pub(crate) const SEARCH: &str = "backup";
pub(crate) const EXPIRES_BEFORE: &str = "2030-02-01T00:00:00Z";

/// The time in the examples: 2026-01-01T00:00:00.000Z.
pub(crate) fn moment() -> DateTime<Utc> {
    DateTime::from_timestamp_nanos(1_767_225_600_000_000_000)
}

/// When the key of the examples expires: 2030-01-01T00:00:00.000Z.
pub(crate) fn expiry() -> DateTime<Utc> {
    DateTime::from_timestamp_nanos(1_893_456_000_000_000_000)
}

/// A cursor of the list of keys, with the filters of the other examples.
pub(crate) fn api_key_cursor() -> String {
    let cursor = API_KEY_ID.parse().ok().map(|after| Cursor {
        status: StatusFilter::Valid,
        search: SearchedText::parse(SEARCH).ok(),
        expires_before: Moment::read(EXPIRES_BEFORE).ok(),
        after,
    });
    cursor.map(|cursor| cursor.encode()).unwrap_or_default()
}

/// A cursor of the list of projects.
pub(crate) fn project_cursor() -> String {
    let cursor = PROJECT_ID.parse().ok().map(|after| ProjectCursor { after });
    cursor.map(|cursor| cursor.encode()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use keyward_domain::token::{MalformedToken, Token};

    use super::{HINT, TOKEN};

    #[test]
    fn example_token_has_token_format_but_invalid_checksum() {
        assert_eq!(Token::parse(TOKEN).err(), Some(MalformedToken::Checksum));
        assert_eq!(HINT.trim_start_matches("kwp_…"), &TOKEN[TOKEN.len() - 4..]);
    }
}
