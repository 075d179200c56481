//! The cookies of the console (RFC 6265bis), and their attributes.

use chrono::TimeDelta;
use keyward_domain::invitation::InvitationToken;
use keyward_domain::public_url::PublicUrl;
use keyward_domain::sign_in::remembered_browser::BrowserToken;
use keyward_domain::sign_in::session::SessionToken;
use keyward_domain::sign_in::setup::SetupToken;
use poem::Response;
use poem::http::{HeaderMap, HeaderValue, header};

use crate::flash::Flash;

/// A cookie that holds a `T`. Scripts cannot read it, and forms of other sites do not send it.
///
/// Over https, a prefix of its name makes browsers refuse it over plain http and from a subdomain (`__Host-`, RFC 6265bis
/// §4.1.3), which wants it to be for all paths; a local installation has no https, and must do without.
pub(crate) struct Cookie<T> {
    name: &'static str,
    /// How long browsers keep it; `None` until they are closed.
    max_age: Option<TimeDelta>,
    parse: fn(&str) -> Option<T>,
}

/// The session of the signed-in user.
pub(crate) const SESSION: Cookie<SessionToken> = Cookie {
    name: "session",
    max_age: None,
    parse: SessionToken::parse,
};

/// The users who signed in in this browser before. It gives no access, only a rate limit that strangers who guess
/// passwords cannot use up. So it stays after signing out.
pub(crate) const BROWSER: Cookie<BrowserToken> = Cookie {
    name: "browser",
    max_age: Some(BrowserToken::LIFETIME),
    parse: BrowserToken::parse,
};

/// The message that a form leaves for the page that it leads to, with time to follow a redirect.
pub(crate) const FLASH: Cookie<Flash> = Cookie {
    name: "flash",
    max_age: Some(TimeDelta::minutes(1)),
    parse: Flash::parse,
};

/// The secret of the setup link, so that it leaves the URL with the first request: URLs stay in the browser's history,
/// in the logs of proxies and on photographs of the screen. An hour is enough to choose a password; after that, the
/// link itself still leads to its page.
pub(crate) const SETUP_LINK: Cookie<SetupToken> = Cookie {
    name: "setup",
    max_age: Some(TimeDelta::hours(1)),
    parse: SetupToken::parse,
};

/// The secret of an invitation's link, likewise.
pub(crate) const INVITATION_LINK: Cookie<InvitationToken> = Cookie {
    name: "invitation",
    max_age: Some(TimeDelta::hours(1)),
    parse: InvitationToken::parse,
};

impl<T> Cookie<T> {
    /// The value that the browser sent: of several cookies of that name, the first valid one. Cookies ignore ports, so
    /// another program on `localhost` may have set one; those of other names may hold any bytes.
    pub(crate) fn read(&self, headers: &HeaderMap, public_url: &PublicUrl) -> Option<T> {
        let name = self.full_name(public_url);
        headers
            .get_all(header::COOKIE)
            .iter()
            .flat_map(|value| value.as_bytes().split(|byte| *byte == b';'))
            // Only spaces of ASCII, as browsers see names: `\u{2000}__Host-session` is one that any subdomain may set.
            .filter_map(|pair| std::str::from_utf8(pair.trim_ascii()).ok()?.split_once('='))
            .filter(|(sent_name, _)| *sent_name == name)
            .find_map(|(_, value)| (self.parse)(value))
    }

    /// Makes the browser keep this.
    pub(crate) fn set(&self, response: &mut Response, public_url: &PublicUrl, value: &str) {
        let header = self.header(public_url, value, self.max_age);
        response.headers_mut().append(header::SET_COOKIE, header);
    }

    /// Makes the browser delete it. A `__Host-` cookie is only deleted with the same attributes.
    pub(crate) fn remove(&self, response: &mut Response, public_url: &PublicUrl) {
        let header = self.header(public_url, "", Some(TimeDelta::zero()));
        response.headers_mut().append(header::SET_COOKIE, header);
    }

    fn full_name(&self, public_url: &PublicUrl) -> String {
        let prefix = if public_url.is_https() { "__Host-" } else { "" };
        format!("{prefix}{}", self.name)
    }

    /// Marked sensitive, so that it is not logged.
    #[expect(
        clippy::expect_used,
        reason = "names, attributes and the digits, letters and dots of values are always a header value"
    )]
    fn header(&self, public_url: &PublicUrl, value: &str, max_age: Option<TimeDelta>) -> HeaderValue {
        let name = self.full_name(public_url);
        let secure = if public_url.is_https() { "Secure; " } else { "" };
        let max_age = max_age.map_or(String::new(), |age| format!("; Max-Age={}", age.num_seconds()));
        let text = format!("{name}={value}; Path=/; {secure}HttpOnly; SameSite=Lax{max_age}");
        let mut header = HeaderValue::from_str(&text).expect("a header value");
        header.set_sensitive(true);
        header
    }
}

#[cfg(test)]
mod tests {
    use keyward_domain::testing::SeededRandom;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngSeed};

    use super::*;

    fn urls() -> [PublicUrl; 2] {
        ["https://keys.example.com", "http://localhost:8080"].map(|url| PublicUrl::parse(url).expect("a URL"))
    }

    #[track_caller]
    fn assert_headers<T>(cookie: &Cookie<T>, https: &str, http: &str, max_age: &str) {
        for (public_url, expected) in urls().iter().zip([https, http]) {
            let (name, attributes) = expected.split_once("=; ").expect("a cookie");
            let mut response = Response::default();
            cookie.set(&mut response, public_url, "value");
            cookie.remove(&mut response, public_url);
            let headers: Vec<&HeaderValue> = response.headers().get_all(header::SET_COOKIE).iter().collect();
            assert_eq!(
                headers,
                [
                    &*format!("{name}=value; {attributes}{max_age}"),
                    &*format!("{expected}; Max-Age=0"),
                ]
            );
            assert!(headers.iter().all(|header| header.is_sensitive()));
        }
    }

    #[test]
    fn cookie_attributes_follow_scheme_and_removal_repeats_them() {
        assert_headers(
            &SESSION,
            "__Host-session=; Path=/; Secure; HttpOnly; SameSite=Lax",
            "session=; Path=/; HttpOnly; SameSite=Lax",
            "",
        );
        assert_headers(
            &BROWSER,
            "__Host-browser=; Path=/; Secure; HttpOnly; SameSite=Lax",
            "browser=; Path=/; HttpOnly; SameSite=Lax",
            "; Max-Age=17280000",
        );
        assert_headers(
            &FLASH,
            "__Host-flash=; Path=/; Secure; HttpOnly; SameSite=Lax",
            "flash=; Path=/; HttpOnly; SameSite=Lax",
            "; Max-Age=60",
        );
    }

    #[test]
    fn link_cookie_is_kept_for_an_hour() {
        assert_headers(
            &SETUP_LINK,
            "__Host-setup=; Path=/; Secure; HttpOnly; SameSite=Lax",
            "setup=; Path=/; HttpOnly; SameSite=Lax",
            "; Max-Age=3600",
        );
        assert_headers(
            &INVITATION_LINK,
            "__Host-invitation=; Path=/; Secure; HttpOnly; SameSite=Lax",
            "invitation=; Path=/; HttpOnly; SameSite=Lax",
            "; Max-Age=3600",
        );
    }

    fn read(public_url: &PublicUrl, sent: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for cookie in sent {
            headers.append(header::COOKIE, cookie.parse().expect("a header value"));
        }
        let token = SESSION.read(&headers, public_url);
        token.map(|token| token.expose().to_owned())
    }

    #[test]
    fn cookie_is_found_among_others_of_any_name() {
        let token = SessionToken::generate(&SeededRandom::new(1));
        let ours = format!("theme=dark; session=not-ours;session={}", token.expose());
        let [_, local] = urls();
        assert_eq!(read(&local, &["a=b", &ours]).as_deref(), Some(token.expose()));
    }

    #[test]
    fn cookie_is_found_beside_others_of_any_bytes() {
        let token = SessionToken::generate(&SeededRandom::new(1));
        let sent = [b"other=\xc3\xa9\xff; session=", token.expose().as_bytes()].concat();
        let mut headers = HeaderMap::new();
        headers.append(
            header::COOKIE,
            HeaderValue::from_bytes(&sent).expect("a header value"),
        );
        let [_, local] = urls();
        let found = SESSION.read(&headers, &local).expect("a token");
        assert_eq!(found.expose(), token.expose());
    }

    #[test]
    fn cookie_without_host_prefix_is_ignored_over_https() {
        let token = SessionToken::generate(&SeededRandom::new(1));
        let [https, _] = urls();
        for name in ["session", "\u{2000}__Host-session", "\u{a0}__Host-session"] {
            let sent = format!("theme=dark; {name}={}", token.expose());
            let mut headers = HeaderMap::new();
            headers.append(
                header::COOKIE,
                HeaderValue::from_bytes(sent.as_bytes()).expect("a value"),
            );
            assert!(SESSION.read(&headers, &https).is_none(), "{name}");
        }
    }

    /// Any bytes that a header may have, often of the kind that cookies are made of.
    fn others() -> impl Strategy<Value = Vec<u8>> {
        let bytes = |text: &'static [u8]| Just(text.to_vec());
        let some = prop_oneof![
            bytes(b";"),
            bytes(b"="),
            bytes(b" "),
            bytes(b"session"),
            bytes(b"\""),
            (b' '..=b'~').prop_map(|byte| vec![byte]),
            (0x80..=0xff_u8).prop_map(|byte| vec![byte]),
        ];
        vec(some, 0..12).prop_map(|some| some.concat())
    }

    proptest! {
        #![proptest_config(Config { rng_seed: RngSeed::Fixed(6265), failure_persistence: None, ..Config::default() })]

        #[test]
        fn no_bytes_of_other_cookies_hide_ours(before in others(), after in others()) {
            let token = SessionToken::generate(&SeededRandom::new(1));
            let sent = [&before[..], b";session=", token.expose().as_bytes(), b";", &after[..]].concat();
            let sent = HeaderValue::from_bytes(&sent).expect("a header value");
            let headers = HeaderMap::from_iter([(header::COOKIE, sent)]);
            let [_, local] = urls();
            let found = SESSION.read(&headers, &local);
            prop_assert_eq!(found.as_ref().map(SessionToken::expose), Some(token.expose()));
        }
    }
}
