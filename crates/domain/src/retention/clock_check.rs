//! Whether a clock can be trusted for purging.
//!
//! Records purged because of a wrong clock are lost for ever, while records kept too long do no harm. So a
//! clock is compared with two witnesses: the clock of the database server, if there is one, and the time of
//! the last check. A clock that is far from the last check is trusted only after an administrator confirms
//! it; a later check cannot do that, because it uses the same clock.

use chrono::{DateTime, TimeDelta, Utc};

/// The maximum difference between this process's clock and the database server's.
const MAX_CLOCK_DIFFERENCE: TimeDelta = TimeDelta::minutes(5);

/// The maximum difference from the last check. Servers check once an hour; a week allows for an installation
/// that is switched off during a holiday.
const MAX_CLOCK_JUMP: TimeDelta = TimeDelta::days(7);

/// Times to compare this process's clock with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockWitnesses {
    /// The clock of the database's server; none if the database has none but that of this machine.
    pub database: Option<DateTime<Utc>>,
    /// The time when the clock was last trusted. Before the first check: when the tables were created, or the
    /// time of the newest imported event. Not the newest event of all, which may have been timed by the
    /// doubtful clock.
    pub trusted_at: DateTime<Utc>,
}

/// Why a clock is not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClockDoubt {
    /// The clocks of this process and of the database server differ; one is wrong.
    #[error("this server's clock shows {ours}, the database server's {database}: set the one that is wrong")]
    Differs {
        /// The time of this process's clock.
        ours: DateTime<Utc>,
        /// The time of the database server's clock.
        database: DateTime<Utc>,
    },
    /// The clock is far from the time of the last check.
    #[error("the clock shows {ours}; at the last check it showed {last}")]
    Jumped {
        /// The time of this server's clock.
        ours: DateTime<Utc>,
        /// The time when the clock was last trusted.
        last: DateTime<Utc>,
    },
}

impl ClockWitnesses {
    /// Checks a clock that shows `now`, and that an administrator may have confirmed. If it is trusted, the
    /// store MUST keep this time as [`trusted_at`](Self::trusted_at).
    ///
    /// # Errors
    /// Why the clock is not trusted. A confirmation does not help if two clocks differ.
    pub fn check(self, now: DateTime<Utc>, is_confirmed: bool) -> Result<(), ClockDoubt> {
        if let Some(database) = self.database
            && (now - database).abs() > MAX_CLOCK_DIFFERENCE
        {
            return Err(ClockDoubt::Differs { ours: now, database });
        }
        let last = self.trusted_at;
        if (now - last).abs() > MAX_CLOCK_JUMP && !is_confirmed {
            return Err(ClockDoubt::Jumped { ours: now, last });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(moment: &str) -> DateTime<Utc> {
        moment.parse().unwrap()
    }

    fn trusted_at(moment: &str) -> ClockWitnesses {
        ClockWitnesses {
            database: None,
            trusted_at: at(moment),
        }
    }

    /// Checks these times in turn, each with the state that the previous check left. Returns whether the
    /// clock was trusted.
    fn looks(mut witnesses: ClockWitnesses, moments: &[&str]) -> Vec<bool> {
        let look = |moment: &&str| {
            let now = at(moment);
            let is_trusted = witnesses.check(now, false).is_ok();
            if is_trusted {
                witnesses.trusted_at = now;
            }
            is_trusted
        };
        moments.iter().map(look).collect()
    }

    #[test]
    fn steady_clock_is_trusted() {
        let looks = looks(
            trusted_at("2026-01-01T00:00:00Z"),
            &[
                "2026-01-01T01:00:00Z",
                "2026-01-08T01:00:00Z",
                "2026-01-08T00:00:00Z",
                "2026-01-15T00:00:00Z",
            ],
        );
        assert_eq!(looks, [true; 4]);
    }

    #[test]
    fn jumped_clock_is_not_trusted_after_any_duration() {
        let looks = looks(
            trusted_at("2026-01-01T00:00:00Z"),
            &[
                "2027-02-05T00:00:00Z",
                "2027-02-06T00:00:00Z",
                "2027-02-07T00:00:00Z",
                "2027-03-07T00:00:00Z",
                "2029-03-07T00:00:00Z",
                // Set right.
                "2026-01-05T00:00:00Z",
            ],
        );
        assert_eq!(looks, [false, false, false, false, false, true]);
    }

    #[test]
    fn jumped_clock_is_trusted_after_confirmation() {
        let leapt = at("2027-02-05T00:00:00Z");
        assert_eq!(trusted_at("2026-01-01T00:00:00Z").check(leapt, true), Ok(()));
    }

    #[test]
    fn clock_set_far_back_keeps_the_trusted_time() {
        let looks = looks(
            trusted_at("2026-01-01T00:00:00Z"),
            &["1970-01-01T00:00:10Z", "2026-01-01T00:01:00Z"],
        );
        assert_eq!(looks, [false, true]);
    }

    #[test]
    fn clocks_minutes_apart_are_not_trusted_despite_confirmation() {
        let witnesses = ClockWitnesses {
            database: Some(at("2026-01-01T00:00:00Z")),
            ..trusted_at("2026-01-01T00:00:00Z")
        };
        for right in ["2026-01-01T00:05:00Z", "2025-12-31T23:55:00Z"] {
            assert_eq!(witnesses.check(at(right), false), Ok(()));
        }
        for wrong in ["2026-01-01T00:05:01Z", "2025-12-31T23:54:59Z"] {
            for is_confirmed in [false, true] {
                let doubt = witnesses.check(at(wrong), is_confirmed);
                assert!(matches!(doubt, Err(ClockDoubt::Differs { .. })), "{doubt:?}");
            }
        }
    }
}
