//! The cursor of the list of keys: its position and its filters.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::DateTime;
use keyward_domain::id::ApiKeyId;
use keyward_domain::ports::{KeyFilter, SearchedText, StatusFilter};
use poem_openapi::registry::MetaSchema;

use super::list_filter::Moment;
use crate::request::QueryValue;

/// Opaque to clients, so that its format can change; it begins with a version.
///
/// It contains no secrets and grants nothing: a forged cursor shows only what its filters would show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) status: StatusFilter,
    pub(crate) search: Option<SearchedText>,
    pub(crate) expires_before: Option<Moment>,
    /// The last key of the page before.
    pub(crate) after: ApiKeyId,
}

const VERSION: &str = "1";
/// With [`Cursor::expires_before`], in milliseconds, before the search.
const VERSION_WITH_EXPIRY: &str = "2";

impl Cursor {
    pub(crate) fn encode(&self) -> String {
        let search = self.search.as_ref().map_or("", SearchedText::as_str);
        let status = self.status.as_str();
        URL_SAFE_NO_PAD.encode(match self.expires_before {
            None => format!("{VERSION}:{status}:{}:{search}", self.after),
            Some(Moment(time)) => {
                let time = time.timestamp_millis();
                format!("{VERSION_WITH_EXPIRY}:{status}:{}:{time}:{search}", self.after)
            }
        })
    }

    fn decode(text: &str) -> Option<Self> {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        let (version, rest) = text.split_once(':')?;
        let has_expiry = match version {
            VERSION => false,
            VERSION_WITH_EXPIRY => true,
            _ => return None,
        };
        let mut parts = rest.splitn(3 + usize::from(has_expiry), ':');
        let status = StatusFilter::from_word(parts.next()?)?;
        let after = parts.next()?.parse().ok()?;
        let expires_before = if has_expiry {
            let time = DateTime::from_timestamp_millis(parts.next()?.parse().ok()?)?;
            Some(Moment::within_years(time)?)
        } else {
            None
        };
        let search = Some(parts.next()?)
            .filter(|search| !search.is_empty())
            .map(SearchedText::read)
            .transpose()
            .ok()?;
        Some(Self {
            status,
            search,
            expires_before,
            after,
        })
    }

    /// Whether filters in the request agree with the cursor's. Absent ones agree.
    pub(crate) fn agrees_with(
        &self,
        status: Option<StatusFilter>,
        search: Option<&SearchedText>,
        expires_before: Option<Moment>,
    ) -> bool {
        let found = |search: Option<&SearchedText>| {
            KeyFilter::new(StatusFilter::All, search.map(SearchedText::as_str))
        };
        status.is_none_or(|status| status == self.status)
            && search.is_none_or(|search| found(Some(search)) == found(self.search.as_ref()))
            && expires_before.is_none_or(|time| Some(time) == self.expires_before)
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
    use keyward_domain::ports::{SearchedText, StatusFilter};

    use super::{Cursor, Moment};
    use crate::request::QueryValue as _;

    fn moment(text: &str) -> Moment {
        Moment::read(text).unwrap()
    }

    fn cursor(search: &str) -> Cursor {
        Cursor {
            status: StatusFilter::All,
            search: Some(SearchedText::read(search).unwrap()),
            expires_before: None,
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
            Cursor {
                expires_before: Some(moment("2026-01-01T00:00:00.001Z")),
                ..cursor("a:b")
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
            format!("3:all:{id}:"),
            format!("2:all:{id}:"),
            format!("2:all:{id}:7"),
            format!("2:all:{id}:x:"),
            format!("2:all:{id}:9223372036854775807:"),
            format!("2:all:{id}:253402300800000:"),
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
        let same = SearchedText::read(" backup ").unwrap();
        let other = SearchedText::read("else").unwrap();
        assert!(cursor.agrees_with(None, None, None));
        assert!(cursor.agrees_with(Some(StatusFilter::All), Some(&same), None));
        assert!(!cursor.agrees_with(Some(StatusFilter::Valid), None, None));
        assert!(!cursor.agrees_with(None, Some(&other), None));
        let time = moment("2026-01-01T00:00:00Z");
        assert!(!cursor.agrees_with(None, None, Some(time)));
        let expiring = Cursor {
            expires_before: Some(time),
            ..cursor
        };
        assert!(expiring.agrees_with(None, Some(&same), None));
        assert!(expiring.agrees_with(None, None, Some(moment("2026-01-01T01:00:00+01:00"))));
        assert!(!expiring.agrees_with(None, None, Some(moment("2026-01-01T00:00:01Z"))));
    }
}
