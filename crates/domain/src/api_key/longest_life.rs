//! The longest life that an organization's owners allow its new keys.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, TimeDelta, Utc};

/// After how many days a new key ends at the latest: from 1 to [`LongestLife::MAX_DAYS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LongestLife(u16);

/// A number of days that is no longest life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a number of days from 1 to {}", LongestLife::MAX_DAYS)]
pub struct InvalidLongestLife;

impl LongestLife {
    /// The maximum number of days, ten years.
    pub const MAX_DAYS: u16 = 3_650;

    /// Reads a number of days.
    ///
    /// # Errors
    /// It is less than 1, or more than [`LongestLife::MAX_DAYS`].
    pub fn of_days(days: i64) -> Result<Self, InvalidLongestLife> {
        let days = u16::try_from(days).map_err(|_| InvalidLongestLife)?;
        if (1..=Self::MAX_DAYS).contains(&days) {
            Ok(Self(days))
        } else {
            Err(InvalidLongestLife)
        }
    }

    /// From 1 to [`LongestLife::MAX_DAYS`].
    pub const fn days(self) -> u16 {
        self.0
    }

    /// When a key that was created at this moment ends at the latest.
    #[must_use]
    pub fn end_of_key_created(self, at: DateTime<Utc>) -> DateTime<Utc> {
        at + TimeDelta::days(self.0.into())
    }
}

/// As a duration of ISO 8601, such as `P90D`.
impl fmt::Display for LongestLife {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "P{}D", self.0)
    }
}

/// Reads what [`fmt::Display`] writes.
impl FromStr for LongestLife {
    type Err = InvalidLongestLife;

    fn from_str(text: &str) -> Result<Self, InvalidLongestLife> {
        let days = text.strip_prefix('P').and_then(|text| text.strip_suffix('D'));
        let days = days
            .and_then(|days| days.parse().ok())
            .ok_or(InvalidLongestLife)?;
        Self::of_days(days)
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidLongestLife, LongestLife};

    #[test]
    fn longest_life_is_one_day_to_ten_years() {
        for days in [1, 90, 3_650] {
            let life = LongestLife::of_days(days).unwrap();
            assert_eq!(i64::from(life.days()), days);
            assert_eq!(life.to_string(), format!("P{days}D"));
            assert_eq!(life.to_string().parse(), Ok(life));
        }
        for days in [i64::MIN, -1, 0, 3_651, 65_536 + 90, i64::MAX] {
            assert_eq!(LongestLife::of_days(days), Err(InvalidLongestLife), "{days}");
        }
        for text in ["", "90", "P90", "90D", "PD", "P90W", "P3651D", "P90D\n"] {
            assert_eq!(text.parse::<LongestLife>(), Err(InvalidLongestLife), "{text}");
        }
    }
}
