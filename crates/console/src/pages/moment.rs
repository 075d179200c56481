//! A moment as pages show it.

use chrono::{DateTime, SecondsFormat, Utc};

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
