//! How refused attempts at passwords are told: to whoever runs the installation, and to the owners of the organizations
//! that the user belongs to.
//!
//! Strangers bring these events about, so they are bounded. For one user, 20 wrong passwords at once and then
//! one an hour are told, and one attempt an hour that was not even checked: at most 68 events on the first day and 48 on
//! each one after it, in 1 + n logs if the user belongs to n organizations. Of usernames that nobody has and of addresses: 60 at once, then 144 a day, in the
//! installation's log. What is not told was one more of the same.

use std::sync::Arc;

use crate::audit::{Act, Action, AuditEvent, Subject};
use crate::id::{OrganizationId, UserId};
use crate::ports::{Memberships, StorageError};
use crate::sign_in::ports::LimitedAuditLog;
use crate::sign_in::throttle::{FewEvents, ThrottleBucket};

/// Writes refusals down.
#[derive(Clone)]
pub(super) struct Refusals {
    pub(super) audit_log: Arc<dyn LimitedAuditLog>,
    pub(super) memberships: Arc<dyn Memberships>,
}

impl Refusals {
    /// Tells of a password that was wrong, or of a username that nobody has, if `user` is none.
    pub(super) async fn wrong_password(
        &self,
        act: &Act,
        action: Action,
        user: Option<UserId>,
    ) -> Result<(), StorageError> {
        let limit = match user {
            Some(user) => ThrottleBucket::events(FewEvents::RefusalsOf(user)),
            None => ThrottleBucket::events(FewEvents::OfNobody),
        };
        self.record(act, action, user, vec![limit]).await
    }

    /// Tells that attempts at the password of a user are not checked any more, or of a username that nobody has.
    pub(super) async fn too_many(&self, act: &Act, user: Option<UserId>) -> Result<(), StorageError> {
        let limit = match user {
            Some(user) => ThrottleBucket::events(FewEvents::LimitsOf(user)),
            None => ThrottleBucket::events(FewEvents::OfNobody),
        };
        self.record(act, Action::LimitAttempts, user, vec![limit]).await
    }

    /// Tells that attempts from an address are not checked any more, whomever they are for.
    pub(super) async fn too_many_from(&self, act: &Act, full: ThrottleBucket) -> Result<(), StorageError> {
        let limits = vec![
            ThrottleBucket::events(FewEvents::LimitsBy(full)),
            ThrottleBucket::events(FewEvents::OfNobody),
        ];
        self.record(act, Action::LimitAttempts, None, limits).await
    }

    async fn record(
        &self,
        act: &Act,
        action: Action,
        user: Option<UserId>,
        limits: Vec<ThrottleBucket>,
    ) -> Result<(), StorageError> {
        // Asked for nobody, too: it takes as long.
        let organizations = self.organizations_of(user.unwrap_or(NOBODY)).await?;
        let tried = user.map_or(Subject::Installation, Subject::User);
        let events: Vec<AuditEvent> = act
            .in_logs_of(organizations)
            .iter()
            .map(|act| act.refusal(action, tried))
            .collect();
        self.audit_log.record_within(limits, events, act.at).await?;
        Ok(())
    }

    pub(super) async fn organizations_of(&self, user: UserId) -> Result<Vec<OrganizationId>, StorageError> {
        let members = self.memberships.list_live(user).await?;
        Ok(members.into_iter().map(|member| member.organization.id).collect())
    }
}

/// The identifier that no user has.
pub(super) const NOBODY: UserId = UserId::from_uuid(uuid::Uuid::nil());
