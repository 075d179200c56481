//! Retention: how long expired records are kept, and their purge after that.
//!
//! Dead keys, expired sessions, ended invitations and empty throttle buckets grant no access. They are kept
//! for a retention period, so that people can look at them, and then purged, so that the database does not
//! grow without bound. Audit events are kept for ever unless a period is configured. Organizations, users,
//! memberships and projects are never purged, because audit events refer to them.

mod clock_check;
mod periods;
pub mod ports;
mod surplus_keys;

use std::sync::Arc;

use chrono::{DateTime, NaiveTime, TimeDelta, Utc};

use crate::audit::{Action, Actor, AuditEvent, RequestSource, Subject};
use crate::id::MembershipId;
use crate::idempotency_key::IdempotencyKey;
use crate::ports::StorageError;
use crate::sources::Sources;
use crate::words::words;

pub use clock_check::{ClockDoubt, ClockWitnesses};
pub use periods::{InvalidRetentionPeriod, RetentionPeriods};
pub use ports::RetentionError;
use ports::RetentionStore;
pub use surplus_keys::SurplusKeys;

words! {
    /// The classes of records that are purged after their retention period.
    RetentionClass {
        /// Keys that were revoked, or whose membership has ended.
        DeadKeys = "dead keys",
        /// Ended keys of a membership beyond those that ended last: see [`Retention::MAX_ENDED_KEYS`].
        SurplusKeys = "surplus ended keys",
        /// Invitations that were accepted or revoked, or have expired.
        EndedInvitations = "ended invitations",
        /// Expired console sessions. Signing out deletes a session at once.
        ExpiredSessions = "expired sessions",
        /// Idempotency keys of requests, which are kept for less time than the created keys.
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

    /// How many ended keys of a membership are kept, those that ended last. Any others are removed before
    /// their retention period is over, but are kept as long as an idempotency key.
    ///
    /// One key can create and revoke about one key a second without end. In the 90 days for which ended keys
    /// are kept, these would take 70 to 140 GB, and fill the disk that all members share. 10,000 are more
    /// than people look through, and take 180 MB at most, besides those of the last day. The price is that a
    /// form of such a member that is sent again after more than a day may create a second key: see
    /// [`RetentionPeriods::MIN_FORM_RECORD_RETENTION`].
    pub const MAX_ENDED_KEYS: u32 = 10_000;

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
                reached: Reached::After(None),
                event_is_written: false,
            }),
        }
    }
}

/// One run: purges everything whose retention period is over at its start.
pub struct RetentionRun {
    retention: Retention,
    now: DateTime<Utc>,
    reached: Reached,
    event_is_written: bool,
}

/// How far a run has come through the memberships with surplus keys.
#[derive(Clone, Copy)]
enum Reached {
    At(MembershipId),
    After(Option<MembershipId>),
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
            // A request that is sent again must find the key that it created, or it would create another one.
            RetentionClass::SurplusKeys | RetentionClass::IdempotencyKeys => {
                Some(IdempotencyKey::REMEMBERED + Retention::CLOCK_SKEW_ALLOWANCE)
            }
            RetentionClass::EmptyThrottleBuckets => Some(Retention::CLOCK_SKEW_ALLOWANCE),
            RetentionClass::AuditEvents => periods.audit_events(),
        };
        let before = self.now.checked_sub_signed(period?)?;
        Some(match kind {
            RetentionClass::AuditEvents => start_of_day(before),
            RetentionClass::DeadKeys
            | RetentionClass::SurplusKeys
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
            RetentionClass::SurplusKeys => self.remove_surplus_keys(before, at_most).await?,
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

    /// After a batch of surplus keys failed: leaves the membership at which it did to the next run, so that the
    /// next batch begins after it. `false` if the batch failed at none.
    pub fn skip_failed_membership(&mut self, kind: RetentionClass) -> bool {
        match (kind, self.reached) {
            (RetentionClass::SurplusKeys, Reached::At(failed)) => {
                self.reached = Reached::After(Some(failed));
                true
            }
            _ => false,
        }
    }

    /// Goes through the memberships, and on to the next one when no more keys of the current one can be
    /// removed, or another server holds the advisory lock. So only the last batch is not full, unless the next
    /// one fails.
    async fn remove_surplus_keys(
        &mut self,
        before: DateTime<Utc>,
        at_most: u32,
    ) -> Result<u32, StorageError> {
        let mut removed = 0;
        while removed < at_most {
            match self.remove_next_surplus_keys(before, at_most - removed).await {
                Ok(Some(more)) => removed += more,
                Ok(None) => break,
                Err(error) if removed == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(removed)
    }

    /// `None` after the last membership.
    async fn remove_next_surplus_keys(
        &mut self,
        before: DateTime<Utc>,
        at_most: u32,
    ) -> Result<Option<u32>, StorageError> {
        let store = &self.retention.store;
        let kept = Retention::MAX_ENDED_KEYS;
        let consumer = match self.reached {
            Reached::At(consumer) => consumer,
            Reached::After(last) => match store.next_with_surplus_keys(last, kept).await? {
                Some(next) => next,
                None => return Ok(None),
            },
        };
        self.reached = Reached::At(consumer);
        let surplus = SurplusKeys {
            consumer,
            kept,
            before,
        };
        let removed = store.remove_surplus_keys(surplus, at_most).await?;
        if removed == 0 {
            self.reached = Reached::After(Some(consumer));
        }
        Ok(Some(removed))
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
