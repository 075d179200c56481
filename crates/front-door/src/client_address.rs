//! The client's address: the socket's peer or, if that is a trusted proxy, the address in its header.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use poem::http::{HeaderMap, HeaderName, header};

use crate::forwarded::{canonical, forwarded, x_forwarded_for};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The trusted proxies, and the header to which they append the client's address.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies {
    /// The addresses of the proxies. Default: none.
    pub networks: Vec<IpNet>,
    /// The header that the proxies write. The other one comes from the client and is never read.
    pub header: ForwardedHeader,
}

/// The address of the trusted proxy that passed a request on. Requests that came directly do not have this
/// data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddress(pub IpAddr);

/// The header in which a proxy appends the address it was called from.
///
/// One of them, never both: a proxy that writes one passes the other on as the client sent it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForwardedHeader {
    /// `X-Forwarded-For`, which nearly every proxy writes.
    #[default]
    XForwardedFor,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

impl ForwardedHeader {
    const BOTH: [Self; 2] = [Self::XForwardedFor, Self::Forwarded];

    pub(crate) fn name(self) -> HeaderName {
        match self {
            Self::XForwardedFor => X_FORWARDED_FOR,
            Self::Forwarded => header::FORWARDED,
        }
    }
}

impl TrustedProxies {
    /// The right-most hop that is no trusted proxy: what it wrote about hops before it cannot be trusted. If
    /// a trusted proxy wrote something unreadable, the result is that proxy.
    pub(crate) fn client_address(&self, peer: SocketAddr, headers: &HeaderMap) -> SocketAddr {
        let peer = canonical(peer.ip(), peer.port());
        if !self.trusts(peer.ip()) {
            return peer;
        }
        match self.header {
            ForwardedHeader::XForwardedFor => self.right_most_untrusted(
                peer,
                headers
                    .get_all(X_FORWARDED_FOR)
                    .iter()
                    .rev()
                    .flat_map(|value| x_forwarded_for(value.as_bytes())),
            ),
            ForwardedHeader::Forwarded => self.right_most_untrusted(
                peer,
                headers
                    .get_all(header::FORWARDED)
                    .iter()
                    .rev()
                    .flat_map(|value| forwarded(value.as_bytes())),
            ),
        }
    }

    fn right_most_untrusted(
        &self,
        peer: SocketAddr,
        hops: impl Iterator<Item = Option<SocketAddr>>,
    ) -> SocketAddr {
        let mut client = peer;
        for hop in hops {
            match hop {
                Some(hop) if self.trusts(client.ip()) => client = hop,
                Some(_) | None => break,
            }
        }
        client
    }

    /// Whether the peer is a trusted proxy.
    pub(crate) fn trusts_peer(&self, peer: SocketAddr) -> bool {
        self.trusts(peer.ip())
    }

    /// An IPv4 address in its IPv6-mapped form counts as the IPv4 address.
    fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|network| network.contains(&address))
    }
}

/// Whether a proxy seems to have passed the request on.
pub(crate) fn is_forwarded(headers: &HeaderMap) -> bool {
    ForwardedHeader::BOTH
        .into_iter()
        .any(|header| headers.contains_key(header.name()))
}

#[cfg(test)]
mod tests {
    use poem::http::HeaderValue;

    use super::*;

    fn client(header: ForwardedHeader, peer: &str, lines: &[(&'static str, &str)]) -> String {
        let proxies = TrustedProxies {
            networks: vec!["10.0.0.0/8".parse().unwrap(), "2001:db8:1::/48".parse().unwrap()],
            header,
        };
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        proxies
            .client_address(peer.parse().unwrap(), &headers)
            .to_string()
    }

    fn by_x_forwarded_for(peer: &str, values: &[&str]) -> String {
        let lines: Vec<_> = values.iter().map(|value| ("x-forwarded-for", *value)).collect();
        client(ForwardedHeader::XForwardedFor, peer, &lines)
    }

    #[test]
    fn forwarding_header_from_an_untrusted_peer_is_ignored() {
        assert_eq!(
            by_x_forwarded_for("203.0.113.5:900", &["192.0.2.1"]),
            "203.0.113.5:900"
        );
    }

    #[test]
    fn forwarding_headers_without_trusted_proxies_are_ignored() {
        let mut headers = HeaderMap::new();
        headers.append("x-forwarded-for", HeaderValue::from_static("192.0.2.1"));
        let address = TrustedProxies::default().client_address("127.0.0.1:900".parse().unwrap(), &headers);
        assert_eq!(address.to_string(), "127.0.0.1:900");
    }

    #[test]
    fn rightmost_untrusted_hop_is_the_client() {
        assert_eq!(by_x_forwarded_for("10.0.0.1:900", &["192.0.2.1"]), "192.0.2.1:0");
        assert_eq!(
            by_x_forwarded_for("10.0.0.1:900", &["6.6.6.6, 192.0.2.1, 10.0.0.2"]),
            "192.0.2.1:0"
        );
        assert_eq!(
            by_x_forwarded_for("10.0.0.1:900", &["6.6.6.6", "192.0.2.1", "10.0.0.2"]),
            "192.0.2.1:0"
        );
        assert_eq!(
            by_x_forwarded_for("[2001:db8:1::1]:900", &["2001:db8:2::1"]),
            "[2001:db8:2::1]:0"
        );
    }

    #[test]
    fn ipv4_mapped_trusted_proxy_is_recognized() {
        assert_eq!(
            by_x_forwarded_for("[::ffff:10.0.0.1]:900", &["192.0.2.1"]),
            "192.0.2.1:0"
        );
    }

    #[test]
    fn invalid_hop_leaves_the_last_trusted_address() {
        assert_eq!(
            by_x_forwarded_for("10.0.0.1:900", &["192.0.2.1, unknown, 10.0.0.2"]),
            "10.0.0.2:0"
        );
        assert_eq!(by_x_forwarded_for("10.0.0.1:900", &[""]), "10.0.0.1:900");
    }

    #[test]
    fn first_hop_is_the_client_when_all_are_trusted() {
        assert_eq!(
            by_x_forwarded_for("10.0.0.1:900", &["10.0.0.3, 10.0.0.2"]),
            "10.0.0.3:0"
        );
        assert_eq!(by_x_forwarded_for("10.0.0.1:900", &[]), "10.0.0.1:900");
    }

    #[test]
    fn only_the_configured_forwarding_header_is_read() {
        let lines = [("forwarded", "for=6.6.6.6"), ("x-forwarded-for", "192.0.2.1")];
        assert_eq!(
            client(ForwardedHeader::XForwardedFor, "10.0.0.1:900", &lines),
            "192.0.2.1:0"
        );
        assert_eq!(
            client(ForwardedHeader::Forwarded, "10.0.0.1:900", &lines),
            "6.6.6.6:0"
        );
    }
}
