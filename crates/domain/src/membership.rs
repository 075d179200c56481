//! Membership: one user's time in one organization, from joining until leaving or removal.

use chrono::{DateTime, Utc};

use crate::api_key::Origin;
use crate::audit::Actor;
use crate::authority::Authority;
use crate::holder::{Consumer, Holder, KeyReach};
use crate::id::{MembershipId, OrganizationId, UserId};
use crate::organization::Organization;
use crate::user::User;
use crate::validity::{End, is_over, is_soon, planned_end};
use crate::words::words;

/// One user's membership of one organization, from joining until leaving or removal.
///
/// It ends when the user leaves or is removed, and never resumes: a later invitation creates a new
/// membership, and the keys of the old one stay dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// Its identifier, which is also the `consumerId` of its keys.
    pub id: MembershipId,
    /// The organization, which never changes.
    pub organization_id: OrganizationId,
    /// The user, who never changes.
    pub user_id: UserId,
    /// With what rights in the console.
    pub role: Role,
    /// When it began.
    pub joined_at: DateTime<Utc>,
    /// Its end, if it has one; as late as
    /// [`MemberStore::end`](crate::administration::ports::MemberStore::end) says.
    pub end: Option<End>,
}

impl Membership {
    /// A membership that begins at this time.
    #[must_use]
    pub const fn begin(
        id: MembershipId,
        organization_id: OrganizationId,
        user_id: UserId,
        role: Role,
        joined_at: DateTime<Utc>,
    ) -> Self {
        Self {
            id,
            organization_id,
            user_id,
            role,
            joined_at,
            end: None,
        }
    }

    /// Whether the user runs the organization and no end of that is planned.
    ///
    /// An organization always has a permanent owner, so that planned ends cannot leave it without an owner.
    /// The last one can neither leave, be removed or become a plain member, nor get a planned end.
    #[must_use]
    pub fn is_permanent_owner(&self) -> bool {
        self.role == Role::Owner && self.end.is_none()
    }

    /// The planned end of a live membership; none for one that is over.
    #[must_use]
    pub fn expires_at(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        planned_end(self.end, now)
    }

    /// Whether the membership is live, and its planned end is at most seven days ahead.
    #[must_use]
    pub fn expires_soon(&self, now: DateTime<Utc>) -> bool {
        is_soon(self.expires_at(now), now)
    }

    /// Whether the user belongs to the organization at this moment.
    #[must_use]
    pub fn is_live(&self, now: DateTime<Utc>) -> bool {
        !is_over(self.end, now)
    }
}

words! {
    /// The rights of a member in the console. A role has no effect on API keys, which never administer.
    Role {
        /// Runs the organization.
        Owner = "owner",
        /// Creates and revokes their own keys, and sees their own projects.
        Member = "member",
    }
}

/// A signed-in user as a member of one organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The account, which may belong to other organizations, too.
    pub user: User,
    /// The member's rights are limited to it.
    pub organization: Organization,
    /// The live membership that joins them.
    pub membership: Membership,
}

impl Member {
    /// The member as holder of their own keys, signed in.
    #[must_use]
    pub fn as_holder(&self) -> Holder {
        Holder {
            consumer: Consumer {
                id: self.membership.id,
                user_id: self.user.id,
                username: self.user.username.clone(),
            },
            organization_id: self.organization.id,
            acts_through: Origin::Console(self.user.id),
            reach: KeyReach::All,
        }
    }

    /// The authority over the organization; `None` unless the member is an owner whose membership is live
    /// now.
    #[must_use]
    pub fn as_authority(&self, now: DateTime<Utc>) -> Option<Authority> {
        match self.membership.role {
            Role::Owner if self.membership.is_live(now) => Some(Authority {
                organization_id: self.organization.id,
                actor: Actor::User(self.user.id),
            }),
            Role::Owner | Role::Member => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::Role;
    use crate::clock::Clock;
    use crate::testing::TestInstallation;
    use crate::validity::End;

    #[test]
    fn owner_with_ended_membership_has_no_authority() {
        let installation = TestInstallation::new();
        let organization = installation.organization("Acme");
        let mut ada = installation.member(&organization, "ada", Role::Owner);
        let now = installation.builder.clock.now();
        assert!(ada.as_authority(now).is_some());
        ada.membership.end = Some(End::Planned(now + TimeDelta::milliseconds(1)));
        assert!(ada.as_authority(now).is_some());
        ada.membership.end = Some(End::Planned(now));
        assert!(ada.as_authority(now).is_none());
        let bob = installation.member(&organization, "bob", Role::Member);
        assert!(bob.as_authority(now).is_none());
    }
}
