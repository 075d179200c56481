//! One rate limit, counted separately for each value: an API key, an organization, a network.

use std::hash::Hash;
use std::sync::Arc;

use governor::RateLimiter;
use governor::clock::Clock;
use governor::middleware::StateInformationMiddleware;

use crate::clock::{Elapsed, ElapsedClock};
use crate::counters::Counters;
use crate::limit_state::{Exceeded, LimitState, Policy, seconds};
use crate::quota::Quota;

/// Allows the same quota to each value of `K`, and remembers a bounded number of them.
pub struct Limiter<K: Hash + Eq + Clone> {
    policy: Policy,
    counters: RateLimiter<K, Counters<K>, ElapsedClock, StateInformationMiddleware>,
    clock: ElapsedClock,
}

impl<K: Hash + Eq + Clone> Limiter<K> {
    /// A limit that clients know by this name, which has only letters, digits and `-`; for at most `capacity`
    /// keys.
    #[must_use]
    pub fn new(name: &'static str, quota: Quota, capacity: usize, clock: &Elapsed) -> Self {
        let clock = ElapsedClock(Arc::clone(clock));
        Self {
            policy: Policy { name, quota },
            counters: RateLimiter::new(quota.of_governor(), Counters::new(capacity), clock.clone()),
            clock,
        }
    }

    /// Counts one request.
    ///
    /// # Errors
    /// The quota is used up. This request is not counted.
    pub fn count(&self, key: &K) -> Result<LimitState, Exceeded> {
        let limit_state = |remaining, reset| LimitState {
            policy: self.policy,
            remaining,
            reset,
        };
        match self.counters.check_key(key) {
            // One more comes back within the interval.
            Ok(state) => Ok(limit_state(
                state.remaining_burst_capacity(),
                seconds(self.policy.quota.interval()),
            )),
            Err(not_until) => {
                let wait = not_until.wait_time_from(self.clock.now());
                Err(Exceeded(limit_state(0, seconds(wait).max(1))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::limit_state::{rate_limit, rate_limit_policy};

    /// Milliseconds that the test moves on.
    #[derive(Clone, Default)]
    struct TestClock(Arc<AtomicU64>);

    impl TestClock {
        fn advance(&self, milliseconds: u64) {
            self.0.fetch_add(milliseconds, Ordering::SeqCst);
        }

        fn limiter(&self, quota: &str, capacity: usize) -> Limiter<u32> {
            let clock = self.clone();
            let elapsed: Elapsed = Arc::new(move || Duration::from_millis(clock.0.load(Ordering::SeqCst)));
            Limiter::new("key", quota.parse().unwrap(), capacity, &elapsed)
        }
    }

    /// How many requests of one key are allowed at this moment.
    fn allowed(limiter: &Limiter<u32>, key: u32) -> usize {
        std::iter::repeat_with(|| limiter.count(&key))
            .take_while(Result::is_ok)
            .count()
    }

    #[test]
    fn quota_is_allowed_at_once_then_comes_back_evenly() {
        let clock = TestClock::default();
        let limiter = clock.limiter("60/30s", 10);
        assert_eq!(allowed(&limiter, 1), 60);
        clock.advance(499);
        assert_eq!(allowed(&limiter, 1), 0);
        clock.advance(1);
        assert_eq!(allowed(&limiter, 1), 1);
        clock.advance(10_000);
        assert_eq!(allowed(&limiter, 1), 20);
        clock.advance(3_600_000);
        assert_eq!(allowed(&limiter, 1), 60);
    }

    #[test]
    fn keys_are_counted_apart() {
        let limiter = TestClock::default().limiter("3/1m", 10);
        assert_eq!(allowed(&limiter, 1), 3);
        assert_eq!(allowed(&limiter, 2), 3);
    }

    #[test]
    fn answers_report_remaining_requests_and_reset_time() {
        let clock = TestClock::default();
        let limiter = clock.limiter("2/1m", 10);
        let first = limiter.count(&1).unwrap();
        assert_eq!(rate_limit(&[first]), r#""key";r=1;t=30"#);
        assert_eq!(rate_limit_policy(&[first]), r#""key";q=2;w=60"#);
        assert_eq!(rate_limit(&[limiter.count(&1).unwrap()]), r#""key";r=0;t=30"#);

        clock.advance(9_001);
        let refused = limiter.count(&1).unwrap_err();
        assert_eq!(rate_limit(&[refused.state()]), r#""key";r=0;t=21"#);
        assert_eq!(refused.retry_after(), 21);
        clock.advance(1_000 * u64::from(refused.retry_after()));
        limiter.count(&1).unwrap();
        assert_eq!(
            rate_limit_policy(&[first, refused.state()]),
            r#""key";q=2;w=60, "key";q=2;w=60"#
        );
    }

    #[test]
    fn refused_request_is_not_counted() {
        let clock = TestClock::default();
        let limiter = clock.limiter("1/10s", 10);
        limiter.count(&1).unwrap();
        for _ in 0..9 {
            clock.advance(1_000);
            limiter.count(&1).unwrap_err();
        }
        clock.advance(1_000);
        limiter.count(&1).unwrap();
    }

    #[test]
    fn million_others_do_not_reset_a_counter_in_use() {
        let limiter = TestClock::default().limiter("3/1h", 1_000);
        assert_eq!(allowed(&limiter, 0), 3);
        for other in 1..=1_000_000 {
            limiter.count(&other).unwrap();
        }
        assert_eq!(allowed(&limiter, 0), 0);
    }
}
