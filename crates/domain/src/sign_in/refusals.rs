//! Audit events of refused password attempts, in the logs of the installation and of the user's
//! organizations.
//!
//! They are written in the background, because the time to write events, which depends on the number of logs
//! and on limits, would reveal who exists.
//!
//! Each failed attempt would cause such events, so their number is limited:
//!
//! | refused | burst | then |
//! |---|---|---|
//! | wrong passwords of one user | 20 | one an hour |
//! | attempts at the password of one user that were not checked | 1 | one an hour |
//! | wrong current passwords of one user, who is signed in | 20 | one an hour |
//! | attempts at the current password of one user that were not checked | 1 | one an hour |
//! | unknown usernames and attempts from full addresses, together | 60 | one every ten minutes |
//!
//! For one user, these are at most 68 events on the first day and 48 on each day after it, and as many again
//! for the current password, in 1 + n logs if the user belongs to n organizations. Events of unknown
//! usernames and of addresses are only in the installation's log. Refusals over the limit are not recorded.

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

    /// The limits within which such refusals are recorded.
    pub fn limits(&self) -> &[ThrottleBucket] {
        &self.limits
    }
}

/// A queue of refused attempts to be recorded.
pub trait RefusalQueue: Send + Sync {
    /// Adds a refusal, without waiting for anything. [`RefusalWriter::write`] MUST get it later; the queue
    /// may drop it only if it exceeds its [limits](RefusedAttempt::limits). One that may have been written
    /// MUST NOT be written again.
    fn push(&self, refusal: RefusedAttempt);
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
    /// The store failed. Then it is not recorded.
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
