//! A moment as pages show it.

use std::ops::RangeInclusive;

use chrono::{DateTime, SecondsFormat, Utc};

/// The years that may be asked for: every store has moments in them, and all are written with four digits. (chrono knows
/// some 260,000 in either direction, PostgreSQL those from 4713 BC.)
pub(super) const YEARS: RangeInclusive<i32> = 1..=9999;

/// A moment as pages show it; the script makes it relative and local.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment(pub(super) DateTime<Utc>);

impl Moment {
    /// For `<time datetime>`.
    pub(super) fn machine(self) -> String {
        self.0.to_rfc3339_opts(SecondsFormat::Millis, true)
    }

    /// To the second, for those who hover.
    pub(super) fn exact(self) -> String {
        self.0.format("%-d %B %Y, %H:%M:%S UTC").to_string()
    }

    /// To the minute, for reading.
    pub(super) fn short(self) -> String {
        self.0.format("%-d %b %Y, %H:%M UTC").to_string()
    }
}
