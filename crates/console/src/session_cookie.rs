//! The cookie that carries a session.

use keyward_domain::public_url::PublicUrl;
use keyward_domain::sign_in::session::SessionToken;
use poem::http::{HeaderMap, HeaderValue};

use crate::cookies;

/// The name and attributes of the session cookie, which depend on how people reach the installation.
///
/// The prefix `__Host-` makes browsers refuse such a cookie from a subdomain or over plain http (RFC 6265bis §4.1.3);
/// a local installation has no https, and must do without.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionCookie {
    name: &'static str,
    attributes: &'static str,
}

impl SessionCookie {
    pub(crate) fn of(public_url: &PublicUrl) -> Self {
        if public_url.is_https() {
            Self {
                name: "__Host-session",
                attributes: "Path=/; Secure; HttpOnly; SameSite=Lax",
            }
        } else {
            Self {
                name: "session",
                attributes: "Path=/; HttpOnly; SameSite=Lax",
            }
        }
    }

    /// The session that a request claims to belong to: of several cookies of that name, the first that could be ours.
    pub(crate) fn read(self, headers: &HeaderMap) -> Option<SessionToken> {
        cookies::values(headers, self.name).find_map(SessionToken::parse)
    }

    /// The header that starts a session in the browser.
    pub(crate) fn set(self, token: &SessionToken) -> HeaderValue {
        cookies::set_cookie(&format!("{}={}; {}", self.name, token.expose(), self.attributes))
    }

    /// The header that ends it. A `__Host-` cookie is removed only by the same attributes.
    pub(crate) fn remove(self) -> HeaderValue {
        cookies::set_cookie(&format!("{}=; {}; Max-Age=0", self.name, self.attributes))
    }
}

#[cfg(test)]
mod tests {
    use keyward_domain::testing::SeededRandom;
    use poem::http::header;

    use super::*;

    fn cookie(public_url: &str) -> SessionCookie {
        SessionCookie::of(&PublicUrl::parse(public_url).expect("a URL"))
    }

    fn request(cookies: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for cookie in cookies {
            headers.append(header::COOKIE, cookie.parse().expect("a header value"));
        }
        headers
    }

    #[test]
    fn session_cookie_attributes_follow_scheme_and_removal_repeats_them() {
        let token = SessionToken::generate(&SeededRandom::new(1));
        let secret = token.expose();
        let https = cookie("https://keys.example.com");
        assert_eq!(
            https.set(&token),
            format!("__Host-session={secret}; Path=/; Secure; HttpOnly; SameSite=Lax")
        );
        assert_eq!(
            https.remove(),
            "__Host-session=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0"
        );
        let local = cookie("http://localhost:8080");
        assert_eq!(
            local.set(&token),
            format!("session={secret}; Path=/; HttpOnly; SameSite=Lax")
        );
        assert_eq!(
            local.remove(),
            "session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"
        );
    }

    #[test]
    fn session_cookie_is_found_among_other_cookies() {
        let token = SessionToken::generate(&SeededRandom::new(1));
        let ours = format!("theme=dark; session=not-ours;session={}", token.expose());
        let found = cookie("http://localhost").read(&request(&["a=b", &ours]));
        assert_eq!(
            found.map(|t| t.expose().to_owned()),
            Some(token.expose().to_owned())
        );
    }

    #[test]
    fn cookie_without_host_prefix_is_ignored_over_https() {
        let token = SessionToken::generate(&SeededRandom::new(1));
        let headers = request(&[&format!("session={}", token.expose())]);
        assert!(cookie("https://keys.example.com").read(&headers).is_none());
    }
}
