//! The cookie of remembered browsers, in which a user signed in before.

use keyward_domain::public_url::PublicUrl;
use keyward_domain::sign_in::remembered_browser::BrowserToken;
use poem::http::{HeaderMap, HeaderValue};

use crate::cookies;

/// The name and attributes of the cookie. It lets nobody in: strangers who guess at a password do not keep out whoever has
/// it. So it stays when they sign out.
///
/// The prefix `__Host-` makes browsers refuse such a cookie from a subdomain or over plain http (RFC 6265bis §4.1.3).
#[derive(Debug, Clone, Copy)]
pub(crate) struct BrowserCookie {
    name: &'static str,
    attributes: &'static str,
}

impl BrowserCookie {
    pub(crate) fn of(public_url: &PublicUrl) -> Self {
        if public_url.is_https() {
            Self {
                name: "__Host-browser",
                attributes: "Path=/; Secure; HttpOnly; SameSite=Lax",
            }
        } else {
            Self {
                name: "browser",
                attributes: "Path=/; HttpOnly; SameSite=Lax",
            }
        }
    }

    /// The token in the request's cookie, if there is one.
    pub(crate) fn read(self, headers: &HeaderMap) -> Option<BrowserToken> {
        cookies::values(headers, self.name).find_map(BrowserToken::parse)
    }

    /// The header that makes the browser keep it.
    pub(crate) fn set(self, token: &BrowserToken) -> HeaderValue {
        let Self { name, attributes } = self;
        let (text, seconds) = (token.expose(), BrowserToken::LIFETIME.num_seconds());
        cookies::set_cookie(&format!("{name}={text}; {attributes}; Max-Age={seconds}"))
    }
}

#[cfg(test)]
mod tests {
    use keyward_domain::clock::Clock;
    use keyward_domain::sign_in::password::PasswordHash;
    use keyward_domain::sign_in::remembered_browser::BrowserKey;
    use keyward_domain::testing::Builder;

    use super::*;

    #[test]
    fn browser_cookie_is_http_only_and_secure_over_https() {
        let make = Builder::new(1);
        let key = BrowserKey::generate(&*make.random);
        let password = PasswordHash::from_phc_string("$password".to_owned());
        let (user, now) = (make.ids.next(), make.clock.now());
        let token = BrowserToken::remember(user, &password, None, &key, now, &*make.random);
        let token = token.expect("a token");
        for (public_url, name, secure) in [
            ("https://keys.example.com", "__Host-browser", "Secure; "),
            ("http://localhost:8080", "browser", ""),
        ] {
            let cookie = BrowserCookie::of(&PublicUrl::parse(public_url).expect("a URL"));
            let text = token.expose();
            assert_eq!(
                cookie.set(&token),
                format!("{name}={text}; Path=/; {secure}HttpOnly; SameSite=Lax; Max-Age=17280000")
            );
        }
    }
}
