//! Where clients reach the service, if that is known.

use std::fmt;
use std::sync::Arc;

/// The beginning of every link in answers: `https://keys.example.org`, or nothing while nobody has said under which URL
/// clients reach the service. Links without it are relative references, which are right whatever the client's way is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseUrl(Option<Arc<str>>);

impl BaseUrl {
    /// An absolute URL without a path.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self(Some(url.trim_end_matches('/').into()))
    }

    /// The URL, if it is known.
    pub(crate) fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The link to a path.
    pub(crate) fn link(&self, path: impl fmt::Display) -> String {
        format!("{}{path}", self.as_str().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::BaseUrl;

    #[test]
    fn link_is_absolute_only_where_url_is_known() {
        assert_eq!(BaseUrl::default().link("/docs"), "/docs");
        for url in ["https://keys.example.org", "https://keys.example.org/"] {
            assert_eq!(BaseUrl::new(url).link("/docs"), "https://keys.example.org/docs");
        }
    }
}
