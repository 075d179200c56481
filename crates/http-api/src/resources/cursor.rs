//! The cursor of the list of keys: its position and its filters.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use keyward_domain::id::ApiKeyId;
use keyward_domain::ports::{KeyFilter, StatusFilter};
use poem_openapi::registry::MetaSchema;

use super::list_filter::SearchTerm;
use crate::request::QueryValue;

/// Opaque to clients, so that its format can change; it begins with a version.
///
/// It contains no secrets and grants nothing: a forged cursor shows only what its filters would show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) status: StatusFilter,
    pub(crate) search: Option<SearchTerm>,
    /// The last key of the page before.
    pub(crate) after: ApiKeyId,
}

const VERSION: &str = "1";

impl Cursor {
    pub(crate) fn encode(&self) -> String {
        let search = self.search.as_ref().map_or("", SearchTerm::as_str);
        let status = self.status.as_str();
        URL_SAFE_NO_PAD.encode(format!("{VERSION}:{status}:{}:{search}", self.after))
    }

    fn decode(text: &str) -> Option<Self> {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        let mut parts = text.splitn(4, ':');
        if parts.next()? != VERSION {
            return None;
        }
        let status = StatusFilter::from_word(parts.next()?)?;
        let after = parts.next()?.parse().ok()?;
        let search = Some(parts.next()?)
            .filter(|search| !search.is_empty())
            .map(SearchTerm::read)
            .transpose()
            .ok()?;
        Some(Self {
            status,
            search,
            after,
        })
    }

    /// Which keys the list shows.
    pub(crate) fn filter(&self) -> KeyFilter {
        KeyFilter::new(self.status, self.search.as_ref().map(SearchTerm::as_str))
    }

    /// Whether filters in the request agree with the cursor's. Absent ones agree.
    pub(crate) fn agrees_with(&self, status: Option<StatusFilter>, search: Option<&SearchTerm>) -> bool {
        let filter = self.filter();
        status.is_none_or(|status| status == self.status)
            && search.is_none_or(|search| KeyFilter::new(self.status, Some(search.as_str())) == filter)
    }
}

impl QueryValue for Cursor {
    fn schema() -> MetaSchema {
        MetaSchema::new("string")
    }

    fn read(text: &str) -> Result<Self, String> {
        Self::decode(text).ok_or_else(|| "must be the `nextCursor` of an earlier page, unchanged".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use keyward_domain::ports::StatusFilter;

    use super::{Cursor, SearchTerm};
    use crate::request::QueryValue as _;

    fn cursor(search: &str) -> Cursor {
        Cursor {
            status: StatusFilter::All,
            search: Some(SearchTerm::read(search).unwrap()),
            after: "019b76da-a800-7c3e-8f21-5d1c3a9e4b70".parse().unwrap(),
        }
    }

    #[test]
    fn cursor_round_trips_through_text() {
        for cursor in [
            cursor("ключ: a:b 🔑"),
            Cursor {
                search: None,
                ..cursor("x")
            },
        ] {
            assert_eq!(Cursor::read(&cursor.encode()), Ok(cursor));
        }
    }

    #[test]
    fn invalid_cursor_is_rejected() {
        let id = "019b76da-a800-7c3e-8f21-5d1c3a9e4b70";
        for text in [
            String::new(),
            "1".to_owned(),
            format!("2:all:{id}:"),
            format!("1:some:{id}:"),
            "1:all:7:".to_owned(),
            format!("1:all:{id}"),
            format!("1:all:{id}:\0"),
        ] {
            assert!(Cursor::read(&URL_SAFE_NO_PAD.encode(&text)).is_err(), "{text:?}");
        }
        assert!(Cursor::read("***").is_err());
        assert!(Cursor::read(&URL_SAFE_NO_PAD.encode(b"\xff")).is_err());
    }

    #[test]
    fn cursor_with_contradicting_filters_is_rejected() {
        let cursor = cursor("Backup");
        let same = SearchTerm::read(" backup ").unwrap();
        let other = SearchTerm::read("else").unwrap();
        assert!(cursor.agrees_with(None, None));
        assert!(cursor.agrees_with(Some(StatusFilter::All), Some(&same)));
        assert!(!cursor.agrees_with(Some(StatusFilter::Valid), None));
        assert!(!cursor.agrees_with(None, Some(&other)));
    }
}
