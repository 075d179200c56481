//! Rate limits of requests.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keyward_domain::access::Caller;
use keyward_domain::verifier::VerifierName;
use keyward_rate_limits::{
    ClientNetwork, Counted, CountedKey, Exceeded, FailedAuthentications, Limiter, LookupPermit, RequestLimits,
};
use poem::Request;
use poem::http::Method;
use tokio::time::sleep;

use crate::paths::FORWARD_AUTH;
use crate::problem::Problem;
use crate::rate_limit_fields::LimitReport;
use crate::request_id::client_address;

/// How long an address that fails too often waits for a refusal, which limits it to ten a second over each connection or
/// stream. A report of GitHub that is too large for such an address is refused at once.
const WAIT_BEYOND_LIMIT: Duration = Duration::from_millis(100);

/// The limits of requests. By default there are none.
#[derive(Clone, Default)]
pub struct RateLimits {
    /// How often an address may send a token that is not accepted.
    pub failed_authentications: Option<Arc<FailedAuthentications>>,
    /// How often authenticated clients may send requests.
    pub requests: Option<Arc<RequestLimits>>,
    /// How often an address may report leaked keys.
    pub leak_reports: Option<Arc<Limiter<ClientNetwork>>>,
}

/// The address of the trusted proxy that forwarded the client's address. The server sets it as data of such requests
/// only.
#[derive(Debug, Clone, Copy)]
pub struct PeerAddress(pub IpAddr);

/// An attempt to authenticate, counted if it fails, or if it is given up while it may still be a guess: the
/// client hangs up while its token is looked up, or does not send the body that should be signed.
pub(crate) struct Attempt<'a> {
    limit: Option<&'a FailedAuthentications>,
    request: &'a Request,
    is_under_way: AtomicBool,
    is_counted: AtomicBool,
}

impl<'a> Attempt<'a> {
    pub(crate) fn of(request: &'a Request, limits: &'a RateLimits) -> Self {
        Self {
            limit: limits.failed_authentications.as_deref(),
            request,
            is_under_way: AtomicBool::new(false),
            is_counted: AtomicBool::new(false),
        }
    }

    /// Waits until the token may be looked up, which lasts until the attempt has [ended](Self::ended).
    pub(crate) async fn lookup_permit(&self) -> Option<LookupPermit> {
        let (failures, address) = self.counted()?;
        self.begins();
        Some(failures.lookup_permit(address).await)
    }

    /// From now on the attempt counts as failed if it is dropped, until it has [ended](Self::ended).
    pub(crate) fn begins(&self) {
        self.is_under_way.store(true, Ordering::Relaxed);
    }

    /// Ends the attempt: it is known whether its token is accepted.
    pub(crate) fn ended(&self) {
        self.is_under_way.store(false, Ordering::Relaxed);
    }

    /// Counts the attempt as failed, once.
    ///
    /// # Errors
    /// Its address is beyond the limit, and has waited for this.
    pub(crate) async fn failed(&self) -> Result<(), Problem> {
        let counted = self.count();
        if counted.is_err() {
            sleep(WAIT_BEYOND_LIMIT).await;
        }
        counted
    }

    fn count(&self) -> Result<(), Problem> {
        self.ended();
        if self.is_counted.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        match self.counted() {
            Some((failures, address)) => failures.count(address).map_err(Problem::too_many_failures),
            None => Ok(()),
        }
    }

    /// Counts the attempt as failed already, if its address was refused lately.
    ///
    /// # Errors
    /// The address is still beyond its limit.
    pub(crate) fn refuse_beyond_limit(&self) -> Result<(), Problem> {
        match self.counted() {
            Some((failures, address)) if failures.was_refused_lately(address) => self.count(),
            _ => Ok(()),
        }
    }

    /// The address for which the attempt counts; `None` if it does not count.
    ///
    /// A gateway asks on behalf of many clients. The response for one, and its delay, must not depend on the requests
    /// of others; so a gateway's attempts count neither for its own address nor for those that it forwards. A client
    /// that is no trusted proxy may be a stranger, and its attempts count as usual.
    fn counted(&self) -> Option<(&'a FailedAuthentications, IpAddr)> {
        let failures = self.limit?;
        let is_of_trusted_gateway =
            is_of_gateway(self.request) && self.request.data::<PeerAddress>().is_some();
        if is_of_trusted_gateway {
            return None;
        }
        Some((failures, client_address(self.request)?))
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if *self.is_under_way.get_mut() {
            // The client has left, so the limit is not reported.
            let _ = self.count();
        }
    }
}

/// Counts an accepted request.
///
/// # Errors
/// A limit is exceeded. Requests to revoke keys count, but are never refused: a thief could otherwise use up
/// the limits of a key or of its organization, and so keep it from being revoked.
pub(crate) fn count_caller(request: &Request, limits: &RateLimits, caller: &Caller) -> Result<(), Problem> {
    let Some(limits) = &limits.requests else {
        return Ok(());
    };
    let key = CountedKey {
        key: caller.api_key().id.as_uuid().as_u128(),
        organization: caller.organization().id.as_uuid().as_u128(),
    };
    let address = counted_address(request);
    let counted = if is_of_gateway(request) {
        limits.count_forwarded(key, address)
    } else {
        limits.count_request(key, address)
    };
    report(request, counted).or_else(|refused| match *request.method() {
        Method::DELETE => Ok(()),
        _ => Err(refused),
    })
}

/// Counts a request of a verifier, for the verifier: the keys that it asks about are not its own.
///
/// # Errors
/// Its limit is exceeded.
pub(crate) fn count_verifier(
    request: &Request,
    limits: &RateLimits,
    verifier: &VerifierName,
) -> Result<(), Problem> {
    match &limits.requests {
        Some(limits) => report(request, limits.count_verifier(verifier.as_str())),
        None => Ok(()),
    }
}

/// Leaves the state of the limits for the answer.
///
/// # Errors
/// A limit is exceeded.
fn report(request: &Request, counted: Counted) -> Result<(), Problem> {
    let Counted { states, exceeded } = counted;
    if let Some(report) = request.data::<LimitReport>() {
        report.set(states);
    }
    match exceeded {
        Some(exceeded) => Err(Problem::too_many_requests(exceeded)),
        None => Ok(()),
    }
}

fn is_of_gateway(request: &Request) -> bool {
    request.uri().path() == FORWARD_AUTH
}

/// Counts a report of leaked keys.
///
/// # Errors
/// The address has sent too many.
pub(crate) fn count_leak_report(request: &Request, limits: &RateLimits) -> Result<(), Problem> {
    let (Some(limiter), Some(address)) = (&limits.leak_reports, client_address(request)) else {
        return Ok(());
    };
    let counted = limiter.count(&address.into());
    let state = counted.unwrap_or_else(Exceeded::state);
    if let Some(report) = request.data::<LimitReport>() {
        report.set(vec![state]);
    }
    counted.map(drop).map_err(Problem::too_frequent_leak_reports)
}

/// The address that limits count. For a gateway that asks about requests of its clients, it is the gateway's
/// own, never a client's.
fn counted_address(request: &Request) -> Option<IpAddr> {
    let peer = is_of_gateway(request).then(|| request.data::<PeerAddress>());
    match peer.flatten() {
        Some(&PeerAddress(peer)) => Some(peer),
        None => client_address(request),
    }
}
