//! Rate limits.
//!
//! A leaky bucket in the form of the generic cell rate algorithm (GCRA, ITU-T I.371): one moment per bucket,
//! so that a store needs one column, one atomic statement, and no clean-up to be right.

use chrono::{DateTime, TimeDelta, Utc};

/// A burst size, and the interval after which one more is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    burst: i32,
    interval: TimeDelta,
    /// How many of the burst are kept for others.
    reserved: i32,
}

/// The maximum clock difference between servers. A stored time further ahead was written by a wrong clock, or
/// under another rate, and would block requests for as long as that error.
const MAX_CLOCK_SKEW: TimeDelta = TimeDelta::minutes(5);

impl Rate {
    /// Allows a burst, and one more after each interval.
    #[must_use]
    pub const fn new(burst: i32, interval: TimeDelta) -> Self {
        Self {
            burst,
            interval,
            reserved: 0,
        }
    }

    /// Allows `rate` a minute with bursts of `burst`, each at least 1. The interval is a whole number of
    /// milliseconds.
    #[must_use]
    pub fn per_minute(rate: u32, burst: u32) -> Self {
        let milliseconds = 60_000 / i64::from(rate.clamp(1, 60_000));
        let burst = i32::try_from(burst.max(1)).unwrap_or(i32::MAX);
        Self::new(burst, TimeDelta::milliseconds(milliseconds))
    }

    /// The same bucket for those who may fill only half of it, so that room is left for others.
    #[must_use]
    pub const fn leaving_half(self) -> Self {
        Self {
            reserved: self.burst / 2,
            ..self
        }
    }

    /// The burst size.
    pub const fn burst(self) -> i32 {
        self.burst
    }

    /// The interval after which one more is allowed.
    pub const fn interval(self) -> TimeDelta {
        self.interval
    }

    /// Admits one more at `now`, if the bucket has room. A store keeps one time per bucket, `empty_at`, when
    /// the bucket will be empty; it is absent for a bucket that was never used, and may be removed once it is
    /// past. Returns the time to store.
    ///
    /// # Errors
    /// The bucket is full; the stored time MUST NOT change.
    pub fn admit(
        self,
        empty_at: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Result<DateTime<Utc>, Throttled> {
        let Room { latest, beyond } = self.room(now);
        let empty_at = empty_at.map_or(now, |moment| moment.max(now));
        if empty_at <= latest {
            Ok(empty_at + self.interval)
        } else if empty_at > beyond {
            Ok(latest + self.interval)
        } else {
            Err(Throttled {
                retry_after: empty_at - latest,
            })
        }
    }

    /// The times with which [`Self::admit`] compares the stored one, for a store whose database does that.
    #[must_use]
    pub fn room(self, now: DateTime<Utc>) -> Room {
        Room {
            latest: now + self.interval * (self.burst - self.reserved - 1),
            beyond: now + self.interval * self.burst + MAX_CLOCK_SKEW,
        }
    }
}

/// At a moment, which buckets have room for one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Buckets that will have run empty by then.
    pub latest: DateTime<Utc>,
    /// Buckets whose stored time is later than this. It cannot be right, and counts as `latest`.
    pub beyond: DateTime<Utc>,
}

/// The rate limit is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many attempts: try again in {} seconds", self.whole_seconds())]
pub struct Throttled {
    /// How long to wait before the next attempt.
    pub retry_after: TimeDelta,
}

impl Throttled {
    /// How long to wait, in seconds, rounded up.
    #[must_use]
    pub fn whole_seconds(&self) -> i64 {
        whole_seconds(self.retry_after)
    }
}

/// The seconds of a span of time, rounded up, so that a client that waits so long is not too early.
#[must_use]
pub fn whole_seconds(time: TimeDelta) -> i64 {
    time.num_seconds() + i64::from(time.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};

    use super::Rate;
    use crate::clock::Clock;
    use crate::testing::FixedClock;

    /// How many attempts are admitted at `now`.
    fn passing(rate: Rate, kept: &mut Option<DateTime<Utc>>, now: DateTime<Utc>) -> usize {
        let mut passed = 0;
        while let Ok(empty_at) = rate.admit(*kept, now) {
            *kept = Some(empty_at);
            passed += 1;
        }
        passed
    }

    #[test]
    fn rate_limit_allows_its_burst_then_its_rate_per_minute() {
        let now = FixedClock::default().now();
        for (per_minute, burst) in [(60, 120), (1, 1), (600, 30), (7, 10)] {
            let rate = Rate::per_minute(per_minute, burst);
            let mut kept = None;
            assert_eq!(passing(rate, &mut kept, now), burst as usize);
            let refused = rate.admit(kept, now).unwrap_err();
            assert_eq!(refused.retry_after, rate.interval());
            let later = (1..=60).map(|second| passing(rate, &mut kept, now + TimeDelta::seconds(second)));
            assert_eq!(later.sum::<usize>(), per_minute as usize);
        }
    }

    #[test]
    fn half_of_a_burst_is_left() {
        let now = FixedClock::default().now();
        for (burst, reserved) in [(120, 60), (5, 2), (1, 0)] {
            let rate = Rate::per_minute(60, burst);
            let mut kept = None;
            let half = rate.leaving_half();
            assert_eq!(passing(half, &mut kept, now), (burst - reserved) as usize);
            assert_eq!(passing(rate, &mut kept, now), reserved as usize);
            assert_eq!(
                passing(half, &mut kept, now),
                0,
                "a full bucket is no wrong clock"
            );
        }
    }

    #[test]
    fn out_of_range_rate_is_clamped() {
        assert_eq!(Rate::per_minute(0, 0), Rate::per_minute(1, 1));
        assert_eq!(Rate::per_minute(u32::MAX, 1), Rate::per_minute(60_000, 1));
        assert_eq!(
            Rate::per_minute(1, u32::MAX),
            Rate::per_minute(1, i32::MAX as u32)
        );
    }

    #[test]
    fn wait_is_rounded_up_to_seconds() {
        let rate = Rate::per_minute(40, 1);
        let now = FixedClock::default().now();
        let kept = rate.admit(None, now).unwrap();
        assert_eq!(rate.admit(Some(kept), now).unwrap_err().whole_seconds(), 2);
        let almost = kept - TimeDelta::milliseconds(1);
        assert_eq!(rate.admit(Some(kept), almost).unwrap_err().whole_seconds(), 1);
    }

    #[test]
    fn recorded_time_far_in_the_future_causes_no_wait() {
        let rate = Rate::per_minute(60, 120);
        let now = FixedClock::default().now();
        let minutes_ahead = rate.admit(None, now + TimeDelta::minutes(6)).unwrap();
        assert!(rate.admit(Some(minutes_ahead), now).is_err());

        for ahead in [TimeDelta::hours(1), TimeDelta::days(400)] {
            let mut kept = Some(now + ahead);
            assert_eq!(passing(rate, &mut kept, now), 1);
            assert_eq!(kept, Some(now + TimeDelta::minutes(2)), "it is full from then on");
        }
    }
}
