//! Rate limits of requests.

use std::net::IpAddr;
use std::sync::Arc;

use keyward_rate_limits::{FailedAuthentications, LookupTurn};
use poem::Request;

use crate::paths::FORWARD_AUTH;
use crate::problem::Problem;
use crate::request_id::client_address;

/// The limits of requests. By default there are none.
#[derive(Clone, Default)]
pub struct RateLimits {
    /// How often an address may send a token that is not accepted.
    pub failed_authentications: Option<Arc<FailedAuthentications>>,
}

/// Who is connected, be it a proxy or not. Whoever serves the API sets it as data of each request; without it, the client's
/// address counts.
#[derive(Debug, Clone, Copy)]
pub struct PeerAddress(pub IpAddr);

/// An attempt to authenticate, counted if it fails.
pub(crate) struct Attempt<'a> {
    limit: Option<(&'a FailedAuthentications, IpAddr)>,
    is_of_gateway: bool,
}

impl<'a> Attempt<'a> {
    pub(crate) fn of(request: &'a Request) -> Self {
        let is_of_gateway = request.uri().path() == FORWARD_AUTH;
        let limits = request.data::<RateLimits>();
        let failures = limits.and_then(|limits| limits.failed_authentications.as_deref());
        Self {
            limit: failures.and_then(|failures| Some((failures, counted_address(request, is_of_gateway)?))),
            is_of_gateway,
        }
    }

    /// Waits until the token may be looked up.
    pub(crate) async fn turn(&self) -> Option<LookupTurn> {
        match self.limit {
            Some((failures, address)) => Some(failures.turn(address).await),
            None => None,
        }
    }

    /// Counts the attempt as failed.
    ///
    /// A gateway is told that the token is not accepted also beyond the limit: it asks for many people, and what one of them
    /// is told must not depend on what others send. Its limit only bounds how many tokens it has looked up at once.
    pub(crate) fn failed(&self) -> Result<(), Problem> {
        match self.limit.map(|(failures, address)| failures.count(address)) {
            Some(Err(exceeded)) if !self.is_of_gateway => Err(Problem::too_many_failures(exceeded)),
            Some(_) | None => Ok(()),
        }
    }
}

/// Of a gateway that asks about other people's requests, its own address counts, never theirs.
fn counted_address(request: &Request, is_of_gateway: bool) -> Option<IpAddr> {
    let peer = request.data::<PeerAddress>().filter(|_| is_of_gateway);
    peer.map(|peer| peer.0).or_else(|| client_address(request))
}
