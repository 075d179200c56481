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
        for (moment, cut) in [
            ("2026-01-01T00:00:00.123999999Z", "2026-01-01T00:00:00.123Z"),
            ("2026-01-01T00:00:00.123Z", "2026-01-01T00:00:00.123Z"),
            ("1969-12-31T23:59:59.999999999Z", "1969-12-31T23:59:59.999Z"),
            ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999Z"),
            ("2016-12-31T23:59:60.5Z", "2017-01-01T00:00:00.5Z"),
        ] {
            let [moment, cut] = [moment, cut].map(|text| text.parse::<DateTime<Utc>>().unwrap());
            assert_eq!(whole_milliseconds(moment), cut, "{moment}");
        }
    }
}
