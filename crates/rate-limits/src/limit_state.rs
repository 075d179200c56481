//! The state of a limit as answers report it: the fields `RateLimit` and `RateLimit-Policy` of
//! draft-ietf-httpapi-ratelimit-headers, as of September 2025 (version 10), and the seconds of `Retry-After`.

use std::fmt::{self, Write as _};
use std::time::Duration;

use crate::quota::Quota;

/// The bytes of most items of a field; longer ones take more.
const USUAL_LENGTH: usize = 48;

/// The state of a limit after a request, for one key, organization or network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitState {
    pub(crate) policy: Policy,
    /// How many requests are left at this moment.
    pub(crate) remaining: u32,
    /// After how many seconds there is one more.
    pub(crate) reset: u32,
}

/// A limit as clients know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) name: &'static str,
    pub(crate) quota: Quota,
}

/// No request is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the limit {} is exceeded: try again in {} seconds", .0.policy.name, .0.reset)]
pub struct Exceeded(pub(crate) LimitState);

impl Exceeded {
    /// After how many seconds a request is allowed, for `Retry-After`.
    #[must_use]
    pub const fn retry_after(self) -> u32 {
        self.0.reset
    }

    /// The name of the exceeded limit.
    #[must_use]
    pub const fn limit(self) -> &'static str {
        self.0.policy.name
    }

    /// The state of the exceeded limit.
    #[must_use]
    pub const fn state(self) -> LimitState {
        self.0
    }
}

/// The field `RateLimit`, such as `"key";r=599;t=1`.
#[must_use]
pub fn rate_limit(states: &[LimitState]) -> String {
    list(states, |state, list| {
        let name = state.policy.name;
        write!(list, "\"{name}\";r={};t={}", state.remaining, state.reset)
    })
}

/// The field `RateLimit-Policy`, such as `"key";q=600;w=60`.
#[must_use]
pub fn rate_limit_policy(states: &[LimitState]) -> String {
    list(states, |state, list| {
        let Policy { name, quota } = state.policy;
        write!(
            list,
            "\"{name}\";q={};w={}",
            quota.requests(),
            quota.window_seconds()
        )
    })
}

/// A list of structured fields (RFC 9651, section 3.1).
fn list(states: &[LimitState], write_item: impl Fn(&LimitState, &mut String) -> fmt::Result) -> String {
    let mut list = String::with_capacity(USUAL_LENGTH * states.len());
    for state in states {
        if !list.is_empty() {
            list.push_str(", ");
        }
        // Writing to a string cannot fail.
        let _ = write_item(state, &mut list);
    }
    list
}

/// Whole seconds, rounded up, so that a client that waits so long is not too early.
pub(crate) fn seconds(time: Duration) -> u32 {
    let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    // No window is longer than a day.
    u32::try_from(seconds).unwrap_or(u32::MAX)
}
