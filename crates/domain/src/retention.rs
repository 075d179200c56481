//! Retention: how long what is over stays, and its removal after that.
//!
//! A key that is dead, a session that expired, an invitation that ended and a throttle bucket that ran empty give nobody
//! anything any more. They stay for a while, for people to look at, and then go, so that what is made and ended all the
//! time does not fill the database for ever. What happened stays in the audit log, for ever unless somebody says
//! otherwise. Organizations, users, memberships and projects stay: the audit log is about them.

mod clock_check;
mod periods;
pub mod ports;

use std::sync::Arc;

use chrono::{DateTime, NaiveTime, TimeDelta, Utc};

use crate::audit::{Action, Actor, AuditEvent, RequestSource, Subject};
use crate::sources::Sources;
use crate::words::words;

pub use clock_check::{ClockDoubt, ClockWitnesses};
pub use periods::{InvalidRetentionPeriod, RetentionPeriods};
pub use ports::RemoveOutlivedError;
use ports::RetentionStore;

words! {
    /// What goes once its time is over.
    Outlived {
        /// Keys that were revoked, or whose membership ended.
        DeadKeys = "dead keys",
        /// Invitations that were used or taken back, or expired.
        EndedInvitations = "ended invitations",
        /// Console sessions that expired. One that is signed out goes at once.
        ExpiredSessions = "expired sessions",
        /// Counts of attempts to sign in that ran empty.
        EmptyThrottleBuckets = "empty throttle buckets",
        /// Audit events.
        AuditEvents = "audit events",
    }
}

/// Removes what is kept no longer, run by run and portion by portion.
///
/// Any number of processes may do so at once.
#[derive(Clone)]
pub struct Retention {
    store: Arc<dyn RetentionStore>,
    sources: Sources,
    periods: RetentionPeriods,
}

impl Retention {
    /// The most that is removed at once: few enough that nobody has to wait for it.
    pub const PORTION: u32 = 500;

    /// How much longer than itself a throttle bucket stays, should the clocks of replicas differ.
    const CLOCKS_DIFFER: TimeDelta = TimeDelta::hours(1);

    /// The use case over these ports.
    #[must_use]
    pub fn new(store: Arc<dyn RetentionStore>, sources: Sources, periods: RetentionPeriods) -> Self {
        Self {
            store,
            sources,
            periods,
        }
    }

    /// Begins to remove: looks at the clock, and from here on everything is judged by this moment.
    ///
    /// # Errors
    /// See [`RemoveOutlivedError`]: nothing goes while the clock is in doubt.
    pub async fn begin(&self) -> Result<RetentionRun, RemoveOutlivedError> {
        self.begin_by(self.sources.now(), false).await
    }

    /// Likewise, after a person has said that the clock is right. It is believed from then on.
    ///
    /// # Errors
    /// See [`RemoveOutlivedError`]: nothing goes while two clocks tell different times.
    pub async fn begin_by_confirmed_clock(&self) -> Result<RetentionRun, RemoveOutlivedError> {
        self.begin_by(self.sources.now(), true).await
    }

    async fn begin_by(
        &self,
        now: DateTime<Utc>,
        is_confirmed: bool,
    ) -> Result<RetentionRun, RemoveOutlivedError> {
        match self.store.look_at_clock(now, is_confirmed).await? {
            Some(doubt) => Err(RemoveOutlivedError::Clock(doubt)),
            None => Ok(RetentionRun {
                retention: self.clone(),
                now,
                event_is_written: false,
            }),
        }
    }
}

/// One removal of everything whose time is over by a moment.
pub struct RetentionRun {
    retention: Retention,
    now: DateTime<Utc>,
    event_is_written: bool,
}

impl RetentionRun {
    /// What was over before this moment goes; nothing of a kind that stays for ever.
    #[must_use]
    pub fn goes_before(&self, kind: Outlived) -> Option<DateTime<Utc>> {
        let periods = &self.retention.periods;
        let period = match kind {
            Outlived::DeadKeys => Some(periods.dead_keys()),
            Outlived::EndedInvitations => Some(periods.ended_invitations()),
            Outlived::ExpiredSessions => Some(periods.expired_sessions()),
            Outlived::EmptyThrottleBuckets => Some(Retention::CLOCKS_DIFFER),
            Outlived::AuditEvents => periods.audit_events(),
        };
        let before = self.now.checked_sub_signed(period?)?;
        Some(match kind {
            Outlived::AuditEvents => start_of_day(before),
            Outlived::DeadKeys
            | Outlived::EndedInvitations
            | Outlived::ExpiredSessions
            | Outlived::EmptyThrottleBuckets => before,
        })
    }

    /// Removes at most so many things of a kind whose time is over, and says how many. None are left, or another process
    /// removes them, when it is 0.
    ///
    /// # Errors
    /// See [`RemoveOutlivedError`].
    pub async fn remove_some(&mut self, kind: Outlived, at_most: u32) -> Result<u32, RemoveOutlivedError> {
        let Some(before) = self.goes_before(kind) else {
            return Ok(0);
        };
        let store = &self.retention.store;
        let removed = match kind {
            Outlived::DeadKeys => store.remove_dead_keys(before, at_most).await?,
            Outlived::EndedInvitations => store.remove_ended_invitations(before, at_most).await?,
            Outlived::ExpiredSessions => store.remove_expired_sessions(before, at_most).await?,
            Outlived::EmptyThrottleBuckets => store.remove_empty_throttle_buckets(before, at_most).await?,
            Outlived::AuditEvents => {
                let event = (!self.event_is_written).then(|| self.event());
                let removed = store.remove_audit_events(before, at_most, event).await?;
                self.event_is_written |= removed > 0;
                removed
            }
        };
        Ok(removed)
    }

    /// One for all portions of the run.
    fn event(&self) -> AuditEvent {
        let sources = &self.retention.sources;
        let act = sources.act_at(self.now, Actor::Retention, RequestSource::default());
        act.event(Action::RemoveAuditEvents, Subject::Installation)
    }
}

/// Audit events go a day at a time: the removal is an event itself, and there should be few of them.
fn start_of_day(moment: DateTime<Utc>) -> DateTime<Utc> {
    moment.date_naive().and_time(NaiveTime::MIN).and_utc()
}
