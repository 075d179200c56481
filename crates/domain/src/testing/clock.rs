//! A clock that stands still, or advances at each reading.

use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};

use crate::clock::{Clock, whole_milliseconds};

/// Shows the moment it was set to until a test moves it.
#[derive(Debug)]
pub struct FixedClock(Mutex<Hands>);

#[derive(Debug)]
struct Hands {
    moment: DateTime<Utc>,
    step: TimeDelta,
}

impl FixedClock {
    /// A clock that stands at a moment in RFC 3339, such as `2026-01-01T00:00:00Z`.
    #[must_use]
    pub fn at(moment: &str) -> Self {
        let moment: DateTime<Utc> = moment.parse().expect("a moment in RFC 3339");
        Self(Mutex::new(Hands {
            moment: whole_milliseconds(moment),
            step: TimeDelta::zero(),
        }))
    }

    /// Moves the clock, also backwards.
    pub fn advance(&self, by: TimeDelta) {
        let mut hands = self.hands();
        hands.moment = whole_milliseconds(hands.moment + by);
    }

    /// Sets the clock to a moment, and from then on each reading moves it on by a step.
    pub fn tick_from(&self, moment: DateTime<Utc>, step: TimeDelta) {
        *self.hands() = Hands { moment, step };
    }

    fn hands(&self) -> MutexGuard<'_, Hands> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for FixedClock {
    fn default() -> Self {
        Self::at("2026-01-01T00:00:00Z")
    }
}

impl Clock for FixedClock {
    fn now(&self) -> DateTime<Utc> {
        let mut hands = self.hands();
        let shown = hands.moment;
        hands.moment = whole_milliseconds(shown + hands.step);
        shown
    }
}
