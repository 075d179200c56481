//! The real time.

use std::time::SystemTime;

use chrono::{DateTime, Utc};
use keyward_domain::clock::{Clock, whole_milliseconds};

/// The operating system's clock.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where time comes in; everybody else is given a `Clock`"
    )]
    fn now(&self) -> DateTime<Utc> {
        whole_milliseconds(SystemTime::now().into())
    }
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
