//! A cut-off time that lies far enough in the past.

use chrono::{DateTime, TimeDelta, Utc};

/// A cut-off time so long ago that every key created before it is in the store.
///
/// A key's creation time is taken before the key is stored, and the clocks of replicas differ a little. So a
/// key created before a very recent cut-off time may be stored only after a revocation of all earlier keys
/// has finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutoffTime(DateTime<Utc>);

/// The cut-off time is less than a minute ago, or in the future.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be at least a minute ago: a key from later may still be on its way into the database")]
pub struct CutoffTooRecent;

impl CutoffTime {
    /// The minimum age: several times the longest duration of a change.
    pub const MIN_AGE: TimeDelta = TimeDelta::minutes(1);

    /// Checks a moment.
    ///
    /// # Errors
    /// It is less than [`CutoffTime::MIN_AGE`] before now.
    pub fn new(moment: DateTime<Utc>, now: DateTime<Utc>) -> Result<Self, CutoffTooRecent> {
        if now.signed_duration_since(moment) >= Self::MIN_AGE {
            Ok(Self(moment))
        } else {
            Err(CutoffTooRecent)
        }
    }

    /// The time, exclusive.
    pub const fn get(self) -> DateTime<Utc> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutoff_time_is_accepted_after_one_minute() {
        let moment: DateTime<Utc> = "2026-01-01T00:00:00Z".parse().unwrap();
        let checked_after = |milliseconds| {
            let cutoff = CutoffTime::new(moment, moment + TimeDelta::milliseconds(milliseconds));
            cutoff.map(CutoffTime::get)
        };
        assert_eq!(checked_after(60_000), Ok(moment));
        for too_early in [59_999, 0, -86_400_000] {
            assert_eq!(checked_after(too_early), Err(CutoffTooRecent));
        }
    }
}
