//! A new user, who is a member of one organization from the start.

use chrono::{DateTime, Utc};

use crate::audit::{Act, Action, AuditEvent, Subject};
use crate::id::OrganizationId;
use crate::membership::{Membership, Role};
use crate::sign_in::password::Password;
use crate::sources::Sources;
use crate::user::{DisplayName, User, Username};

/// The choices of a new user, or of an administrator for one.
#[derive(Debug)]
pub struct NewcomerChoices {
    /// Unique in the installation; never changes.
    pub username: Username,
    /// The name for people.
    pub display_name: DisplayName,
    /// The password of the new account.
    pub password: Password,
}

/// A user and the membership they begin with, at the same moment.
pub(super) struct Newcomer {
    pub(super) user: User,
    pub(super) membership: Membership,
}

impl Newcomer {
    pub(super) fn new(
        sources: &Sources,
        at: DateTime<Utc>,
        choices: NewcomerChoices,
        organization_id: OrganizationId,
        role: Role,
    ) -> Self {
        let user = User {
            id: sources.next_id(),
            username: choices.username,
            display_name: choices.display_name,
            created_at: at,
        };
        let membership = Membership::begin(sources.next_id(), organization_id, user.id, role, at);
        Self { user, membership }
    }

    pub(super) fn events(&self, act: &Act) -> [AuditEvent; 2] {
        [
            act.event(Action::CreateUser, Subject::User(self.user.id)),
            act.event(Action::CreateMembership, Subject::Membership(self.membership.id)),
        ]
    }
}
