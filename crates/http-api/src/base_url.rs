//! The service's public URL, if it is known.

use std::fmt;
use std::sync::Arc;

use keyward_domain::page::PageSize;

/// The prefix of every link in responses, such as `https://keys.example.org`; empty if no public URL is
/// configured. Then links are relative references, which work however clients reach the service.
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

    /// An absolute URL if the public URL is known, else the path alone; it begins with a slash.
    pub(crate) fn link(&self, path: impl fmt::Display) -> String {
        format!("{}{path}", self.as_str().unwrap_or_default())
    }

    /// The header `Link` with the URL of the next page of a list (RFC 8288).
    pub(crate) fn next_page(&self, list: &str, size: Option<PageSize>, cursor: &str) -> String {
        let limit = size.map_or(String::new(), |size| format!("limit={}&", size.items()));
        let url = self.link(format_args!("{list}?{limit}cursor={cursor}"));
        format!("<{url}>; rel=\"next\"")
    }
}

#[cfg(test)]
mod tests {
    use super::BaseUrl;

    #[test]
    fn link_is_absolute_only_with_known_public_url() {
        assert_eq!(BaseUrl::default().link("/docs"), "/docs");
        for url in ["https://keys.example.org", "https://keys.example.org/"] {
            assert_eq!(BaseUrl::new(url).link("/docs"), "https://keys.example.org/docs");
        }
    }
}
