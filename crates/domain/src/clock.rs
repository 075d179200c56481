//! Time as an argument.

use chrono::{DateTime, DurationRound, TimeDelta, Utc};

/// The moment something happens, as the use cases see it.
pub trait Clock: Send + Sync {
    /// The present moment in UTC.
    ///
    /// MUST be in whole milliseconds (see [`whole_milliseconds`]), so that a moment reads the same before and
    /// after it was stored and shown.
    fn now(&self) -> DateTime<Utc>;
}

/// Cuts a moment down to the milliseconds that Keyward stores and shows.
#[must_use]
pub fn whole_milliseconds(moment: DateTime<Utc>) -> DateTime<Utc> {
    moment
        .duration_trunc(TimeDelta::milliseconds(1))
        .unwrap_or(moment)
}
