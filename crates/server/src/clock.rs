//! The real time.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use chrono::{DateTime, Utc};
use keyward_domain::clock::{Clock, whole_milliseconds};
use keyward_rate_limits::Elapsed;

/// The operating system's clock.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the only source of the time; all other code gets a `Clock`"
    )]
    fn now(&self) -> DateTime<Utc> {
        whole_milliseconds(SystemTime::now().into())
    }
}

/// The time since this call, by a monotonic clock.
pub(crate) fn since_now() -> Elapsed {
    let start = Instant::now();
    Arc::new(move || start.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn current_time_is_in_whole_milliseconds() {
        let now = SystemClock.now();
        assert_eq!(now, whole_milliseconds(now));
        assert!(now.timestamp() > 1_700_000_000, "{now}");
    }
}
