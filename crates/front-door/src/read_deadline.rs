//! When a client must have sent the bytes that it owes.

use std::time::Duration;

use tokio::time::Instant;

use crate::saturation::ShortTimeout;

/// When a client must have sent the bytes that it owes: the rest of a request's headers or body, or its
/// close.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadDeadline {
    pub(crate) owing_since: Instant,
    /// The deadline while no short timeout applies.
    pub(crate) until: Instant,
    /// How long a client may owe bytes while others wait.
    pub(crate) saturated_timeout: Duration,
}

impl ReadDeadline {
    /// A slow client from before others had to wait can still finish.
    pub(crate) fn at(&self, short: Option<ShortTimeout>) -> Instant {
        let short = short.map(|short| short.deadline(self.owing_since, self.saturated_timeout));
        short.map_or(self.until, |short| short.min(self.until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn saturation_shortens_the_deadline_and_never_extends_it() {
        let opening = Instant::now();
        let read_deadline = ReadDeadline {
            owing_since: opening + seconds(10),
            until: opening + seconds(20),
            saturated_timeout: seconds(1),
        };
        for (saturated_since, deadline) in [
            (None, 20),
            (Some(5), 11),
            (Some(10), 11),
            (Some(15), 16),
            (Some(20), 20),
        ] {
            let short = saturated_since.map(|since| ShortTimeout::since(opening + seconds(since)));
            assert_eq!(read_deadline.at(short), opening + seconds(deadline));
        }
    }
}
