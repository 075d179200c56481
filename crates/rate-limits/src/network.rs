//! Which addresses are counted together.

use std::net::IpAddr;

/// An IPv4 address, or the /64 network of an IPv6 address: the smallest that one customer gets, in which a
/// single machine may take any of 2^64 addresses (RFC 6177, RFC 8981). An IPv4-mapped IPv6 address counts as
/// the IPv4 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientNetwork(Prefix);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Prefix {
    V4(u32),
    V6(u64),
}

impl From<IpAddr> for ClientNetwork {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => Prefix::V4(address.to_bits()),
            IpAddr::V6(address) => {
                let [a, b, c, d, e, f, g, h, ..] = address.octets();
                Prefix::V6(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ClientNetwork;

    fn network(address: &str) -> ClientNetwork {
        ClientNetwork::from(address.parse::<std::net::IpAddr>().unwrap())
    }

    #[test]
    fn ipv6_addresses_of_one_64_network_are_one() {
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:0:0:2"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
    }

    #[test]
    fn ipv4_addresses_differ_also_when_mapped() {
        assert_eq!(network("::ffff:192.0.2.7"), network("192.0.2.7"));
        assert_ne!(network("192.0.2.8"), network("192.0.2.7"));
        assert_ne!(network("::"), network("0.0.0.0"));
    }
}
