//! Moments in forms.

use std::ops::RangeInclusive;

use chrono::{DateTime, Datelike, NaiveDateTime, Utc};

/// The years that may be asked for: every store has moments in them, and all are written with four digits. (chrono knows
/// some 260,000 in either direction, PostgreSQL those from 4713 BC.)
pub(super) const YEARS: RangeInclusive<i32> = 1..=9999;

const TO_THE_SECOND: &str = "%Y-%m-%dT%H:%M:%S";
const TO_THE_MINUTE: &str = "%Y-%m-%dT%H:%M";

/// Reads what `<input type="datetime-local">` writes (HTML §2.3.5.4); here it is in UTC, as the pages say.
pub(super) fn in_utc(text: &str) -> Option<DateTime<Utc>> {
    let moment = NaiveDateTime::parse_from_str(text, TO_THE_SECOND)
        .or_else(|_| NaiveDateTime::parse_from_str(text, TO_THE_MINUTE));
    let moment = moment.ok().filter(|moment| YEARS.contains(&moment.year()));
    moment.map(|moment| moment.and_utc())
}

/// Formats a time as [`TO_THE_SECOND`].
pub(super) fn to_the_second(moment: DateTime<Utc>) -> String {
    moment.format(TO_THE_SECOND).to_string()
}
