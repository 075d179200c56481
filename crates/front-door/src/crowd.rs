//! Clients that wait for a place, and how long others may keep theirs meanwhile.

use std::time::Duration;

use tokio::time::Instant;

/// How long after a crowd another one counts as its continuation. Whoever holds places on purpose comes back at once.
const CALM: Duration = Duration::from_secs(10);

/// The moment that clients have is halved this often while crowds go on, each time after a quarter of the whole moment.
const HALVINGS: u32 = 2;

/// Whether clients wait for a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Crowd {
    waiting_since: Option<Instant>,
    /// Since when crowds have gone on, with less than [`CALM`] between them.
    pressing_since: Option<Instant>,
    /// When the latest crowd was over.
    over_since: Option<Instant>,
}

impl Crowd {
    /// Somebody has to wait.
    pub(crate) fn begin(&mut self, now: Instant) {
        if self.waiting_since.is_some() {
            return;
        }
        self.waiting_since = Some(now);
        let goes_on = self.over_since.is_some_and(|over| now < over + CALM);
        if !goes_on {
            self.pressing_since = Some(now);
        }
    }

    /// Nobody waits any more.
    pub(crate) fn end(&mut self, now: Instant) {
        if self.waiting_since.take().is_some() {
            self.over_since = Some(now);
        }
    }

    /// Since when there has always been somebody waiting.
    pub(crate) const fn since(&self) -> Option<Instant> {
        self.waiting_since
    }

    /// That whoever owes bytes hurries while somebody waits.
    pub(crate) fn hurry(&self) -> Option<Hurry> {
        self.waiting_since.map(|since| Hurry {
            since,
            pressing_since: self.pressing_since,
        })
    }
}

/// That clients who owe bytes have a moment left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hurry {
    since: Instant,
    pressing_since: Option<Instant>,
}

impl Hurry {
    /// For a reason other than a crowd.
    pub(crate) const fn since(since: Instant) -> Self {
        Self {
            since,
            pressing_since: None,
        }
    }

    /// Until when a client may owe bytes: a moment from when both are so, that it owes and that it must hurry. The longer
    /// crowds go on, the shorter that moment: those who hold places so as to keep others out come back as fast as they are
    /// sent away, and others wait behind them.
    pub(crate) fn deadline(&self, owing_since: Instant, moment: Duration) -> Instant {
        let from = self.since.max(owing_since);
        from + moment / (1 << self.halvings(from, moment))
    }

    /// Until when a client may take nothing of its answer. The moment is halved once at most: on a slow line it takes that
    /// long until a client is seen to have read.
    pub(crate) fn reading_deadline(&self, stalled_since: Instant, moment: Duration) -> Instant {
        let from = self.since.max(stalled_since);
        from + moment / (1 << self.halvings(from, moment).min(1))
    }

    fn halvings(&self, from: Instant, moment: Duration) -> usize {
        let pressed = self
            .pressing_since
            .map_or(Duration::ZERO, |since| from.duration_since(since));
        (1..=HALVINGS)
            .filter(|halving| pressed >= *halving * moment / 4)
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn moment_from(crowd: &Crowd, now: Instant) -> Duration {
        let hurry = crowd.hurry().expect("somebody waits");
        hurry.deadline(now, SECOND) - now
    }

    #[test]
    fn client_that_came_before_the_crowd_has_a_whole_moment() {
        let opening = Instant::now();
        let mut crowd = Crowd::default();
        assert_eq!(crowd.hurry(), None);
        crowd.begin(opening + SECOND);
        crowd.begin(opening + 2 * SECOND);
        let hurry = crowd.hurry().expect("somebody waits");
        assert_eq!(hurry.deadline(opening, SECOND), opening + 2 * SECOND);
    }

    #[test]
    fn moment_shrinks_to_a_quarter_while_crowds_go_on() {
        let opening = Instant::now();
        let mut crowd = Crowd::default();
        crowd.begin(opening);
        for (after, moment) in [(0, 1_000), (249, 1_000), (250, 500), (500, 250), (60_000, 250)] {
            let now = opening + Duration::from_millis(after);
            assert_eq!(
                moment_from(&crowd, now),
                Duration::from_millis(moment),
                "{after} ms"
            );
        }
    }

    #[test]
    fn moment_is_whole_again_once_nobody_has_waited_for_ten_seconds() {
        let opening = Instant::now();
        let mut crowd = Crowd::default();
        crowd.begin(opening);
        crowd.end(opening + SECOND);
        assert!(crowd.since().is_none());
        crowd.begin(opening + 10 * SECOND);
        assert_eq!(moment_from(&crowd, opening + 10 * SECOND), SECOND / 4);
        crowd.end(opening + 11 * SECOND);
        crowd.begin(opening + 21 * SECOND);
        assert_eq!(moment_from(&crowd, opening + 21 * SECOND), SECOND);
    }

    #[test]
    fn moment_for_an_answer_shrinks_to_a_half_while_crowds_go_on() {
        let opening = Instant::now();
        let mut crowd = Crowd::default();
        crowd.begin(opening);
        let hurry = crowd.hurry().expect("somebody waits");
        for (after, moment) in [(0, 1_000), (249, 1_000), (250, 500), (60_000, 500)] {
            let now = opening + Duration::from_millis(after);
            let deadline = now + Duration::from_millis(moment);
            assert_eq!(hurry.reading_deadline(now, SECOND), deadline, "{after} ms");
        }
    }

    #[test]
    fn drain_shortens_no_moment() {
        let opening = Instant::now();
        let late = opening + 60 * SECOND;
        assert_eq!(Hurry::since(opening).deadline(late, SECOND), late + SECOND);
    }
}
