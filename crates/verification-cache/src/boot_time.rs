//! The clock by which leases end.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A time as the nanoseconds since this machine was started, including those in which it slept. They suffice
/// for 584 years.
///
/// Only times of the same machine can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BootTime(u64);

/// A clock that counts while the machine sleeps.
pub trait BootClock: Send + Sync {
    /// The current time.
    ///
    /// MUST NOT jump when the time of day is set, and MUST keep counting while the machine sleeps or the
    /// process is stopped: a lease ends in the meantime, and the revocation that waited for that is answered.
    fn now(&self) -> BootTime;
}

/// Linux's `CLOCK_BOOTTIME`. `std::time::Instant` stands still while the machine sleeps.
#[derive(Debug, Clone, Copy, Default)]
pub struct MachineClock;

impl BootTime {
    /// The time this long after the start.
    #[must_use]
    pub fn since_start(time: Duration) -> Self {
        Self(nanoseconds(time))
    }

    /// The time that is later by `time`.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(nanoseconds(time)))
    }

    /// The time that has passed since an earlier one; zero if that is ahead.
    #[must_use]
    pub const fn elapsed_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    pub(crate) const fn nanoseconds(self) -> u64 {
        self.0
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl BootClock for MachineClock {
    fn now(&self) -> BootTime {
        let time = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
        BootTime::since_start(Duration::new(seconds, nanoseconds))
    }
}

#[cfg(test)]
mod tests {
    use super::{BootClock, MachineClock};

    #[test]
    fn machine_clock_moves_forward() {
        let before = MachineClock.now();
        assert!(before.nanoseconds() > 0);
        assert!(MachineClock.now() >= before);
    }
}
