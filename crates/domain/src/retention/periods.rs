//! How long records are kept after their end, and how long at least.

use chrono::TimeDelta;

use crate::sign_in::session::Session;

/// How long records are kept after their end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionPeriods {
    dead_keys: TimeDelta,
    ended_invitations: TimeDelta,
    expired_sessions: TimeDelta,
    audit_events: Option<TimeDelta>,
}

impl Default for RetentionPeriods {
    /// Dead keys: 90 days. Ended invitations: 30 days. Expired sessions: 1 day. Audit events: for ever.
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
    /// The minimum for dead keys and ended invitations. It is longer than a session lives, because each
    /// record also prevents that the form which created it is submitted twice.
    pub const MIN_FORM_RECORD_RETENTION: TimeDelta = TimeDelta::days(15);
    /// The minimum for audit events.
    pub const MIN_AUDIT_EVENT_RETENTION: TimeDelta = TimeDelta::days(30);

    /// Sets the period for dead keys.
    ///
    /// # Errors
    /// It is less than [`RetentionPeriods::MIN_FORM_RECORD_RETENTION`].
    pub fn with_dead_keys(self, period: TimeDelta) -> Result<Self, InvalidRetentionPeriod> {
        let dead_keys = at_least(Self::MIN_FORM_RECORD_RETENTION, period)?;
        Ok(Self { dead_keys, ..self })
    }

    /// Sets the period for ended invitations.
    ///
    /// # Errors
    /// It is less than [`RetentionPeriods::MIN_FORM_RECORD_RETENTION`].
    pub fn with_ended_invitations(self, period: TimeDelta) -> Result<Self, InvalidRetentionPeriod> {
        let ended_invitations = at_least(Self::MIN_FORM_RECORD_RETENTION, period)?;
        Ok(Self {
            ended_invitations,
            ..self
        })
    }

    /// Sets the period for expired sessions.
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

    /// Sets a period for audit events, which are otherwise kept for ever.
    ///
    /// # Errors
    /// It is less than [`RetentionPeriods::MIN_AUDIT_EVENT_RETENTION`].
    pub fn with_audit_events(self, period: TimeDelta) -> Result<Self, InvalidRetentionPeriod> {
        let audit_events = Some(at_least(Self::MIN_AUDIT_EVENT_RETENTION, period)?);
        Ok(Self { audit_events, ..self })
    }

    /// Counted from [`ApiKey::dead_since`](crate::api_key::ApiKey::dead_since); 90 days unless set.
    pub const fn dead_keys(&self) -> TimeDelta {
        self.dead_keys
    }

    /// Counted from when the invitation was accepted or revoked, or expired; 30 days unless set.
    pub const fn ended_invitations(&self) -> TimeDelta {
        self.ended_invitations
    }

    /// Counted from the expiry of the session; one day unless set.
    pub const fn expired_sessions(&self) -> TimeDelta {
        self.expired_sessions
    }

    /// The period for audit events; `None` if they are kept for ever.
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

/// The period is shorter than the minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected at least {} days", shortest.num_days())]
pub struct InvalidRetentionPeriod {
    /// The shortest period that the class may have; its data would be missed earlier.
    pub shortest: TimeDelta,
}

const _: () = assert!(
    RetentionPeriods::MIN_FORM_RECORD_RETENTION.num_seconds() > Session::ABSOLUTE_TIMEOUT.num_seconds(),
    "a session ends before the records of its forms are purged"
);
