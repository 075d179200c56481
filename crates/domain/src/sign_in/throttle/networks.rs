//! The networks from which an attempt comes.

use std::net::IpAddr;

/// As much of the address as one person or one site has.
pub(super) struct Networks {
    pub(super) own: [u8; 16],
    pub(super) site: Option<[u8; 16]>,
}

impl Networks {
    pub(super) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self {
                own: address.to_ipv6_mapped().octets(),
                site: None,
            },
            IpAddr::V6(address) => {
                let prefix = |bits: u32| (u128::from(address) >> (128 - bits) << (128 - bits)).to_be_bytes();
                Self {
                    own: prefix(64),
                    site: Some(prefix(48)),
                }
            }
        }
    }
    /// The site, or what is known in its place.
    pub(super) fn largest(self) -> [u8; 16] {
        self.site.unwrap_or(self.own)
    }
}
