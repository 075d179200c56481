//! Addresses that send tokens which are not accepted.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quick_cache::sync::Cache;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::clock::Elapsed;
use crate::counters::bounded;
use crate::limit_state::Exceeded;
use crate::limiter::Limiter;
use crate::network::ClientNetwork;
use crate::quota::Quota;

/// How many networks are counted: some 12 MiB if as many guess.
const COUNTED: usize = 100_000;
/// How many networks have a lane of their own: some 2 MiB if as many guess beyond the limit.
const LANES: usize = 10_000;
/// How many look-ups one lane makes at once.
const WIDTH: usize = 2;

/// How long a network keeps its lane at most, if a window is longer: one that still guesses is refused again
/// by then.
const MAX_LANE_LIFETIME: Duration = Duration::from_secs(5 * 60);

/// How long a look-up waits for its permit. Then it is made without one: a valid key must not fail because of
/// its neighbours, and the connections to the database are shared fairly among addresses anyway.
const MAX_WAIT: Duration = Duration::from_millis(500);

/// Limits how often an address may send a token that is not accepted. An accepted one is not counted, and
/// never refused because of its neighbours: a whole company may share an address (NAT), and one of its
/// programs may have a dead key.
///
/// Whether a token is accepted is known only after its look-up. So an address beyond its limit is still served, but
/// tokens that may be guesses, because no key with them was found here before, are looked up in a *lane* of its own:
/// two at a time, in order of arrival, each after half a second at most. So a valid key waits for its neighbours'
/// guesses when it is used here for the first time. Refusing before the look-up would lock out such keys, and so would
/// a queue that drops requests.
///
/// The lane only slows clients that wait for answers: a look-up that waited for half a second is made beside
/// the two. What protects the database from a burst of guesses is that its connections are shared fairly
/// among addresses.
pub struct FailedAuthentications {
    limiter: Limiter<ClientNetwork>,
    lanes: Cache<ClientNetwork, Arc<Lane>>,
    /// How long a network keeps its lane after it was last refused: a window, or the maximum.
    lane_lifetime: Duration,
    clock: Elapsed,
}

struct Lane {
    /// In nanoseconds of the clock.
    until: AtomicU64,
    permits: Arc<Semaphore>,
}

/// The right to look up one token, held until that is done.
#[must_use]
pub struct LookupPermit(
    #[expect(dead_code, reason = "it is given back when dropped")] Option<OwnedSemaphorePermit>,
);

impl FailedAuthentications {
    /// Allows each network this many failures.
    #[must_use]
    pub fn new(quota: Quota, clock: Elapsed) -> Self {
        Self {
            limiter: Limiter::new("failed-authentication", quota, COUNTED, &clock),
            lanes: bounded(LANES),
            lane_lifetime: Duration::from_secs(u64::from(quota.window_seconds())).min(MAX_LANE_LIFETIME),
            clock,
        }
    }

    /// Waits until a token from this address may be looked up: not at all, unless the address is beyond its
    /// limit.
    pub async fn lookup_permit(&self, from: IpAddr) -> LookupPermit {
        let Some(lane) = self.lane(from) else {
            return LookupPermit(None);
        };
        // It is never closed.
        let permit = timeout(MAX_WAIT, Arc::clone(&lane.permits).acquire_owned()).await;
        LookupPermit(permit.ok().and_then(Result::ok))
    }

    /// Whether the address went beyond its limit within the last window, or within five minutes if that is shorter.
    #[must_use]
    pub fn was_refused_lately(&self, from: IpAddr) -> bool {
        self.lane(from).is_some()
    }

    fn lane(&self, from: IpAddr) -> Option<Arc<Lane>> {
        let lane = self.lanes.get(&ClientNetwork::from(from))?;
        let ends = lane.until.load(Ordering::Relaxed);
        (ends > self.nanoseconds(Duration::ZERO)).then_some(lane)
    }

    /// Counts a token that was not accepted.
    ///
    /// # Errors
    /// The address is beyond its limit.
    pub fn count(&self, from: IpAddr) -> Result<(), Exceeded> {
        let network = ClientNetwork::from(from);
        let counted = self.limiter.count(&network);
        if counted.is_err() {
            self.keep_in_lane(network);
        }
        counted.map(drop)
    }

    fn keep_in_lane(&self, network: ClientNetwork) {
        let until = self.nanoseconds(self.lane_lifetime);
        if let Some(lane) = self.lanes.get(&network) {
            lane.until.fetch_max(until, Ordering::Relaxed);
            return;
        }
        // Two at once make two lanes of which one is used from then on.
        let lane = Lane {
            until: AtomicU64::new(until),
            permits: Arc::new(Semaphore::new(WIDTH)),
        };
        self.lanes.insert(network, Arc::new(lane));
    }

    fn nanoseconds(&self, later: Duration) -> u64 {
        u64::try_from(((self.clock)() + later).as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    /// Allows 3 failures in a window; with the seconds that the test moves on.
    fn three_in(window: u32) -> (FailedAuthentications, Arc<AtomicU64>) {
        let seconds = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&seconds);
        let elapsed = move || Duration::from_secs(clock.load(Ordering::SeqCst));
        let quota = Quota::new(3, window).unwrap();
        (FailedAuthentications::new(quota, Arc::new(elapsed)), seconds)
    }

    fn three_a_minute() -> (FailedAuthentications, Arc<AtomicU64>) {
        three_in(60)
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn guess_beyond_limit(failures: &FailedAuthentications, from: IpAddr) {
        let refused = std::iter::repeat_with(|| failures.count(from)).take(10);
        assert_eq!(refused.filter(Result::is_err).count(), 7);
    }

    /// The permit, if it comes at once.
    fn permit_at_once(failures: &FailedAuthentications, from: IpAddr) -> Option<LookupPermit> {
        let permit = pin!(failures.lookup_permit(from));
        match permit.poll(&mut Context::from_waker(Waker::noop())) {
            std::task::Poll::Ready(permit) => Some(permit),
            std::task::Poll::Pending => None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn token_is_looked_up_after_the_wait_for_a_permit() {
        let (failures, _) = three_a_minute();
        let from = address("192.0.2.1");
        guess_beyond_limit(&failures, from);
        let _both = [
            failures.lookup_permit(from).await,
            failures.lookup_permit(from).await,
        ];
        let begun = tokio::time::Instant::now();
        let _none = failures.lookup_permit(from).await;
        assert!(begun.elapsed() >= MAX_WAIT && begun.elapsed() < 2 * MAX_WAIT);
    }

    #[tokio::test]
    async fn guessing_address_looks_up_two_tokens_at_once() {
        let (failures, _) = three_a_minute();
        let (guesser, other) = (address("192.0.2.1"), address("192.0.2.2"));
        guess_beyond_limit(&failures, guesser);
        let first = permit_at_once(&failures, guesser).expect("at once");
        let _second = permit_at_once(&failures, guesser).expect("at once");
        assert!(permit_at_once(&failures, guesser).is_none());
        assert!(permit_at_once(&failures, other).is_some());
        drop(first);
        assert!(permit_at_once(&failures, guesser).is_some());
    }

    #[test]
    fn address_within_its_limit_waits_for_no_permit() {
        let (failures, _) = three_a_minute();
        let from = address("192.0.2.1");
        for _ in 0..3 {
            failures.count(from).unwrap();
        }
        let permits: Vec<_> = (0..100).filter_map(|_| permit_at_once(&failures, from)).collect();
        assert_eq!(permits.len(), 100);
    }

    #[tokio::test]
    async fn lane_ends_a_window_after_the_last_refusal() {
        let (failures, seconds) = three_a_minute();
        let from = address("192.0.2.1");
        guess_beyond_limit(&failures, from);
        let permits = || {
            let permits: Vec<_> = (0..5).filter_map(|_| permit_at_once(&failures, from)).collect();
            permits.len()
        };
        seconds.store(50, Ordering::SeqCst);
        guess_twice_and_be_refused_once(&failures, from);
        seconds.store(109, Ordering::SeqCst);
        assert_eq!(permits(), 2);
        seconds.store(110, Ordering::SeqCst);
        assert_eq!(permits(), 5);
    }

    #[tokio::test]
    async fn lane_of_a_long_window_ends_after_five_minutes() {
        let (failures, seconds) = three_in(24 * 60 * 60);
        let from = address("192.0.2.1");
        guess_beyond_limit(&failures, from);
        let permits = || {
            let permits: Vec<_> = (0..5).filter_map(|_| permit_at_once(&failures, from)).collect();
            permits.len()
        };
        seconds.store(299, Ordering::SeqCst);
        assert_eq!(permits(), 2);
        seconds.store(300, Ordering::SeqCst);
        assert_eq!(permits(), 5);
    }

    /// Two of three came back in 50 seconds.
    fn guess_twice_and_be_refused_once(failures: &FailedAuthentications, from: IpAddr) {
        let answers = [(); 3].map(|()| failures.count(from).is_ok());
        assert_eq!(answers, [true, true, false]);
    }

    #[test]
    fn network_of_an_ipv6_address_is_limited_as_one() {
        let (failures, _) = three_a_minute();
        guess_beyond_limit(&failures, address("2001:db8::1"));
        assert!(failures.count(address("2001:db8::2:3:4:5")).is_err());
        assert!(failures.count(address("2001:db8:0:1::1")).is_ok());
    }
}
