//! Pages for exceeded rate limits.

use std::fmt;

use askama::Template;
use keyward_domain::rate::Throttled;
use poem::Response;
use poem::http::{StatusCode, header};

use crate::answer::html;
use crate::refusal::Refusal;

/// The page that says to wait.
pub(super) fn too_many(page: &impl Template, throttled: Throttled) -> Result<Response, Refusal> {
    let mut response = html(StatusCode::TOO_MANY_REQUESTS, page)?;
    let seconds = throttled.whole_seconds();
    response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    Ok(response)
}

/// How long to wait; the page's script counts down the seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    pub(super) seconds: i64,
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
