//! Shortened IP addresses, for people other than the user.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The network of an IP address: /24 for IPv4, /48 for IPv6. It shows an owner roughly where a member's key
/// is used, without revealing the member's exact address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ShortenedAddress(IpAddr);

impl ShortenedAddress {
    /// Truncates the address. An IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2) counts as IPv4.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => {
                let [a, b, c, _] = address.octets();
                Ipv4Addr::new(a, b, c, 0).into()
            }
            IpAddr::V6(address) => {
                let [a, b, c, ..] = address.segments();
                Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0).into()
            }
        })
    }
}

impl fmt::Display for ShortenedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = if self.0.is_ipv4() { 24 } else { 48 };
        write!(f, "{}/{length}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::ShortenedAddress;

    #[test]
    fn shortened_address_keeps_only_the_network() {
        for (address, shortened) in [
            ("203.0.113.7", "203.0.113.0/24"),
            ("::ffff:203.0.113.7", "203.0.113.0/24"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"),
            ("::1", "::/48"),
        ] {
            assert_eq!(
                ShortenedAddress::of(address.parse().unwrap()).to_string(),
                shortened
            );
        }
    }
}
