//! A range of addresses in CIDR notation.

use std::{fmt, net::IpAddr, str::FromStr};

/// A range of addresses, written `10.0.0.0/8`, `2001:db8::/32` or as one address (RFC 4632, RFC 4291 §2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpNetwork {
    address: IpAddr,
    prefix: u8,
}

/// Why a text is no [`IpNetwork`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IpNetworkError {
    /// Not an address, or not a number after the slash.
    #[error(
        "`{0}` is not a network: write an address and a prefix length, for instance 10.0.0.0/8 or 2001:db8::/32"
    )]
    Unreadable(String),
    /// More bits than the address has.
    #[error("`{0}` has a prefix that is longer than the address: at most /32 for IPv4, /128 for IPv6")]
    PrefixTooLong(String),
    /// The address names one machine, the prefix many: one of the two is a mistake.
    #[error("`{0}` has address bits beyond its prefix: for all of the network write {1}")]
    BitsBeyondPrefix(String, IpNetwork),
}

impl IpNetwork {
    /// Whether `address` is one of these. An IPv4 address counts as itself in its IPv6-mapped form, too.
    pub fn contains(&self, address: IpAddr) -> bool {
        masked(address.to_canonical(), self.prefix) == Some(self.address)
            && address.to_canonical().is_ipv4() == self.address.is_ipv4()
    }

    /// What one machine certainly has of its own: an IPv4 address, or the IPv6 network in which it takes any address.
    pub(crate) fn of_machine(address: IpAddr) -> Self {
        let address = address.to_canonical();
        let prefix = if address.is_ipv4() { 32 } else { 64 };
        Self {
            address: masked(address, prefix).unwrap_or(address),
            prefix,
        }
    }

    /// Whether it is all of IPv4 or of IPv6.
    pub fn is_everybody(&self) -> bool {
        self.prefix == 0
    }
}

impl FromStr for IpNetwork {
    type Err = IpNetworkError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unreadable = || IpNetworkError::Unreadable(text.to_owned());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix.parse::<u8>().map_err(|_| unreadable())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| unreadable())?;
        let prefix = prefix.unwrap_or(if address.is_ipv4() { 32 } else { 128 });
        let network =
            masked(address, prefix).ok_or_else(|| IpNetworkError::PrefixTooLong(text.to_owned()))?;
        if network == address {
            Ok(Self { address, prefix })
        } else {
            Err(IpNetworkError::BitsBeyondPrefix(
                text.to_owned(),
                Self {
                    address: network,
                    prefix,
                },
            ))
        }
    }
}

impl fmt::Display for IpNetwork {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.prefix)
    }
}

/// The address with all bits after the prefix zero, or `None` if it has fewer bits than that.
fn masked(address: IpAddr, prefix: u8) -> Option<IpAddr> {
    let prefix = u32::from(prefix);
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32_u32.checked_sub(prefix)?).unwrap_or(0);
            Some(IpAddr::V4((address.to_bits() & mask).into()))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128_u32.checked_sub(prefix)?).unwrap_or(0);
            Some(IpAddr::V6((address.to_bits() & mask).into()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(network: &str, address: &str) -> bool {
        network
            .parse::<IpNetwork>()
            .unwrap()
            .contains(address.parse().unwrap())
    }

    #[test]
    fn a_network_contains_what_shares_its_prefix() {
        assert!(contains("10.0.0.0/8", "10.255.0.1"));
        assert!(!contains("10.0.0.0/8", "11.0.0.1"));
        assert!(contains("192.0.2.7", "192.0.2.7"));
        assert!(!contains("192.0.2.7", "192.0.2.6"));
        assert!(contains("2001:db8::/32", "2001:db8:ffff::1"));
        assert!(!contains("2001:db8::/32", "2001:db9::1"));
        assert!(contains("0.0.0.0/0", "203.0.113.9"));
        assert!(contains("::/0", "2001:db8::1"));
    }

    #[test]
    fn a_mapped_address_counts_as_the_ipv4_address_it_is() {
        assert!(contains("10.0.0.0/8", "::ffff:10.1.2.3"));
        assert!(!contains("::/0", "::ffff:10.1.2.3"));
        assert!(!contains("0.0.0.0/0", "2001:db8::1"));
    }

    #[test]
    fn what_is_no_network_is_refused_with_the_way_to_write_it() {
        let refused = |text: &str| text.parse::<IpNetwork>().unwrap_err().to_string();
        for text in [
            "",
            "/",
            "10.0.0.0/",
            "10.0.0/8",
            "10.0.0.0/-1",
            "10.0.0.0/300",
            "proxy",
            "10.0.0.0/8/8",
        ] {
            assert!(refused(text).contains("write an address"), "{text}");
        }
        assert!(refused("10.0.0.0/33").contains("at most /32"));
        assert!(refused("::/129").contains("/128"));
        assert!(refused("10.1.0.0/8").ends_with("write 10.0.0.0/8"));
    }
}
