//! Networks as written on a command line.

use std::net::IpAddr;

use ipnet::IpNet;

/// Why a text is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidNetwork {
    /// Not an address, or not a prefix length that such an address has.
    #[error(
        "`{0}` is not a network: write an address and a prefix length (at most /32 for IPv4, /128 for IPv6), for instance \
         10.0.0.0/8 or 2001:db8::/32, and between several a comma without spaces"
    )]
    Unreadable(String),
    /// The address names one machine, the prefix many: one of the two is a mistake.
    #[error("`{0}` has address bits beyond its prefix: for all of the network write {1}")]
    BitsBeyondPrefix(String, IpNet),
}

/// Reads `10.0.0.0/8`, `2001:db8::/32` (RFC 4632, RFC 4291 §2.3) or one address.
///
/// # Errors
/// [`InvalidNetwork`]; its message says what to write.
pub fn parse_network(text: &str) -> Result<IpNet, InvalidNetwork> {
    let address = || text.parse::<IpAddr>().map(IpNet::from);
    // ipnet reads 010.0.0.0 as 10.0.0.0, other tools as 8.0.0.0; IpAddr refuses it.
    let is_clear = text
        .split_once('/')
        .is_none_or(|(address, _)| address.parse::<IpAddr>().is_ok());
    if !is_clear {
        return Err(InvalidNetwork::Unreadable(text.to_owned()));
    }
    let network = text.parse::<IpNet>().or_else(|_| address());
    let network = network.map_err(|_| InvalidNetwork::Unreadable(text.to_owned()))?;
    if network.addr() == network.network() {
        Ok(canonical(network))
    } else {
        Err(InvalidNetwork::BitsBeyondPrefix(text.to_owned(), network.trunc()))
    }
}

/// Converts an IPv4-mapped network to its IPv4 network, as is done with addresses.
fn canonical(network: IpNet) -> IpNet {
    let of_ipv4 =
        network
            .prefix_len()
            .checked_sub(96)
            .and_then(|length| match network.addr().to_canonical() {
                address @ IpAddr::V4(_) => IpNet::new(address, length).ok(),
                IpAddr::V6(_) => None,
            });
    of_ipv4.unwrap_or(network)
}

/// The network of a single machine: an IPv4 address, or the IPv6 network in which the machine chooses its
/// address.
pub(crate) fn network_of_machine(address: IpAddr) -> IpNet {
    let address = address.to_canonical();
    let whole = IpNet::from(address);
    match address {
        IpAddr::V4(_) => whole,
        IpAddr::V6(_) => IpNet::new(address, 64).map_or(whole, |network| network.trunc()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_or_single_address_is_read() {
        for (text, network) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("192.0.2.7", "192.0.2.7/32"),
            ("2001:db8::/32", "2001:db8::/32"),
            ("::1", "::1/128"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("::ffff:192.0.2.7", "192.0.2.7/32"),
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
            ("::ffff:0:0/96", "0.0.0.0/0"),
            ("::/0", "::/0"),
        ] {
            assert_eq!(parse_network(text).unwrap().to_string(), network);
        }
    }

    #[test]
    fn malformed_network_is_refused_with_the_expected_form() {
        let refused = |text: &str| parse_network(text).unwrap_err().to_string();
        for text in [
            "",
            "/",
            "10.0.0.0/",
            "10.0.0/8",
            "10.0.0.0/-1",
            "10.0.0.0/300",
            "proxy",
            "10.0.0.0/8/8",
            "10.0.0.0/33",
            "::/129",
            "010.0.0.0/8",
        ] {
            assert!(refused(text).contains("write an address"), "{text}");
        }
        assert!(refused("10.1.0.0/8").ends_with("write 10.0.0.0/8"));
    }

    #[test]
    fn ipv6_machine_is_its_network() {
        let of = |address: &str| network_of_machine(address.parse().unwrap()).to_string();
        assert_eq!(of("2001:db8::1:2:3:4"), "2001:db8::/64");
        assert_eq!(of("192.0.2.1"), "192.0.2.1/32");
        assert_eq!(of("::ffff:192.0.2.1"), "192.0.2.1/32");
    }
}
