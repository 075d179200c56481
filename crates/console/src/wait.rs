//! How long to wait after too much of something.

use std::fmt;

use keyward_domain::rate::Throttled;

/// How long to wait; the page's script counts down the seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    pub(crate) seconds: i64,
}

impl From<Throttled> for Wait {
    fn from(throttled: Throttled) -> Self {
        Self {
            seconds: throttled.whole_seconds(),
        }
    }
}

/// In the unit that a person would use; the script has the same.
impl fmt::Display for Wait {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.seconds;
        let (amount, unit) = if seconds > 90 * 60 {
            ((seconds + 3_599) / 3_600, "hour")
        } else if seconds > 90 {
            ((seconds + 59) / 60, "minute")
        } else {
            (seconds, "second")
        };
        let plural = if amount == 1 { "" } else { "s" };
        write!(formatter, "in {amount} {unit}{plural}")
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn wait_is_rounded_up_to_seconds_minutes_or_hours() {
        let told = |milliseconds| {
            let retry_after = TimeDelta::milliseconds(milliseconds);
            Wait::from(Throttled { retry_after }).to_string()
        };
        assert_eq!(told(1), "in 1 second");
        assert_eq!(told(60_000), "in 60 seconds");
        assert_eq!(told(121_000), "in 3 minutes");
        assert_eq!(told(5_400_001), "in 2 hours");
    }
}
