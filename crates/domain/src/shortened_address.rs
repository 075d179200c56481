//! Client addresses as somebody other than their user may see them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The network that an address is in: IPv4 by /24, IPv6 by /48. It tells an owner roughly where a member's key is used,
/// and not where the member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ShortenedAddress(IpAddr);

impl ShortenedAddress {
    /// The address without what would tell it from its neighbours. An IPv4 address in IPv6's clothes (RFC 4291
    /// §2.5.5.2) is one of IPv4.
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
    fn an_address_keeps_the_network_and_loses_the_rest() {
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
