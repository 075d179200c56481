//! Retention: how long expired records are kept, and their purge after that.
//!
//! Dead keys, expired sessions, ended invitations and empty throttle buckets grant no access. They are kept
//! for a retention period, so that people can look at them, and then purged, so that the database does not
//! grow without bound. Audit events are kept for ever unless a period is configured. Organizations, users,
//! memberships and projects are never purged, because audit events refer to them.

mod clock_check;
mod periods;
pub mod ports;

use std::sync::Arc;

use chrono::{DateTime, NaiveTime, TimeDelta, Utc};

use crate::audit::{Action, Actor, AuditEvent, RequestSource, Subject};
use crate::idempotency_key::IdempotencyKey;
use crate::sources::Sources;
use crate::words::words;

pub use clock_check::{ClockDoubt, ClockWitnesses};
pub use periods::{InvalidRetentionPeriod, RetentionPeriods};
pub use ports::RetentionError;
use ports::RetentionStore;

words! {
    /// The classes of records that are purged after their retention period.
    RetentionClass {
        /// Keys that were revoked, or whose membership has ended.
        DeadKeys = "dead keys",
        /// Invitations that were accepted or revoked, or have expired.
        EndedInvitations = "ended invitations",
        /// Expired console sessions. Signing out deletes a session at once.
        ExpiredSessions = "expired sessions",
        /// Idempotency keys of requests, which what they created outlives.
        IdempotencyKeys = "idempotency keys",
        /// Throttle buckets that are empty again.
        EmptyThrottleBuckets = "empty throttle buckets",
        /// Audit events, if a period is configured for them.
        AuditEvents = "audit events",
    }
}

/// Purges expired records, in runs of many batches.
///
/// Any number of processes may purge at once.
#[derive(Clone)]
pub struct Retention {
    store: Arc<dyn RetentionStore>,
    sources: Sources,
    periods: RetentionPeriods,
}

impl Retention {
    /// The maximum number of records per batch: few enough that a request which has to wait for it waits
    /// briefly.
    pub const BATCH_SIZE: u32 = 500;

    /// How long an empty throttle bucket is kept, in case the clocks of replicas differ.
    const CLOCK_SKEW_ALLOWANCE: TimeDelta = TimeDelta::hours(1);

    /// The use case over these ports.
    #[must_use]
    pub fn new(store: Arc<dyn RetentionStore>, sources: Sources, periods: RetentionPeriods) -> Self {
        Self {
            store,
            sources,
            periods,
        }
    }

    /// Starts a run: checks the clock, and uses this time as the present for the whole run.
    ///
    /// # Errors
    /// See [`RetentionError`]: nothing is purged while the clock is in doubt.
    pub async fn begin(&self) -> Result<RetentionRun, RetentionError> {
        self.begin_by(self.sources.now(), false).await
    }

    /// Starts a run after an administrator has confirmed the clock, which is trusted from then on.
    ///
    /// # Errors
    /// See [`RetentionError`]: nothing is purged while two clocks differ.
    pub async fn begin_by_confirmed_clock(&self) -> Result<RetentionRun, RetentionError> {
        self.begin_by(self.sources.now(), true).await
    }

    async fn begin_by(&self, now: DateTime<Utc>, is_confirmed: bool) -> Result<RetentionRun, RetentionError> {
        match self.store.check_clock(now, is_confirmed).await? {
            Some(doubt) => Err(RetentionError::Clock(doubt)),
            None => Ok(RetentionRun {
                retention: self.clone(),
                now,
                event_is_written: false,
            }),
        }
    }
}

/// One run: purges everything whose retention period is over at its start.
pub struct RetentionRun {
    retention: Retention,
    now: DateTime<Utc>,
    event_is_written: bool,
}

impl RetentionRun {
    /// The cut-off time: records that ended before it are purged. `None` for a class that is kept for ever.
    #[must_use]
    pub fn cutoff(&self, kind: RetentionClass) -> Option<DateTime<Utc>> {
        let periods = &self.retention.periods;
        let period = match kind {
            RetentionClass::DeadKeys => Some(periods.dead_keys()),
            RetentionClass::EndedInvitations => Some(periods.ended_invitations()),
            RetentionClass::ExpiredSessions => Some(periods.expired_sessions()),
            RetentionClass::IdempotencyKeys => {
                Some(IdempotencyKey::REMEMBERED + Retention::CLOCK_SKEW_ALLOWANCE)
            }
            RetentionClass::EmptyThrottleBuckets => Some(Retention::CLOCK_SKEW_ALLOWANCE),
            RetentionClass::AuditEvents => periods.audit_events(),
        };
        let before = self.now.checked_sub_signed(period?)?;
        Some(match kind {
            RetentionClass::AuditEvents => start_of_day(before),
            RetentionClass::DeadKeys
            | RetentionClass::EndedInvitations
            | RetentionClass::ExpiredSessions
            | RetentionClass::IdempotencyKeys
            | RetentionClass::EmptyThrottleBuckets => before,
        })
    }

    /// Purges up to `at_most` records of a class and returns their number; 0 if none are left, or others hold
    /// them: those are left to the next run.
    ///
    /// # Errors
    /// See [`RetentionError`].
    pub async fn remove_batch(&mut self, kind: RetentionClass, at_most: u32) -> Result<u32, RetentionError> {
        let Some(before) = self.cutoff(kind) else {
            return Ok(0);
        };
        let store = &self.retention.store;
        let removed = match kind {
            RetentionClass::DeadKeys => store.remove_dead_keys(before, at_most).await?,
            RetentionClass::EndedInvitations => store.remove_ended_invitations(before, at_most).await?,
            RetentionClass::ExpiredSessions => store.remove_expired_sessions(before, at_most).await?,
            RetentionClass::IdempotencyKeys => store.forget_idempotency_keys(before, at_most).await?,
            RetentionClass::EmptyThrottleBuckets => {
                store.remove_empty_throttle_buckets(before, at_most).await?
            }
            RetentionClass::AuditEvents => {
                let event = (!self.event_is_written).then(|| self.event());
                let removed = store.remove_audit_events(before, at_most, event).await?;
                self.event_is_written |= removed > 0;
                removed
            }
        };
        Ok(removed)
    }

    /// The event of the run, which covers all its batches.
    fn event(&self) -> AuditEvent {
        let sources = &self.retention.sources;
        let act = sources.act_at(self.now, Actor::System, RequestSource::default());
        act.event(Action::RemoveAuditEvents, Subject::Installation)
    }
}

/// Audit events are purged by whole days, because each purge writes an event itself.
fn start_of_day(moment: DateTime<Utc>) -> DateTime<Utc> {
    moment.date_naive().and_time(NaiveTime::MIN).and_utc()
}
