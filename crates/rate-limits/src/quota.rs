//! How often something is allowed.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

/// A number of requests in a number of seconds.
///
/// They may come all at once; then they come back one by one, evenly over the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    requests: NonZeroU32,
    window_seconds: NonZeroU32,
}

/// A text is no quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidQuota {
    /// It has another form.
    #[error(
        "expected REQUESTS/WINDOW with a window in seconds, minutes or hours, such as 100/10s, 600/1m or 5000/1h"
    )]
    Form,
    /// The number of requests is out of range.
    #[error("expected 1 to {} requests", Quota::MAX_REQUESTS)]
    Requests,
    /// The window is out of range.
    #[error("expected a window of 1 second to 24 hours")]
    Window,
}

impl Quota {
    /// The most requests in one window.
    pub const MAX_REQUESTS: u32 = 1_000_000;
    /// The longest window, in seconds: a day.
    pub const MAX_WINDOW: u32 = 24 * 60 * 60;

    /// This many requests in this many seconds.
    ///
    /// # Errors
    /// One of them is zero or too large.
    pub fn new(requests: u32, seconds: u32) -> Result<Self, InvalidQuota> {
        let within = |number: u32, most: u32| NonZeroU32::new(number).filter(|number| number.get() <= most);
        Ok(Self {
            requests: within(requests, Self::MAX_REQUESTS).ok_or(InvalidQuota::Requests)?,
            window_seconds: within(seconds, Self::MAX_WINDOW).ok_or(InvalidQuota::Window)?,
        })
    }

    /// From 1 to [`Quota::MAX_REQUESTS`].
    #[must_use]
    pub const fn requests(self) -> u32 {
        self.requests.get()
    }

    /// From 1 to [`Quota::MAX_WINDOW`].
    #[must_use]
    pub const fn window_seconds(self) -> u32 {
        self.window_seconds.get()
    }

    /// After how long one more request is allowed.
    pub(crate) fn interval(self) -> Duration {
        // At least 1 µs, since both are bounded.
        Duration::from_secs(u64::from(self.window_seconds.get())) / self.requests.get()
    }

    pub(crate) fn of_governor(self) -> governor::Quota {
        let quota = governor::Quota::with_period(self.interval());
        quota
            .unwrap_or_else(|| governor::Quota::per_second(self.requests))
            .allow_burst(self.requests)
    }
}

/// As in `600/1m`: a number of requests, and a window in seconds (`s`), minutes (`m`) or hours (`h`).
impl FromStr for Quota {
    type Err = InvalidQuota;

    fn from_str(text: &str) -> Result<Self, InvalidQuota> {
        let (requests, window) = text.split_once('/').ok_or(InvalidQuota::Form)?;
        let unit = window.chars().next_back().ok_or(InvalidQuota::Form)?;
        let seconds_per_unit = match unit {
            's' => 1,
            'm' => 60,
            'h' => 60 * 60,
            _ => return Err(InvalidQuota::Form),
        };
        let units = number(window.strip_suffix(unit).unwrap_or_default())?;
        let seconds = units.checked_mul(seconds_per_unit).ok_or(InvalidQuota::Window)?;
        let in_range = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Self::new(in_range(number(requests)?), in_range(seconds))
    }
}

/// Digits only: no sign, no space.
fn number(text: &str) -> Result<u64, InvalidQuota> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(InvalidQuota::Form);
    }
    Ok(text.parse().unwrap_or(u64::MAX))
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}s", self.requests, self.window_seconds)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{InvalidQuota, Quota};

    #[test]
    fn quota_is_read_with_its_window_in_any_unit() {
        for (text, requests, seconds) in [
            ("1/1s", 1, 1),
            ("100/10s", 100, 10),
            ("600/1m", 600, 60),
            ("1000000/24h", 1_000_000, 86_400),
        ] {
            assert_eq!(text.parse(), Quota::new(requests, seconds), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused_with_a_reason() {
        for (text, wrong) in [
            ("", InvalidQuota::Form),
            ("600", InvalidQuota::Form),
            ("600/", InvalidQuota::Form),
            ("600/m", InvalidQuota::Form),
            ("600/60", InvalidQuota::Form),
            ("600/1d", InvalidQuota::Form),
            ("600/1m/1m", InvalidQuota::Form),
            ("-600/1m", InvalidQuota::Form),
            ("+600/1m", InvalidQuota::Form),
            (" 600/1m", InvalidQuota::Form),
            ("6e2/1m", InvalidQuota::Form),
            ("600/1µ", InvalidQuota::Form),
            ("600/½m", InvalidQuota::Form),
            ("0/1m", InvalidQuota::Requests),
            ("1000001/1m", InvalidQuota::Requests),
            ("99999999999999999999999/1m", InvalidQuota::Requests),
            ("600/0s", InvalidQuota::Window),
            ("600/25h", InvalidQuota::Window),
            ("600/99999999999999999999999h", InvalidQuota::Window),
        ] {
            assert_eq!(text.parse::<Quota>(), Err(wrong), "{text}");
        }
    }

    #[test]
    fn requests_come_back_evenly_over_the_window() {
        let quota = Quota::new(600, 60).unwrap();
        assert_eq!(quota.interval(), Duration::from_millis(100));
        let shortest = Quota::new(Quota::MAX_REQUESTS, 1).unwrap();
        assert_eq!(shortest.interval(), Duration::from_micros(1));
    }
}
