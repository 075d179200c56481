//! The clock of the limits.

use std::sync::Arc;
use std::time::Duration;

use governor::clock::Clock;
use governor::nanos::Nanos;

/// Reads the time since some fixed moment. It MUST NOT go back, nor jump when the time of day is set.
pub type Elapsed = Arc<dyn Fn() -> Duration + Send + Sync>;

/// The same, as `governor` wants it.
#[derive(Clone)]
pub(crate) struct ElapsedClock(pub(crate) Elapsed);

impl Clock for ElapsedClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        // They fit for 584 years.
        u64::try_from((self.0)().as_nanos()).unwrap_or(u64::MAX).into()
    }
}
