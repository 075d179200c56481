//! Validity of keys and memberships: the only place that defines it.
//!
//! Either has at most one end. Validity is evaluated at a given time. A change uses the time of its act. Use
//! cases that read get the time from their caller, who passes the same one to all parts of an answer: filter,
//! rows, counts and previews.

use chrono::{DateTime, TimeDelta, Utc};

/// The end of a key or of a membership.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// Planned for this time: valid before, and no longer at it. From that moment on it is
    /// [due](Self::is_due), until a store records that it has come.
    Planned(DateTime<Utc>),
    /// It has come: by an act that took effect at once, or a planned end that was recorded as come. It is
    /// final, also by a clock that is behind the one that timed the end.
    Come(DateTime<Utc>),
}

impl End {
    /// When it comes, or came.
    #[must_use]
    pub const fn at(self) -> DateTime<Utc> {
        match self {
            Self::Planned(at) | Self::Come(at) => at,
        }
    }

    /// Whether it has come by this moment.
    #[must_use]
    pub fn has_come(self, now: DateTime<Utc>) -> bool {
        match self {
            Self::Planned(at) => at <= now,
            Self::Come(_) => true,
        }
    }

    /// Whether it was planned, has come by this moment, and is not recorded as come.
    #[must_use]
    pub fn is_due(self, now: DateTime<Utc>) -> bool {
        matches!(self, Self::Planned(at) if at <= now)
    }

    /// The same end, recorded as come if it is due.
    #[must_use]
    pub fn recorded(self, now: DateTime<Utc>) -> Self {
        if self.is_due(now) {
            Self::Come(self.at())
        } else {
            self
        }
    }
}

/// A planned end is soon when it is at most this far ahead.
pub const SOON: TimeDelta = TimeDelta::days(7);

/// Whether a planned end is soon.
pub(crate) fn is_soon(planned: Option<DateTime<Utc>>, now: DateTime<Utc>) -> bool {
    planned.is_some_and(|at| at - now <= SOON)
}

/// When a key or membership with this end, if any, is planned to end; none if it is over.
#[must_use]
pub fn planned_end(end: Option<End>, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    end.filter(|end| !end.has_come(now)).map(End::at)
}

/// Whether a key or membership with this end, if any, is over at this time.
#[must_use]
pub fn is_over(end: Option<End>, now: DateTime<Utc>) -> bool {
    end.is_some_and(|end| end.has_come(now))
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};

    use super::{End, is_over};

    #[test]
    fn planned_end_takes_effect_at_its_time() {
        let moment: DateTime<Utc> = "2026-01-01T00:00:00Z".parse().unwrap();
        let over = |end, after| is_over(end, moment + TimeDelta::milliseconds(after));
        for (after, planned) in [(-1, false), (0, true), (1, true)] {
            assert!(!over(None, after));
            assert_eq!(over(Some(End::Planned(moment)), after), planned);
            assert!(over(Some(End::Come(moment)), after), "by a clock that is behind");
        }
    }
}
