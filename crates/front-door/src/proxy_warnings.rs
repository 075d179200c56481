//! Warns of proxies that give the client's address, but are not trusted: then all their clients have one
//! address, and share one limit on sign-ins.

use std::net::SocketAddr;

use ipnet::IpNet;
use parking_lot::Mutex;
use poem::http::HeaderMap;
use tracing::warn;

use crate::{
    client_address::{TrustedProxies, is_forwarded},
    ip_network::network_of_machine,
};

/// Any client can send the header, so each peer is warned of once, and only this many peers: a scanner can
/// neither fill the log nor use up the warning about a proxy that comes after it.
const MOST_PEERS: usize = 16;

/// The warnings that were logged.
#[derive(Debug, Default)]
pub(crate) struct ProxyWarnings {
    unknown: FirstPeers,
    of_other_header: FirstPeers,
}

/// The peers that came first.
#[derive(Debug, Default)]
struct FirstPeers(Mutex<Vec<IpNet>>);

impl ProxyWarnings {
    /// Warns of wrong forwarding headers from `peer`, once for each kind.
    pub(crate) fn look_at(&self, trusted: &TrustedProxies, peer: SocketAddr, headers: &HeaderMap) {
        if !is_forwarded(headers) {
            return;
        }
        let expected = trusted.header.name();
        if !trusted.trusts_peer(peer) {
            if self.unknown.are_joined_by(peer) {
                warn!(
                    peer = %peer.ip(),
                    hint = "if this peer is your proxy, add it to --trusted-proxy",
                    "forwarded header ignored: the peer is not a trusted proxy"
                );
            }
        } else if !headers.contains_key(&expected) && self.of_other_header.are_joined_by(peer) {
            warn!(
                peer = %peer.ip(),
                %expected,
                hint = "set --forwarded-header to the header that the proxy writes",
                "trusted proxy sent an unexpected forwarded header; its own address counts as the client's"
            );
        }
    }
}

impl FirstPeers {
    /// Whether `peer` is new, and one of the first.
    fn are_joined_by(&self, peer: SocketAddr) -> bool {
        let machine = network_of_machine(peer.ip());
        let mut peers = self.0.lock();
        let is_new = peers.len() < MOST_PEERS && !peers.contains(&machine);
        if is_new {
            peers.push(machine);
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_proxy_address_is_collected_once_up_to_a_limit() {
        let peers = FirstPeers::default();
        let joins = |address: &str| peers.are_joined_by(address.parse().unwrap());
        assert!(joins("192.0.2.1:900") && joins("192.0.2.2:900"));
        assert!(!joins("192.0.2.1:901") && !joins("[::ffff:192.0.2.1]:900"));
        assert!(joins("[2001:db8::1]:900") && !joins("[2001:db8::2]:900"));
        for last in 0..=255 {
            let _ = joins(&format!("198.51.100.{last}:900"));
        }
        assert_eq!(peers.0.lock().len(), MOST_PEERS);
        assert!(!joins("203.0.113.1:900"));
    }
}
