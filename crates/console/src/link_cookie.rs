//! The cookie that keeps the secret of a one-time link, so that it leaves the URL with the first request: a browser's
//! history, the logs of whatever is on the way, and whoever photographs a screen keep URLs.

use poem::http::{HeaderMap, HeaderValue};

use crate::cookies;
use crate::paths;
use keyward_domain::public_url::PublicUrl;

/// The name and attributes of the cookie. Only the page of the link gets it, and not for long.
///
/// The prefix `__Secure-` makes browsers refuse such a cookie over plain http (RFC 6265bis §4.1.3).
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinkCookie {
    name: &'static str,
    path: &'static str,
    is_https: bool,
}

impl LinkCookie {
    /// Time to find a password, in seconds. After that, the link itself still leads to its page.
    const MAX_AGE: u32 = 3600;

    /// For an invitation.
    pub(crate) fn invitation(public_url: &PublicUrl) -> Self {
        let is_https = public_url.is_https();
        Self {
            name: if is_https {
                "__Secure-invitation"
            } else {
                "invitation"
            },
            path: paths::Join::PATTERN,
            is_https,
        }
    }

    /// For the first run.
    pub(crate) fn setup(public_url: &PublicUrl) -> Self {
        let is_https = public_url.is_https();
        Self {
            name: if is_https { "__Secure-setup" } else { "setup" },
            path: paths::Setup::PATTERN,
            is_https,
        }
    }

    /// The secret of the link that this browser opened last.
    pub(crate) fn read<T>(self, headers: &HeaderMap, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        cookies::values(headers, self.name).find_map(parse)
    }

    /// The header that makes the browser keep it.
    pub(crate) fn set(self, secret: &str) -> HeaderValue {
        self.header(secret, Self::MAX_AGE)
    }

    /// The header that makes the browser forget it.
    pub(crate) fn remove(self) -> HeaderValue {
        self.header("", 0)
    }

    fn header(self, secret: &str, seconds: u32) -> HeaderValue {
        let Self { name, path, is_https } = self;
        let secure = if is_https { "Secure; " } else { "" };
        let attributes = format!("Path={path}; {secure}HttpOnly; SameSite=Lax");
        cookies::set_cookie(&format!("{name}={secret}; {attributes}; Max-Age={seconds}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_cookie_is_limited_to_its_page_and_hour() {
        for (public_url, prefix, secure) in [
            ("https://keys.example.com", "__Secure-", "Secure; "),
            ("http://localhost:8080", "", ""),
        ] {
            let public_url = PublicUrl::parse(public_url).expect("a URL");
            for (cookie, name, path) in [
                (LinkCookie::invitation(&public_url), "invitation", "/join"),
                (LinkCookie::setup(&public_url), "setup", "/setup"),
            ] {
                let attributes = format!("Path={path}; {secure}HttpOnly; SameSite=Lax");
                assert_eq!(
                    cookie.set("secret"),
                    format!("{prefix}{name}=secret; {attributes}; Max-Age=3600")
                );
                assert_eq!(
                    cookie.remove(),
                    format!("{prefix}{name}=; {attributes}; Max-Age=0")
                );
            }
        }
    }
}
