//! The cursor of the list of projects: where the next page begins.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use keyward_domain::id::ProjectId;
use poem_openapi::registry::MetaSchema;

use crate::request::QueryValue;

/// Opaque to clients, so that its format can change. It begins with a version and the name of its list, so
/// that cursors of other versions and lists are refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProjectCursor {
    /// The last project of the page before.
    pub(crate) after: ProjectId,
}

const BEGINNING: &str = "1:projects:";

impl ProjectCursor {
    pub(crate) fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(format!("{BEGINNING}{}", self.after))
    }

    fn decode(text: &str) -> Option<Self> {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        let after = text.strip_prefix(BEGINNING)?.parse().ok()?;
        Some(Self { after })
    }
}

impl QueryValue for ProjectCursor {
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

    use super::ProjectCursor;
    use crate::request::QueryValue as _;

    const ID: &str = "019b76da-a800-7c3e-8f21-5d1c3a9e4b70";

    #[test]
    fn cursor_round_trips_through_text() {
        let cursor = ProjectCursor {
            after: ID.parse().unwrap(),
        };
        assert_eq!(ProjectCursor::read(&cursor.encode()), Ok(cursor));
    }

    #[test]
    fn invalid_project_cursor_is_rejected() {
        for text in [
            String::new(),
            "1:projects:".to_owned(),
            "1:projects:7".to_owned(),
            format!("2:projects:{ID}"),
            format!("1:valid:{ID}:"),
            format!("1:projects:{ID}:"),
        ] {
            assert!(
                ProjectCursor::read(&URL_SAFE_NO_PAD.encode(&text)).is_err(),
                "{text:?}"
            );
        }
        assert!(ProjectCursor::read("***").is_err());
    }
}
