//! Audit events of refused password attempts, in the logs of the installation and of the user's organizations.
//!
//! They are written in the background, because the time to write events, which depends on the number of logs and on
//! limits, would reveal who exists.
//!
//! Strangers bring these events about, so they are bounded. For one user, 20 wrong passwords at once and then one an hour are
//! told, and one attempt an hour that was not even checked: at most 68 events on the first day and 48 on each one after it,
//! in 1 + n logs if the user belongs to n organizations. Of their current password, which only who is signed in as them can
//! guess, as many again. Of usernames that nobody has and of addresses: 60 at once, then 144 a day, in the installation's
//! log. What is not told was one more of the same.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::audit::{Act, Action, AuditEvent, Subject};
use crate::id::{OrganizationId, UserId};
use crate::ports::{Memberships, StorageError};
use crate::sign_in::ports::LimitedAuditLog;
use crate::sign_in::throttle::{EventLimit, ThrottleBucket};

/// A refused password attempt.
#[derive(Debug, Clone)]
pub struct RefusedAttempt {
    act: Act,
    action: Action,
    user: Option<UserId>,
    limits: Vec<ThrottleBucket>,
}

impl RefusedAttempt {
    /// An attempt at the password of the user, if there is one.
    #[must_use]
    pub fn new(act: Act, action: Action, user: Option<UserId>, limit: EventLimit) -> Self {
        Self {
            act,
            action,
            user,
            limits: limit.buckets(),
        }
    }

    /// What bounds how often such refusals are told.
    #[must_use]
    pub fn limits(&self) -> &[ThrottleBucket] {
        &self.limits
    }
}

/// A queue of refused attempts to be recorded.
pub trait RefusalNotes: Send + Sync {
    /// Leaves one, without waiting for anything. MUST see to it that [`RefusalWriter::write`] gets it, unless so many were
    /// left of late that it would be beyond its [limits](RefusedAttempt::limits). One that may have been written is not written
    /// again.
    fn note(&self, refusal: RefusedAttempt);
}

/// Writes refusals into the audit logs that they concern.
#[derive(Clone)]
pub struct RefusalWriter {
    audit_log: Arc<dyn LimitedAuditLog>,
    memberships: Arc<dyn Memberships>,
}

impl RefusalWriter {
    /// A writer over these ports.
    #[must_use]
    pub fn new(audit_log: Arc<dyn LimitedAuditLog>, memberships: Arc<dyn Memberships>) -> Self {
        Self {
            audit_log,
            memberships,
        }
    }

    /// Records a refused attempt, unless its limit is reached.
    ///
    /// # Errors
    /// The store failed; then it is not told.
    pub async fn write(&self, refusal: RefusedAttempt) -> Result<(), StorageError> {
        let RefusedAttempt {
            act,
            action,
            user,
            limits,
        } = refusal;
        let organizations = match user {
            Some(user) => organizations_of(&*self.memberships, user, act.at).await?,
            None => Vec::new(),
        };
        let tried = user.map_or(Subject::Installation, Subject::User);
        let events: Vec<AuditEvent> = act
            .for_organizations(organizations)
            .iter()
            .map(|act| act.refusal(action, tried))
            .collect();
        self.audit_log.record_within(limits, events, act.at).await?;
        Ok(())
    }
}

pub(super) async fn organizations_of(
    memberships: &dyn Memberships,
    user: UserId,
    now: DateTime<Utc>,
) -> Result<Vec<OrganizationId>, StorageError> {
    let members = memberships.list_live(user, now).await?;
    Ok(members.into_iter().map(|member| member.organization.id).collect())
}
