//! For how long.

use chrono::TimeDelta;

use crate::sign_in::session::Session;

/// How long what is over stays, counted from its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionPeriods {
    dead_keys: TimeDelta,
    ended_invitations: TimeDelta,
    expired_sessions: TimeDelta,
    audit_events: Option<TimeDelta>,
}

impl Default for RetentionPeriods {
    /// 90 days for keys, 30 for invitations, one for sessions; audit events stay for ever.
    fn default() -> Self {
        Self {
            dead_keys: TimeDelta::days(90),
            ended_invitations: TimeDelta::days(30),
            expired_sessions: TimeDelta::days(1),
            audit_events: None,
        }
    }
}

impl RetentionPeriods {
    /// The shortest time that dead keys and ended invitations stay: longer than a session lives, since each of them is
    /// also what tells that the form which made it was sent before.
    pub const SHORTEST_FOR_WHAT_FORMS_MAKE: TimeDelta = TimeDelta::days(15);
    /// The shortest time that audit events stay.
    pub const SHORTEST_FOR_AUDIT_EVENTS: TimeDelta = TimeDelta::days(30);

    /// The same, but that long for dead keys.
    ///
    /// # Errors
    /// It is less than [`RetentionPeriods::SHORTEST_FOR_WHAT_FORMS_MAKE`].
    pub fn with_dead_keys(self, period: TimeDelta) -> Result<Self, InvalidRetentionPeriod> {
        let dead_keys = at_least(Self::SHORTEST_FOR_WHAT_FORMS_MAKE, period)?;
        Ok(Self { dead_keys, ..self })
    }

    /// The same, but that long for ended invitations.
    ///
    /// # Errors
    /// It is less than [`RetentionPeriods::SHORTEST_FOR_WHAT_FORMS_MAKE`].
    pub fn with_ended_invitations(self, period: TimeDelta) -> Result<Self, InvalidRetentionPeriod> {
        let ended_invitations = at_least(Self::SHORTEST_FOR_WHAT_FORMS_MAKE, period)?;
        Ok(Self {
            ended_invitations,
            ..self
        })
    }

    /// The same, but that long for expired sessions.
    ///
    /// # Errors
    /// It is negative.
    pub fn with_expired_sessions(self, period: TimeDelta) -> Result<Self, InvalidRetentionPeriod> {
        let expired_sessions = at_least(TimeDelta::zero(), period)?;
        Ok(Self {
            expired_sessions,
            ..self
        })
    }

    /// The same, but that long for audit events, and not for ever.
    ///
    /// # Errors
    /// It is less than [`RetentionPeriods::SHORTEST_FOR_AUDIT_EVENTS`].
    pub fn with_audit_events(self, period: TimeDelta) -> Result<Self, InvalidRetentionPeriod> {
        let audit_events = Some(at_least(Self::SHORTEST_FOR_AUDIT_EVENTS, period)?);
        Ok(Self { audit_events, ..self })
    }

    /// How long dead keys stay.
    #[must_use]
    pub const fn dead_keys(&self) -> TimeDelta {
        self.dead_keys
    }

    /// How long ended invitations stay.
    #[must_use]
    pub const fn ended_invitations(&self) -> TimeDelta {
        self.ended_invitations
    }

    /// How long expired sessions stay.
    #[must_use]
    pub const fn expired_sessions(&self) -> TimeDelta {
        self.expired_sessions
    }

    /// How long audit events stay; for ever if none.
    #[must_use]
    pub const fn audit_events(&self) -> Option<TimeDelta> {
        self.audit_events
    }
}

fn at_least(shortest: TimeDelta, period: TimeDelta) -> Result<TimeDelta, InvalidRetentionPeriod> {
    if period < shortest {
        Err(InvalidRetentionPeriod { shortest })
    } else {
        Ok(period)
    }
}

/// A period that is too short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected at least {} days", shortest.num_days())]
pub struct InvalidRetentionPeriod {
    /// The shortest that is possible.
    pub shortest: TimeDelta,
}

const _: () = assert!(
    RetentionPeriods::SHORTEST_FOR_WHAT_FORMS_MAKE.num_seconds() > Session::ABSOLUTE.num_seconds(),
    "whoever sends a form again has had to sign in again since what it made ended"
);
