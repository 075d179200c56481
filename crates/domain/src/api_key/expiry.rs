//! Times for which holders plan the ends of keys.

use chrono::{DateTime, Datelike, TimeDelta, Timelike, Utc};

use super::longest_life::LongestLife;
use crate::clock::whole_milliseconds;

/// The time for which a holder plans the end of a key: not absurdly late, and later than when it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expiry(DateTime<Utc>);

/// Why the end of a key cannot be planned for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidExpiry {
    /// It is not a time.
    #[error("must be a time in RFC 3339 format, such as `2027-01-31T09:00:00Z`")]
    Malformed,
    /// It is not ahead.
    #[error("must be in the future")]
    Past,
    /// It is too far ahead to be meant.
    #[error("must be at most {} days ahead", Expiry::MAX_DAYS)]
    TooFar,
    /// It is later than the organization's longest life allows.
    #[error("must be at most {} days ahead, the organization's maximum lifetime of keys", .0.days())]
    LongerThanAllowed(LongestLife),
}

impl Expiry {
    /// How far ahead it may be.
    pub const MAX_DAYS: u16 = LongestLife::MAX_DAYS;

    /// A time that lies ahead, cut down to milliseconds.
    ///
    /// # Errors
    /// It has passed, or is too far ahead.
    pub fn new(at: DateTime<Utc>, now: DateTime<Utc>) -> Result<Self, InvalidExpiry> {
        let at = whole_milliseconds(at);
        if at <= now {
            return Err(InvalidExpiry::Past);
        }
        if at - now > TimeDelta::days(Self::MAX_DAYS.into()) {
            return Err(InvalidExpiry::TooFar);
        }
        Ok(Self(at))
    }

    /// Reads a time in RFC 3339 format, with any offset from UTC, which may have passed: a request that is
    /// repeated must be known as such. Before it is stored, it MUST be [checked](Self::check).
    ///
    /// # Errors
    /// It is not a time, or too far ahead.
    pub fn parse_for_repeatable(text: &str, now: DateTime<Utc>) -> Result<Self, InvalidExpiry> {
        match Self::parse(text, now) {
            Err(InvalidExpiry::Past) => {
                let at = Self::parse_moment(text)?;
                Ok(Self(whole_milliseconds(at)))
            }
            read => read,
        }
    }

    /// Reads a time in RFC 3339 format, with any offset from UTC.
    ///
    /// # Errors
    /// It is not a time, has passed, or is too far ahead.
    pub fn parse(text: &str, now: DateTime<Utc>) -> Result<Self, InvalidExpiry> {
        Self::new(Self::parse_moment(text)?, now)
    }

    /// Reads any moment in RFC 3339 format, with any offset from UTC. A leap second can only be the last one
    /// of a month in UTC (RFC 3339, section 5.7).
    ///
    /// # Errors
    /// It is [no time](InvalidExpiry::Malformed).
    pub fn parse_moment(text: &str) -> Result<DateTime<Utc>, InvalidExpiry> {
        // chrono also takes U+2212 for a minus, and a second 60 in any minute.
        let read = Some(text)
            .filter(|text| text.is_ascii())
            .and_then(|text| DateTime::parse_from_rfc3339(text).ok());
        let moment = read.ok_or(InvalidExpiry::Malformed)?.to_utc();
        if is_leap_second(moment) && !is_last_second_of_month(moment) {
            return Err(InvalidExpiry::Malformed);
        }
        Ok(moment)
    }

    /// Whether it still lies ahead: it was chosen some time before this moment.
    ///
    /// # Errors
    /// It has passed.
    pub fn check(self, now: DateTime<Utc>) -> Result<(), InvalidExpiry> {
        if self.0 > now {
            Ok(())
        } else {
            Err(InvalidExpiry::Past)
        }
    }

    /// From when on the key is accepted no more.
    pub const fn at(self) -> DateTime<Utc> {
        self.0
    }
}

/// chrono has a leap second as a second with 10⁹ nanoseconds or more.
fn is_leap_second(moment: DateTime<Utc>) -> bool {
    moment.nanosecond() >= 1_000_000_000
}

fn is_last_second_of_month(moment: DateTime<Utc>) -> bool {
    let tomorrow = moment.date_naive().succ_opt();
    (moment.hour(), moment.minute(), moment.second()) == (23, 59, 59)
        && tomorrow.is_none_or(|tomorrow| tomorrow.day() == 1)
}

/// A change of a key's planned end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpiryChange {
    /// It ends at this time.
    Set(Expiry),
    /// It has no planned end any more.
    Remove,
}

impl ExpiryChange {
    /// Whether the end, if one is set, still lies ahead.
    ///
    /// # Errors
    /// It has passed.
    pub fn check(self, now: DateTime<Utc>) -> Result<(), InvalidExpiry> {
        self.expiry().map_or(Ok(()), |expiry| expiry.check(now))
    }

    /// The planned end after it.
    #[must_use]
    pub const fn expiry(self) -> Option<Expiry> {
        match self {
            Self::Set(expiry) => Some(expiry),
            Self::Remove => None,
        }
    }
}

/// Why the planned end of a key cannot be postponed or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CannotExtendLife {
    /// The key itself asks for it. Only a person or another key may decide that: else a thief of a key that
    /// ends soon could keep it.
    #[error("a key cannot postpone or remove its own planned end")]
    OfItself,
    /// The key was rotated: its successor is valid in its place.
    #[error("the key was rotated, so its end cannot be postponed: use the key that took its place")]
    OfRotatedKey,
    /// It is later than the organization's longest life allows. A key that has lived longer already may be
    /// brought to an end only.
    #[error(
        "must be at most {} days after the key's creation, the organization's maximum lifetime of keys",
        .0.days()
    )]
    BeyondLongestLife(LongestLife),
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};

    use super::{Expiry, InvalidExpiry};

    fn now() -> DateTime<Utc> {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    #[test]
    fn expiry_lies_ahead_by_at_most_ten_years() {
        let ahead = |milliseconds| Expiry::new(now() + TimeDelta::milliseconds(milliseconds), now());
        let longest = TimeDelta::days(3_650).num_milliseconds();
        assert_eq!(ahead(-1), Err(InvalidExpiry::Past));
        assert_eq!(ahead(0), Err(InvalidExpiry::Past));
        assert!(ahead(1).is_ok());
        assert!(ahead(longest).is_ok());
        assert_eq!(ahead(longest + 1), Err(InvalidExpiry::TooFar));
    }

    #[test]
    fn expiry_is_read_with_any_offset_in_whole_milliseconds() {
        for (text, expected) in [
            ("2026-01-31T09:00:00Z", "2026-01-31T09:00:00Z"),
            ("2026-01-31T09:00:00.123999999+02:00", "2026-01-31T07:00:00.123Z"),
            ("2026-01-31T07:00:00-02:00", "2026-01-31T09:00:00Z"),
            ("2026-12-31T23:59:60Z", "2027-01-01T00:00:00Z"),
            ("2026-12-31T23:59:60.9Z", "2027-01-01T00:00:00.9Z"),
            ("2027-01-01T01:59:60+02:00", "2027-01-01T00:00:00Z"),
            ("2028-02-29T23:59:60Z", "2028-03-01T00:00:00Z"),
        ] {
            let read = Expiry::parse(text, now()).map(Expiry::at);
            assert_eq!(read, Ok(expected.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn malformed_expiry_is_rejected() {
        for text in [
            "",
            "tomorrow",
            "2026-01-31",
            "2026-01-31T09:00:00",
            "2026-02-30T09:00:00Z",
            "+12026-01-31T09:00:00Z",
            "1790000000",
            " 2026-01-31T09:00:00Z",
            "2026-01-31T09:00:00\u{2212}02:00",
            "2026-01-31T12:34:60Z",
            "2026-01-31T12:34:60.9Z",
            "2026-01-31T22:59:60Z",
            "2026-01-30T23:59:60Z",
            "2028-02-28T23:59:60Z",
            "2026-01-31T23:59:60+01:00",
            "2026-01-31T23:59:61Z",
        ] {
            assert_eq!(
                Expiry::parse(text, now()),
                Err(InvalidExpiry::Malformed),
                "{text:?}"
            );
        }
        let last = Expiry::parse("9999-12-31T23:59:59.999Z", now());
        assert_eq!(last, Err(InvalidExpiry::TooFar));
        let first = Expiry::parse("0000-01-01T00:00:00Z", now());
        assert_eq!(first, Err(InvalidExpiry::Past));
        let first = Expiry::parse_for_repeatable("0000-01-01T00:00:00Z", now()).unwrap();
        assert_eq!(first.check(now()), Err(InvalidExpiry::Past));
        for text in ["yesterday", "2025-01-30T23:59:60Z"] {
            let malformed = Expiry::parse_for_repeatable(text, now());
            assert_eq!(malformed, Err(InvalidExpiry::Malformed), "{text}");
        }
    }
}
