//! Whether clients wait for a connection because all are taken, and the shorter timeouts that others have
//! then.

use std::time::Duration;

use tokio::time::Instant;

/// A saturation that begins within this time of the one before continues it: clients that hold connections on
/// purpose reconnect at once.
const RESET_AFTER: Duration = Duration::from_secs(10);

/// How often the timeout is halved while saturation continues, each time after a quarter of the full timeout.
const HALVINGS: u32 = 2;

/// Since when clients have waited for a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Saturation {
    saturated_since: Option<Instant>,
    /// When the first saturation began that this one continues.
    repeated_since: Option<Instant>,
    /// When the latest saturation ended.
    ended_at: Option<Instant>,
    /// How long those that have ended lasted in all.
    total_ended: Duration,
}

impl Saturation {
    /// A client has to wait for a connection.
    pub(crate) fn begin(&mut self, now: Instant) {
        if self.saturated_since.is_some() {
            return;
        }
        if self.is_over(now) {
            self.repeated_since = Some(now);
        }
        self.saturated_since = Some(now);
    }

    /// No client waits any more.
    pub(crate) fn end(&mut self, now: Instant) {
        if let Some(since) = self.saturated_since.take() {
            self.ended_at = Some(now);
            self.total_ended += now.duration_since(since);
        }
    }

    /// For how long at least one client has waited, in all.
    pub(crate) fn total(&self, now: Instant) -> Duration {
        let current = self.saturated_since.map(|since| now.duration_since(since));
        self.total_ended + current.unwrap_or_default()
    }

    /// Whether a saturation that begins now does not continue the latest one.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.saturated_since.is_none() && self.ended_at.is_none_or(|ended| now >= ended + RESET_AFTER)
    }

    /// Since when at least one client has waited.
    pub(crate) const fn since(&self) -> Option<Instant> {
        self.saturated_since
    }

    /// The timeout of clients that owe bytes, while others wait.
    pub(crate) fn short_timeout(&self) -> Option<ShortTimeout> {
        self.saturated_since.map(|since| ShortTimeout {
            since,
            repeated_since: self.repeated_since,
        })
    }
}

/// A short timeout for clients that owe bytes or do not read, from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShortTimeout {
    since: Instant,
    repeated_since: Option<Instant>,
}

impl ShortTimeout {
    /// For a reason other than saturation; it is never halved.
    pub(crate) const fn since(since: Instant) -> Self {
        Self {
            since,
            repeated_since: None,
        }
    }

    /// When a client must have sent the bytes that it has owed since `owing_since`. The timeout starts once
    /// both conditions hold. It is halved while saturation continues, because clients that hold connections
    /// to keep others out reconnect as fast as they are disconnected.
    pub(crate) fn deadline(&self, owing_since: Instant, timeout: Duration) -> Instant {
        let from = self.since.max(owing_since);
        from + timeout / (1 << self.halvings(from, timeout))
    }

    /// When a client must have read some of its answer. The timeout is halved once at most: on a slow line it
    /// takes that long until the kernel reports that a client has read.
    pub(crate) fn reading_deadline(&self, stalled_since: Instant, timeout: Duration) -> Instant {
        let from = self.since.max(stalled_since);
        from + timeout / (1 << self.halvings(from, timeout).min(1))
    }

    fn halvings(&self, from: Instant, timeout: Duration) -> usize {
        let continued = self
            .repeated_since
            .map_or(Duration::ZERO, |since| from.duration_since(since));
        (1..=HALVINGS)
            .filter(|halving| continued >= *halving * timeout / 4)
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn timeout_at(saturation: &Saturation, now: Instant) -> Duration {
        let short = saturation.short_timeout().expect("saturated");
        short.deadline(now, SECOND) - now
    }

    #[test]
    fn client_from_before_saturation_has_the_full_timeout() {
        let opening = Instant::now();
        let mut saturation = Saturation::default();
        assert_eq!(saturation.short_timeout(), None);
        saturation.begin(opening + SECOND);
        saturation.begin(opening + 2 * SECOND);
        let short = saturation.short_timeout().expect("saturated");
        assert_eq!(short.deadline(opening, SECOND), opening + 2 * SECOND);
    }

    #[test]
    fn timeout_falls_to_a_quarter_while_saturation_continues() {
        let opening = Instant::now();
        let mut saturation = Saturation::default();
        saturation.begin(opening);
        for (after, timeout) in [(0, 1_000), (249, 1_000), (250, 500), (500, 250), (60_000, 250)] {
            let now = opening + Duration::from_millis(after);
            assert_eq!(
                timeout_at(&saturation, now),
                Duration::from_millis(timeout),
                "{after} ms"
            );
        }
    }

    #[test]
    fn timeout_is_full_again_after_ten_seconds_without_saturation() {
        let opening = Instant::now();
        let mut saturation = Saturation::default();
        saturation.begin(opening);
        saturation.end(opening + SECOND);
        assert!(saturation.since().is_none());
        saturation.begin(opening + 10 * SECOND);
        assert_eq!(timeout_at(&saturation, opening + 10 * SECOND), SECOND / 4);
        saturation.end(opening + 11 * SECOND);
        saturation.begin(opening + 21 * SECOND);
        assert_eq!(timeout_at(&saturation, opening + 21 * SECOND), SECOND);
    }

    #[test]
    fn total_counts_each_saturation_while_it_lasts() {
        let opening = Instant::now();
        let mut saturation = Saturation::default();
        saturation.begin(opening);
        saturation.end(opening + SECOND);
        assert_eq!(saturation.total(opening + 5 * SECOND), SECOND);
        saturation.begin(opening + 5 * SECOND);
        saturation.begin(opening + 6 * SECOND);
        assert_eq!(saturation.total(opening + 7 * SECOND), 3 * SECOND);
    }

    #[test]
    fn timeout_of_answers_falls_to_a_half_while_saturation_continues() {
        let opening = Instant::now();
        let mut saturation = Saturation::default();
        saturation.begin(opening);
        let short = saturation.short_timeout().expect("saturated");
        for (after, timeout) in [(0, 1_000), (249, 1_000), (250, 500), (60_000, 500)] {
            let now = opening + Duration::from_millis(after);
            let deadline = now + Duration::from_millis(timeout);
            assert_eq!(short.reading_deadline(now, SECOND), deadline, "{after} ms");
        }
    }

    #[test]
    fn drain_does_not_shorten_the_timeout() {
        let opening = Instant::now();
        let late = opening + 60 * SECOND;
        assert_eq!(ShortTimeout::since(opening).deadline(late, SECOND), late + SECOND);
    }
}
