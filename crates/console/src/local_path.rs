//! Redirect targets after sign-in: only pages of this console, against open redirects (CWE-601).

use std::fmt;

/// A path of this console with its query, safe to redirect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LocalPath(String);

impl LocalPath {
    /// Longer ones are not redirected to.
    pub(crate) const MAX: usize = 1024;

    /// Reads a path that came with a request.
    ///
    /// The path must be visible ASCII without backslashes and begin with exactly one slash. Browsers take `//host` and
    /// `/\host` for another host, and drop tabs and line feeds first.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_harmless = |b: u8| b.is_ascii_graphic() && b != b'\\';
        let mut bytes = text.bytes();
        let begins_well = bytes.next() == Some(b'/') && bytes.next() != Some(b'/');
        (begins_well && text.len() <= Self::MAX && text.bytes().all(is_harmless))
            .then(|| Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LocalPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirect_target_outside_the_console_is_rejected() {
        for good in [
            "/",
            "/organizations/acme/settings/api-keys?search=a%20b&status=all",
        ] {
            assert_eq!(
                LocalPath::parse(good).map(|path| path.to_string()),
                Some(good.to_owned())
            );
        }
        for bad in [
            "",
            "organizations",
            "//evil.example",
            "/\\evil.example",
            "/a\\b",
            "/\t/evil.example",
            "/\n/evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "/é",
            " /",
        ] {
            assert_eq!(LocalPath::parse(bad), None, "{bad:?}");
        }
        assert_eq!(LocalPath::parse(&format!("/{}", "a".repeat(2000))), None);
    }
}
