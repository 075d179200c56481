//! The name that a browser sends of itself.

/// The `User-Agent` of the browser in which a session was started, so that its user recognizes it. The client
/// chooses it, so nothing is decided by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserAgent(String);

impl UserAgent {
    /// The most characters that are kept.
    pub const MAX: usize = 300;

    /// Keeps the visible characters of a header's value; `None` if there are none.
    #[must_use]
    pub fn from_header(value: &str) -> Option<Self> {
        let shown: String = value
            .chars()
            .filter(|c| c.is_ascii_graphic() || *c == ' ')
            .take(Self::MAX)
            .collect();
        let shown = shown.trim();
        (!shown.is_empty()).then(|| Self(shown.to_owned()))
    }

    /// Printable ASCII characters, at most [`Self::MAX`].
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::UserAgent;

    fn kept(value: &str) -> Option<String> {
        UserAgent::from_header(value).map(|agent| agent.as_str().to_owned())
    }

    #[test]
    fn user_agent_keeps_printable_ascii_up_to_300_characters() {
        assert_eq!(kept(" Mozilla/5.0 (X11) "), Some("Mozilla/5.0 (X11)".to_owned()));
        assert_eq!(kept("a\u{202e}b\u{7}c\té"), Some("abc".to_owned()));
        assert_eq!(kept("<script>"), Some("<script>".to_owned()));
        assert_eq!(kept(&"x".repeat(1_000)), Some("x".repeat(300)));
        for empty in ["", "  ", "\u{7}", "é"] {
            assert_eq!(kept(empty), None, "{empty:?}");
        }
    }

    #[test]
    fn sanitizing_a_user_agent_is_idempotent() {
        let long = format!("{} {}", "x".repeat(299), "y".repeat(299));
        let once = kept(&long).unwrap();
        assert_eq!(kept(&once), Some(once));
    }
}
