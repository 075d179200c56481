//! How long to wait for bytes that a client owes.

use std::time::Duration;

use tokio::time::Instant;

use crate::crowd::Hurry;

/// How long to wait for bytes that a client owes: the rest of a request's headers or body, or its close.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub(crate) owing_since: Instant,
    /// The deadline while nobody hurries.
    pub(crate) until: Instant,
    /// How long a client may owe while it is to hurry.
    pub(crate) hurried: Duration,
}

impl Patience {
    /// Who came slowly, but before others had to wait, can still finish.
    pub(crate) fn deadline(&self, hurry: Option<Hurry>) -> Instant {
        let hurried = hurry.map(|hurry| hurry.deadline(self.owing_since, self.hurried));
        hurried.map_or(self.until, |hurried| hurried.min(self.until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_client_that_owes_has_a_moment_from_when_others_wait_and_never_more_than_alone() {
        let opening = Instant::now();
        let patience = Patience {
            owing_since: opening + seconds(10),
            until: opening + seconds(20),
            hurried: seconds(1),
        };
        for (hurried_since, deadline) in [
            (None, 20),
            (Some(5), 11),
            (Some(10), 11),
            (Some(15), 16),
            (Some(20), 20),
        ] {
            let hurry = hurried_since.map(|since| Hurry::since(opening + seconds(since)));
            assert_eq!(patience.deadline(hurry), opening + seconds(deadline));
        }
    }
}
