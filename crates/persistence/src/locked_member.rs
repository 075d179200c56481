//! Members whose organization a change has locked.

use keyward_domain::id::{MembershipId, OrganizationId, UserId};
use keyward_domain::membership::Membership;
use keyward_domain::validity::End;
use uuid::Uuid;

use crate::columns::StoredId;

/// A member whose organization this transaction has locked.
#[derive(Clone, Copy)]
pub(crate) struct LockedMember {
    pub(crate) id: MembershipId,
    pub(crate) organization: OrganizationId,
    pub(crate) user: UserId,
}

impl LockedMember {
    pub(crate) fn stored_id(&self) -> StoredId {
        StoredId(self.id.as_uuid())
    }

    /// By whom their invitations are stored, and in which organization.
    pub(crate) fn as_inviter(&self) -> (Uuid, Uuid) {
        (self.organization.as_uuid(), self.user.as_uuid())
    }
}

/// A member whose planned end has come and is not recorded, locked in the same way.
#[derive(Clone, Copy)]
pub(crate) struct DueMember {
    pub(crate) member: LockedMember,
    pub(crate) planned: Option<End>,
}

impl From<&Membership> for DueMember {
    fn from(membership: &Membership) -> Self {
        Self {
            member: LockedMember {
                id: membership.id,
                organization: membership.organization_id,
                user: membership.user_id,
            },
            planned: membership.end,
        }
    }
}
