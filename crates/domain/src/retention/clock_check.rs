//! Whether a clock may be believed when it says that something is old enough to go.
//!
//! What is removed by a wrong clock is gone for ever, and what stays because of one goes a little later. So nothing goes
//! on the word of one clock. Its witnesses are the clock of the database's server, where there is one, and how late it
//! was when somebody looked the last time: a clock that leapt ahead since is believed only when a second look, a day
//! later, still finds it there. A clock that is behind is harmless: by it, less is old enough.

use chrono::{DateTime, TimeDelta, Utc};

/// How far the clock of this process may be from that of the database's server.
const MOST_DIFFERENCE: TimeDelta = TimeDelta::minutes(5);

/// How much later than at the last look it may be without doubt. Servers look once an hour; this covers a holiday.
const NO_LEAP: TimeDelta = TimeDelta::days(7);

/// How long a clock that leapt must go on from there, until it is believed. It was right if the installation was switched
/// off meanwhile; and if not, this is how long somebody has to read the warnings and to set the clock.
const PROBATION: TimeDelta = TimeDelta::days(1);

/// The latest second look. By then whoever runs `keyward clean-up` once a month has done so; what comes later is a leap of
/// its own.
const LATEST_SECOND_LOOK: TimeDelta = TimeDelta::days(35);

/// What a store keeps of the looks at the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockRecord {
    /// How late it was when the clock was believed the last time.
    pub believed_at: DateTime<Utc>,
    /// How late it was at the first look after a leap, if there was one since.
    pub leapt_to: Option<DateTime<Utc>>,
}

/// Who knows, besides this process, how late it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClockWitnesses {
    /// The clock of the database's server; none if the database has none but that of this machine.
    pub database: Option<DateTime<Utc>>,
    /// What the store keeps; nothing before the first look.
    pub record: Option<ClockRecord>,
    /// When the newest audit event happened. It stands in for the record before the first look.
    pub newest_event: Option<DateTime<Utc>>,
}

/// Why a clock is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClockDoubt {
    /// Two clocks tell different times, and one of them is wrong.
    #[error(
        "this server's clock says {ours}, and the database server's {database}: set the one that is wrong"
    )]
    Differs {
        /// Of this process.
        ours: DateTime<Utc>,
        /// Of the database's server.
        database: DateTime<Utc>,
    },
    /// It is much later than it was at the last look.
    #[error(
        "the clock says {ours}, and the last time it was looked at {last}: set it if that is wrong; if it is right, what \
         is old enough is removed from {believed_from} on"
    )]
    Leapt {
        /// What the clock says.
        ours: DateTime<Utc>,
        /// What it said when it was believed the last time.
        last: DateTime<Utc>,
        /// From when on it is believed, if it goes on like this.
        believed_from: DateTime<Utc>,
    },
}

/// What a look at the clock comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockLook {
    /// Why it is not believed, if it is not.
    pub doubt: Option<ClockDoubt>,
    /// What the store MUST keep from now on, if anything.
    pub record: Option<ClockRecord>,
}

impl ClockWitnesses {
    /// Looks at a clock that says it is `now`.
    #[must_use]
    pub fn look(self, now: DateTime<Utc>) -> ClockLook {
        if let Some(database) = self.database
            && (now - database).abs() > MOST_DIFFERENCE
        {
            let doubt = ClockDoubt::Differs { ours: now, database };
            return ClockLook {
                doubt: Some(doubt),
                record: None,
            };
        }
        let believed = ClockLook {
            doubt: None,
            record: Some(ClockRecord {
                believed_at: now,
                leapt_to: None,
            }),
        };
        let last = match (self.record, self.newest_event) {
            (Some(record), _) => record.believed_at,
            (None, Some(newest_event)) => newest_event,
            // Nothing has happened yet, so there is nothing to lose.
            (None, None) => return believed,
        };
        if now - last <= NO_LEAP {
            return believed;
        }
        // One that went back since, or leapt again, has to begin anew.
        let first_look = self
            .record
            .and_then(|record| record.leapt_to)
            .filter(|first| (TimeDelta::zero()..=LATEST_SECOND_LOOK).contains(&(now - *first)));
        match first_look {
            Some(first) if now - first >= PROBATION => believed,
            _ => {
                let first = first_look.unwrap_or(now);
                ClockLook {
                    doubt: Some(ClockDoubt::Leapt {
                        ours: now,
                        last,
                        believed_from: first + PROBATION,
                    }),
                    record: Some(ClockRecord {
                        believed_at: last,
                        leapt_to: Some(first),
                    }),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(moment: &str) -> DateTime<Utc> {
        moment.parse().unwrap()
    }

    fn record(believed_at: &str, leapt_to: Option<&str>) -> ClockWitnesses {
        ClockWitnesses {
            record: Some(ClockRecord {
                believed_at: at(believed_at),
                leapt_to: leapt_to.map(at),
            }),
            ..ClockWitnesses::default()
        }
    }

    /// Looks again and again, each time with what the look before left; whether the clock was believed.
    fn looks(mut witnesses: ClockWitnesses, moments: &[&str]) -> Vec<bool> {
        let look = |moment: &&str| {
            let look = witnesses.look(at(moment));
            witnesses.record = look.record.or(witnesses.record);
            look.doubt.is_none()
        };
        moments.iter().map(look).collect()
    }

    #[test]
    fn a_clock_that_goes_on_is_believed() {
        let looks = looks(
            record("2026-01-01T00:00:00Z", None),
            &[
                "2026-01-01T01:00:00Z",
                "2026-01-08T00:00:00Z",
                "2026-01-08T01:00:00Z",
            ],
        );
        assert_eq!(looks, [true; 3]);
    }

    #[test]
    fn a_clock_that_leapt_is_believed_a_day_after_the_first_look() {
        let looks = looks(
            record("2026-01-01T00:00:00Z", None),
            &[
                "2027-02-05T00:00:00Z",
                "2027-02-05T01:00:00Z",
                "2027-02-05T23:59:59Z",
                "2027-02-06T00:00:00Z",
                "2027-02-06T01:00:00Z",
            ],
        );
        assert_eq!(looks, [false, false, false, true, true]);
    }

    #[test]
    fn a_clock_that_is_set_back_begins_anew_when_it_leaps_again() {
        let looks = looks(
            record("2026-01-01T00:00:00Z", None),
            &[
                "2027-02-05T00:00:00Z",
                // Set right; and wrong again two days later, where the first leap led.
                "2026-01-01T02:00:00Z",
                "2027-02-07T00:00:00Z",
            ],
        );
        assert_eq!(looks, [false, true, false]);
    }

    #[test]
    fn a_second_leap_is_no_second_look_at_the_first() {
        let looks = looks(
            record("2026-01-01T00:00:00Z", Some("2026-02-01T00:00:00Z")),
            &["2027-02-05T00:00:00Z", "2027-02-06T00:00:00Z"],
        );
        assert_eq!(looks, [false, true]);
    }

    #[test]
    fn the_newest_event_stands_in_before_the_first_look() {
        let newest_event = Some(at("2026-01-01T00:00:00Z"));
        let witnesses = ClockWitnesses {
            newest_event,
            ..ClockWitnesses::default()
        };
        assert_eq!(witnesses.look(at("2026-01-02T00:00:00Z")).doubt, None);
        assert!(witnesses.look(at("2027-02-05T00:00:00Z")).doubt.is_some());
        assert_eq!(
            ClockWitnesses::default().look(at("2027-02-05T00:00:00Z")).doubt,
            None
        );
        // Once there is a record, events by the same wrong clock say nothing.
        let later = ClockWitnesses {
            newest_event: Some(at("2027-02-05T00:00:00Z")),
            ..record("2026-01-01T00:00:00Z", Some("2027-02-05T00:00:00Z"))
        };
        assert!(later.look(at("2027-02-05T01:00:00Z")).doubt.is_some());
    }

    #[test]
    fn clocks_minutes_apart_are_not_believed_and_leave_no_record() {
        let witnesses = ClockWitnesses {
            database: Some(at("2026-01-01T00:00:00Z")),
            ..record("2026-01-01T00:00:00Z", None)
        };
        assert_eq!(witnesses.look(at("2026-01-01T00:05:00Z")).doubt, None);
        assert_eq!(witnesses.look(at("2025-12-31T23:55:00Z")).doubt, None);
        for wrong in ["2026-01-01T00:05:01Z", "2025-12-31T23:54:59Z"] {
            let look = witnesses.look(at(wrong));
            assert!(matches!(look.doubt, Some(ClockDoubt::Differs { .. })), "{look:?}");
            assert_eq!(look.record, None);
        }
    }
}
