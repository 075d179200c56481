//! A clock that stands still.

use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};

use crate::clock::{Clock, whole_milliseconds};

/// Shows the moment it was set to until a test moves it.
#[derive(Debug)]
pub struct FixedClock(Mutex<DateTime<Utc>>);

impl FixedClock {
    /// A clock that stands at a moment in RFC 3339, such as `2026-01-01T00:00:00Z`.
    #[must_use]
    pub fn at(moment: &str) -> Self {
        let moment: DateTime<Utc> = moment.parse().expect("a moment in RFC 3339");
        Self(Mutex::new(whole_milliseconds(moment)))
    }

    /// Moves the clock, also backwards.
    pub fn advance(&self, by: TimeDelta) {
        let mut moment = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *moment = whole_milliseconds(*moment + by);
    }
}

impl Default for FixedClock {
    fn default() -> Self {
        Self::at("2026-01-01T00:00:00Z")
    }
}

impl Clock for FixedClock {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
