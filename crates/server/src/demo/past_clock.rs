//! A clock that shows past times.

use chrono::{DateTime, Utc};
use keyward_domain::clock::{Clock, whole_milliseconds};
use parking_lot::Mutex;

/// A clock that is set to a time in the past, so that records get their timestamps and identifiers from then.
pub(super) struct PastClock(Mutex<DateTime<Utc>>);

impl PastClock {
    pub(super) fn new(moment: DateTime<Utc>) -> Self {
        Self(Mutex::new(whole_milliseconds(moment)))
    }

    pub(super) fn move_to(&self, moment: DateTime<Utc>) {
        *self.0.lock() = whole_milliseconds(moment);
    }
}

impl Clock for PastClock {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock()
    }
}
