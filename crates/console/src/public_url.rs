//! The address at which people reach this installation.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use keyward_domain::invitation::InvitationToken;
use keyward_domain::sign_in::setup::SetupToken;
use poem::http::Uri;

use crate::links;

/// The address at which people reach this installation: `https://…`, or `http://…` on this machine only, because
/// passwords and tokens travel over it. It is an origin (RFC 6454 §4): scheme, host and port, in the form in which
/// browsers send it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    origin: String,
    scheme: Scheme,
    host: String,
    port: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
}

/// Why a text is not a public URL. The words are meant for the administrator who set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPublicUrl {
    /// It cannot be read as an absolute address.
    #[error("not a URL: expected https://HOST or https://HOST:PORT, an international name in its xn-- form")]
    Malformed,
    /// It begins with something else than `http://` or `https://`.
    #[error("must begin with https:// (http:// only for localhost)")]
    UnknownScheme,
    /// Passwords would cross the network in the clear.
    #[error("must begin with https:// unless the host is localhost, 127.0.0.0/8 or [::1]")]
    PlaintextToAnotherMachine,
    /// It names a user.
    #[error("must not contain a user name or password")]
    HasUser,
    /// It goes on after the host and port.
    #[error("must end after the host and port: Keyward needs a host name of its own, without path or query")]
    HasPath,
}

impl PublicUrl {
    /// Reads a public URL. A slash at its end, capitals, the zeros of an IPv6 address and the scheme's own port are
    /// tidied away.
    ///
    /// # Errors
    /// Says what to change.
    pub fn parse(text: &str) -> Result<Self, InvalidPublicUrl> {
        // The parser below drops a fragment silently.
        if text.contains(['?', '#']) {
            return Err(InvalidPublicUrl::HasPath);
        }
        let uri = Uri::from_str(text).map_err(|_| InvalidPublicUrl::Malformed)?;
        let scheme = match uri.scheme_str() {
            Some("https") => Scheme::Https,
            Some("http") => Scheme::Http,
            Some(_) => return Err(InvalidPublicUrl::UnknownScheme),
            None => return Err(InvalidPublicUrl::Malformed),
        };
        let authority = uri.authority().ok_or(InvalidPublicUrl::Malformed)?;
        if authority.as_str().contains('@') {
            return Err(InvalidPublicUrl::HasUser);
        }
        if !matches!(uri.path(), "" | "/") {
            return Err(InvalidPublicUrl::HasPath);
        }
        let host = authority.host().to_ascii_lowercase();
        if !is_host(&host) {
            return Err(InvalidPublicUrl::Malformed);
        }
        let port = match authority.as_str().get(host.len()..) {
            None | Some("") => None,
            Some(rest) => Some(parse_port(rest).ok_or(InvalidPublicUrl::Malformed)?),
        };
        if scheme == Scheme::Http && !is_this_machine(&host) {
            return Err(InvalidPublicUrl::PlaintextToAnotherMachine);
        }
        Ok(Self::new(
            scheme,
            ipv6(&host).map_or(host, |address| format!("[{address}]")),
            port.filter(|&port| port != scheme.default_port()),
        ))
    }

    fn new(scheme: Scheme, host: String, port: Option<u16>) -> Self {
        let mut origin = format!("{}://{host}", scheme.as_str());
        if let Some(port) = port {
            origin.push_str(&format!(":{port}"));
        }
        Self {
            origin,
            scheme,
            host,
            port,
        }
    }

    /// Whether people reach this installation by https, here or at a proxy.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.scheme == Scheme::Https
    }

    /// The address, without a slash at its end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.origin
    }

    /// The one-time link that completes the first run. Whoever has it becomes the first owner.
    #[must_use]
    pub fn setup_link(&self, token: &SetupToken) -> String {
        format!("{self}{}", links::setup(token))
    }

    /// The one-time link of an invitation. Whoever opens it first may join.
    #[must_use]
    pub fn invitation_link(&self, token: &InvitationToken) -> String {
        format!("{self}{}", links::join(token))
    }

    /// Whether an `Origin` header names this installation. On a local one, `localhost` and `127.0.0.1` are the same.
    pub(crate) fn is_origin(&self, origin: &str) -> bool {
        let other_name = match (self.scheme, self.host.as_str()) {
            (Scheme::Http, "localhost") => "127.0.0.1",
            (Scheme::Http, "127.0.0.1") => "localhost",
            (Scheme::Http | Scheme::Https, _) => return origin == self.origin,
        };
        origin == self.origin || origin == Self::new(self.scheme, other_name.to_owned(), self.port).origin
    }
}

impl Scheme {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin)
    }
}

impl FromStr for PublicUrl {
    type Err = InvalidPublicUrl;

    fn from_str(text: &str) -> Result<Self, InvalidPublicUrl> {
        Self::parse(text)
    }
}

/// What of a colon and digits is a port that can be listened on.
fn parse_port(text: &str) -> Option<u16> {
    let digits = text
        .strip_prefix(':')
        .filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))?;
    digits.parse().ok().filter(|&port| port != 0)
}

fn ipv6(host: &str) -> Option<Ipv6Addr> {
    host.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

/// Narrower than what a URI allows, so that the public URL means the same in a header, a page and a shell.
fn is_host(host: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    ipv6(host).is_some() || host.split('.').all(is_label)
}

fn is_this_machine(host: &str) -> bool {
    let is_loopback_v4 = || host.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback());
    let is_loopback_v6 = || ipv6(host).is_some_and(|address| address.is_loopback());
    host == "localhost" || is_loopback_v4() || is_loopback_v6()
}

#[cfg(test)]
mod tests {
    use keyward_domain::testing::SeededRandom;

    use super::*;

    fn parsed(text: &str) -> String {
        PublicUrl::parse(text).expect(text).as_str().to_owned()
    }

    #[test]
    fn an_https_address_is_kept_in_the_form_that_browsers_send() {
        assert_eq!(parsed("https://keys.example.com"), "https://keys.example.com");
        assert_eq!(parsed("https://keys.example.com/"), "https://keys.example.com");
        assert_eq!(
            parsed("https://Keys.Example.COM:8443"),
            "https://keys.example.com:8443"
        );
        assert_eq!(parsed("https://keys.example.com:443"), "https://keys.example.com");
        assert_eq!(
            parsed("https://[2001:DB8:0:0::1]:8443"),
            "https://[2001:db8::1]:8443"
        );
    }

    #[test]
    fn plain_http_is_for_this_machine_only() {
        for local in [
            "http://localhost:8080",
            "http://127.0.0.1:8080",
            "http://127.8.9.10",
            "http://[::1]:8080",
        ] {
            assert_eq!(parsed(local), local);
            assert!(!PublicUrl::parse(local).expect(local).is_https());
        }
        for remote in [
            "http://example.com",
            "http://localhost.example.com",
            "http://192.168.1.2:8080",
            "http://0.0.0.0:8080",
            "http://[2001:db8::1]",
            "http://127.0.0.1.example.com",
        ] {
            assert_eq!(
                PublicUrl::parse(remote),
                Err(InvalidPublicUrl::PlaintextToAnotherMachine),
                "{remote}"
            );
        }
    }

    #[test]
    fn what_is_more_or_less_than_an_origin_is_refused_with_its_reason() {
        use InvalidPublicUrl::{HasPath, HasUser, Malformed, UnknownScheme};
        for (text, reason) in [
            ("", Malformed),
            ("keys.example.com", Malformed),
            ("https://", Malformed),
            ("https://:8080", Malformed),
            ("https://host:", Malformed),
            ("https://host:0", Malformed),
            ("https://host:99999", Malformed),
            ("https://ho st", Malformed),
            ("https://schlüssel.example", Malformed),
            ("https://a'b.example", Malformed),
            ("https://a..example", Malformed),
            ("ftp://host", UnknownScheme),
            ("javascript://host", UnknownScheme),
            ("https://user@host", HasUser),
            ("https://user:secret@host", HasUser),
            ("https://host/keyward", HasPath),
            ("https://host//", HasPath),
            ("https://host?a=b", HasPath),
            ("https://host/#top", HasPath),
        ] {
            assert_eq!(PublicUrl::parse(text), Err(reason), "{text}");
        }
    }

    #[test]
    fn localhost_and_127_0_0_1_are_one_origin_on_a_local_installation_and_nowhere_else() {
        let local = PublicUrl::parse("http://localhost:8080").expect("a URL");
        assert!(local.is_origin("http://localhost:8080"));
        assert!(local.is_origin("http://127.0.0.1:8080"));
        for stranger in [
            "null",
            "",
            "http://localhost",
            "http://localhost:8081",
            "http://127.0.0.2:8080",
            "https://localhost:8080",
            "http://localhost:8080/",
            "http://localhost:8080.example.com",
        ] {
            assert!(!local.is_origin(stranger), "{stranger}");
        }
        let public = PublicUrl::parse("https://localhost").expect("a URL");
        assert!(!public.is_origin("https://127.0.0.1"));
    }

    #[test]
    fn the_setup_link_carries_the_token() {
        let token = SetupToken::generate(&SeededRandom::new(1));
        let url = PublicUrl::parse("https://keys.example.com/").expect("a URL");
        assert_eq!(
            url.setup_link(&token),
            format!("https://keys.example.com/setup?token={}", token.expose())
        );
    }

    #[test]
    fn the_invitation_link_carries_the_token() {
        let token = InvitationToken::generate(&SeededRandom::new(1));
        let url = PublicUrl::parse("https://keys.example.com/").expect("a URL");
        assert_eq!(
            url.invitation_link(&token),
            format!("https://keys.example.com/join?token={}", token.expose())
        );
    }
}
