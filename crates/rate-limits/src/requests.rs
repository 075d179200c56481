//! Limits of requests whose sender is known.

use std::hash::Hash;
use std::net::IpAddr;

use crate::clock::Elapsed;
use crate::limit_state::{Exceeded, LimitState};
use crate::limiter::Limiter;
use crate::network::ClientNetwork;
use crate::quota::Quota;

/// How many keys are counted: some 24 MiB if as many are in use.
const KEYS: usize = 200_000;
/// How many networks of addresses are counted: some 12 MiB.
const NETWORKS: usize = 100_000;
/// How many organizations, and how many verifiers.
const FEW: usize = 20_000;

/// How often requests are allowed, for each of those that they count for; without a quota, they are not
/// counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestQuotas {
    /// The requests of one API key.
    pub per_key: Option<Quota>,
    /// The requests from one network that are authenticated with an API key.
    pub per_address: Option<Quota>,
    /// The requests of all keys of one organization.
    pub per_organization: Option<Quota>,
    /// The questions of one gateway or verifier about the requests of others.
    pub per_verifier: Option<Quota>,
}

/// Counts requests whose sender is known.
pub struct RequestLimits {
    key: Option<Limiter<u128>>,
    address: Option<Limiter<ClientNetwork>>,
    organization: Option<Limiter<u128>>,
    verifier: Option<Limiter<Verifier>>,
}

/// An API key, and the organization that it is of, by their identifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedKey {
    /// The identifier of the key.
    pub key: u128,
    /// The identifier of its organization.
    pub organization: u128,
}

/// Callers that ask about the requests of others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Verifier {
    /// A gateway, by its own address, not by that of its client.
    Gateway(ClientNetwork),
    /// A verifier with credentials, by its name.
    Named(String),
}

/// How a request was counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counted {
    /// The states of the limits that counted it, the exceeded one last.
    pub states: Vec<LimitState>,
    /// The limit that is exceeded, if one is; those after it have not counted the request.
    pub exceeded: Option<Exceeded>,
}

impl RequestLimits {
    /// The limits, if there is any.
    #[must_use]
    pub fn new(quotas: RequestQuotas, clock: &Elapsed) -> Option<Self> {
        if quotas == RequestQuotas::default() {
            return None;
        }
        Some(Self {
            key: quotas
                .per_key
                .map(|quota| Limiter::new("key", quota, KEYS, clock)),
            address: quotas
                .per_address
                .map(|quota| Limiter::new("address", quota, NETWORKS, clock)),
            organization: quotas
                .per_organization
                .map(|quota| Limiter::new("organization", quota, FEW, clock)),
            verifier: quotas
                .per_verifier
                .map(|quota| Limiter::new("verifier", quota, FEW, clock)),
        })
    }

    /// Counts a request that a client sent with its key.
    #[must_use]
    pub fn count_request(&self, key: CountedKey, from: Option<IpAddr>) -> Counted {
        let network = from.map(ClientNetwork::from);
        // Counters of few clients first, so that a key beyond its own limit does not use up the limits of
        // others.
        Counted::default()
            .by(self.key.as_ref(), Some(&key.key))
            .by(self.address.as_ref(), network.as_ref())
            .by(self.organization.as_ref(), Some(&key.organization))
    }

    /// Counts a question of a gateway about a request with this key.
    #[must_use]
    pub fn count_forwarded(&self, key: CountedKey, gateway: Option<IpAddr>) -> Counted {
        let gateway = gateway.map(|address| Verifier::Gateway(address.into()));
        Counted::default()
            .by(self.key.as_ref(), Some(&key.key))
            .by(self.organization.as_ref(), Some(&key.organization))
            .by(self.verifier.as_ref(), gateway.as_ref())
    }

    /// Counts a question of a verifier with credentials.
    #[must_use]
    pub fn count_verifier(&self, name: &str) -> Counted {
        let verifier = Verifier::Named(name.to_owned());
        Counted::default().by(self.verifier.as_ref(), Some(&verifier))
    }
}

impl Counted {
    fn by<K: Hash + Eq + Clone>(mut self, limiter: Option<&Limiter<K>>, key: Option<&K>) -> Self {
        if let (Some(limiter), Some(key), None) = (limiter, key, self.exceeded) {
            match limiter.count(key) {
                Ok(state) => self.states.push(state),
                Err(exceeded) => {
                    self.states.push(exceeded.state());
                    self.exceeded = Some(exceeded);
                }
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::limit_state::{rate_limit, rate_limit_policy};

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    fn limits(quotas: RequestQuotas) -> RequestLimits {
        let clock: Elapsed = Arc::new(|| Duration::from_secs(1));
        RequestLimits::new(quotas, &clock).expect("limits")
    }

    fn key(key: u128) -> CountedKey {
        CountedKey { key, organization: 7 }
    }

    fn quota(requests: u32) -> Option<Quota> {
        Some(Quota::new(requests, 60).unwrap())
    }

    #[test]
    fn no_quota_makes_no_limits() {
        let clock: Elapsed = Arc::new(|| Duration::from_secs(1));
        assert!(RequestLimits::new(RequestQuotas::default(), &clock).is_none());
    }

    #[test]
    fn every_configured_limit_counts_and_is_reported() {
        let limits = limits(RequestQuotas {
            per_key: quota(3),
            per_address: quota(4),
            per_organization: quota(5),
            per_verifier: quota(6),
        });
        let counted = limits.count_request(key(1), Some(ADDRESS));
        assert_eq!(counted.exceeded, None);
        assert_eq!(
            rate_limit(&counted.states),
            r#""key";r=2;t=20, "address";r=3;t=15, "organization";r=4;t=12"#
        );
        assert_eq!(
            rate_limit_policy(&counted.states),
            r#""key";q=3;w=60, "address";q=4;w=60, "organization";q=5;w=60"#
        );
        let forwarded = limits.count_forwarded(key(2), Some(ADDRESS));
        assert_eq!(
            rate_limit(&forwarded.states),
            r#""key";r=2;t=20, "organization";r=3;t=12, "verifier";r=5;t=10"#
        );
        let by_verifier = limits.count_verifier("orders");
        assert_eq!(rate_limit(&by_verifier.states), r#""verifier";r=5;t=10"#);
    }

    #[test]
    fn key_beyond_its_limit_does_not_use_up_others() {
        let limits = limits(RequestQuotas {
            per_key: quota(1),
            per_organization: quota(3),
            ..RequestQuotas::default()
        });
        let exceeded = || limits.count_request(key(1), Some(ADDRESS)).exceeded.is_some();
        assert_eq!([(); 5].map(|()| exceeded()), [false, true, true, true, true]);
        let other = limits.count_request(key(2), Some(ADDRESS));
        assert_eq!(
            rate_limit(&other.states),
            r#""key";r=0;t=60, "organization";r=1;t=20"#
        );
    }

    #[test]
    fn exceeded_limit_is_reported_last() {
        let limits = limits(RequestQuotas {
            per_key: quota(2),
            per_organization: quota(1),
            ..RequestQuotas::default()
        });
        assert_eq!(limits.count_request(key(1), None).exceeded, None);
        let refused = limits.count_request(key(2), None);
        assert_eq!(
            rate_limit(&refused.states),
            r#""key";r=1;t=30, "organization";r=0;t=60"#
        );
        assert_eq!(refused.exceeded.map(Exceeded::retry_after), Some(60));
    }
}
