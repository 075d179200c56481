//! The address at which people reach this installation.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// The address at which people reach this installation: `https://…`, or `http://…` on this machine only,
/// because passwords and tokens travel over it. It is an origin (RFC 6454 §4): scheme, host and port, in the
/// form in which browsers send it.
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
    /// It has a path, query or fragment.
    #[error("must end after the host and port: Keyward needs a host name of its own, without path or query")]
    HasPath,
}

impl PublicUrl {
    /// Reads a public URL. A slash at its end, capitals, the zeros of an IPv6 address and the scheme's own
    /// port are tidied away.
    ///
    /// # Errors
    /// Says what to change.
    pub fn parse(text: &str) -> Result<Self, InvalidPublicUrl> {
        if text.contains(['?', '#']) {
            return Err(InvalidPublicUrl::HasPath);
        }
        let (scheme, rest) = text.split_once("://").ok_or(InvalidPublicUrl::Malformed)?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            "" => return Err(InvalidPublicUrl::Malformed),
            _ => return Err(InvalidPublicUrl::UnknownScheme),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            return Err(InvalidPublicUrl::HasUser);
        }
        if !path.is_empty() {
            return Err(InvalidPublicUrl::HasPath);
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            Some(_) | None => (authority, None),
        };
        let host = host.to_ascii_lowercase();
        if !is_host(&host) {
            return Err(InvalidPublicUrl::Malformed);
        }
        let port = match port {
            Some(digits) => Some(parse_port(digits).ok_or(InvalidPublicUrl::Malformed)?),
            None => None,
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
    pub fn as_str(&self) -> &str {
        &self.origin
    }

    /// Whether an `Origin` header names this installation. On a local one, `localhost` and `127.0.0.1` are
    /// the same.
    #[must_use]
    pub fn is_origin(&self, origin: &str) -> bool {
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

/// A port that can be listened on.
fn parse_port(digits: &str) -> Option<u16> {
    let is_number = digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|&port| is_number && port != 0)
}

fn ipv6(host: &str) -> Option<Ipv6Addr> {
    host.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

/// Narrower than what a URI allows, so that the public URL means the same in a header, a page and a shell.
///
/// A name whose last label is a number is an IPv4 address to browsers (WHATWG URL §3.5), which send `127.1`
/// as `127.0.0.1`: only the form that they send is taken.
fn is_host(host: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    let is_number = |label: &str| {
        let hexadecimal = label.strip_prefix("0x");
        label.bytes().all(|b| b.is_ascii_digit())
            || hexadecimal.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    let is_name = host.split('.').all(is_label);
    let ends_in_a_number = host.rsplit('.').next().is_some_and(is_number);
    ipv6(host).is_some() || is_name && (!ends_in_a_number || host.parse::<Ipv4Addr>().is_ok())
}

fn is_this_machine(host: &str) -> bool {
    let is_loopback_v4 = || host.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback());
    let is_loopback_v6 = || ipv6(host).is_some_and(|address| address.is_loopback());
    host == "localhost" || is_loopback_v4() || is_loopback_v6()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        PublicUrl::parse(text).expect(text).as_str().to_owned()
    }

    #[test]
    fn https_public_url_is_normalized_as_browsers_send_origins() {
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
    fn plain_http_is_accepted_for_loopback_only() {
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
    fn public_url_beyond_an_origin_is_rejected_with_reason() {
        use InvalidPublicUrl::{HasPath, HasUser, Malformed, UnknownScheme};
        for (text, reason) in [
            ("", Malformed),
            ("keys.example.com", Malformed),
            ("https://", Malformed),
            ("https://:8080", Malformed),
            ("https://host:", Malformed),
            ("https://host:0", Malformed),
            ("https://host:99999", Malformed),
            ("https://host:+80", Malformed),
            ("https://host:80:80", Malformed),
            ("https://ho st", Malformed),
            ("https://schlüssel.example", Malformed),
            ("https://a'b.example", Malformed),
            ("https://a..example", Malformed),
            ("https://127.1", Malformed),
            ("https://10.0.0.256", Malformed),
            ("https://keys.0x1f", Malformed),
            ("https://[::1", Malformed),
            ("https://[fe80::1%25eth0]", Malformed),
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
    fn localhost_and_loopback_address_share_an_origin_over_http_only() {
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
}
