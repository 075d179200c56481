//! The clock port.

use chrono::{DateTime, Utc};

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
    DateTime::from_timestamp_millis(moment.timestamp_millis()).unwrap_or(moment)
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::whole_milliseconds;

    #[test]
    fn clock_truncates_to_milliseconds() {
        let moment: DateTime<Utc> = "2026-01-01T00:00:00.123999999Z".parse().unwrap();
        let cut: DateTime<Utc> = "2026-01-01T00:00:00.123Z".parse().unwrap();
        assert_eq!(whole_milliseconds(moment), cut);
        assert_eq!(whole_milliseconds(cut), cut);
    }
}
