//! The cookie that keeps an invitation while the invited signs in.

use keyward_domain::invitation::InvitationToken;
use keyward_domain::public_url::PublicUrl;
use poem::http::{HeaderMap, HeaderValue};

use crate::cookies;

/// The name and attributes of the cookie, which keeps the secret of an invitation's link out of the addresses that lead
/// to sign-in and back. Only the page of invitations gets it, and not for long.
///
/// The prefix `__Secure-` makes browsers refuse such a cookie over plain http (RFC 6265bis §4.1.3).
#[derive(Debug, Clone, Copy)]
pub(crate) struct InvitationCookie {
    name: &'static str,
    attributes: &'static str,
}

impl InvitationCookie {
    /// Time to find a password, in seconds. After that, the link itself still leads to the invitation.
    const MAX_AGE: u32 = 3600;

    pub(crate) fn of(public_url: &PublicUrl) -> Self {
        if public_url.is_https() {
            Self {
                name: "__Secure-invitation",
                attributes: "Path=/join; Secure; HttpOnly; SameSite=Lax",
            }
        } else {
            Self {
                name: "invitation",
                attributes: "Path=/join; HttpOnly; SameSite=Lax",
            }
        }
    }

    /// The invitation whose link this browser opened last.
    pub(crate) fn read(self, headers: &HeaderMap) -> Option<InvitationToken> {
        cookies::sent(headers, self.name).find_map(InvitationToken::parse)
    }

    /// The header that makes the browser keep it.
    pub(crate) fn set(self, token: &InvitationToken) -> HeaderValue {
        let Self { name, attributes } = self;
        let (secret, seconds) = (token.expose(), Self::MAX_AGE);
        cookies::set_cookie(&format!("{name}={secret}; {attributes}; Max-Age={seconds}"))
    }

    /// The header that makes the browser forget it.
    pub(crate) fn remove(self) -> HeaderValue {
        cookies::set_cookie(&format!("{}=; {}; Max-Age=0", self.name, self.attributes))
    }
}

#[cfg(test)]
mod tests {
    use keyward_domain::testing::SeededRandom;

    use super::*;

    #[test]
    fn it_is_for_one_page_and_an_hour_and_only_over_https_where_there_is_https() {
        let token = InvitationToken::generate(&SeededRandom::new(1));
        let secret = token.expose();
        for (public_url, name, secure) in [
            ("https://keys.example.com", "__Secure-invitation", "Secure; "),
            ("http://localhost:8080", "invitation", ""),
        ] {
            let cookie = InvitationCookie::of(&PublicUrl::parse(public_url).expect("a URL"));
            let attributes = format!("Path=/join; {secure}HttpOnly; SameSite=Lax");
            assert_eq!(
                cookie.set(&token),
                format!("{name}={secret}; {attributes}; Max-Age=3600")
            );
            assert_eq!(cookie.remove(), format!("{name}=; {attributes}; Max-Age=0"));
        }
    }
}
