//! How refused attempts at passwords are told: to whoever runs the installation, and to the owners of the organizations
//! that the user belongs to.
//!
//! They are told beside the answer, which does not wait for it: whether an event is written, in how many logs, or none
//! because its limit is reached, would tell by its time who exists.
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

/// An attempt that was refused.
#[derive(Debug, Clone)]
pub struct Refusal {
    act: Act,
    action: Action,
    user: Option<UserId>,
    limits: Vec<ThrottleBucket>,
}

impl Refusal {
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

/// Where refusals are left, to be told soon.
pub trait RefusalNotes: Send + Sync {
    /// Leaves one, without waiting for anything. MUST see to it that [`RefusalWriter::write`] gets it, unless so many were
    /// left of late that it would be beyond its [limits](Refusal::limits). One that may have been written is not written
    /// again.
    fn note(&self, refusal: Refusal);
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

    /// Tells of a refusal, unless its limit is reached.
    ///
    /// # Errors
    /// The store failed; then it is not told.
    pub async fn write(&self, refusal: Refusal) -> Result<(), StorageError> {
        let Refusal {
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
            .in_logs_of(organizations)
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
