//! Members whose organization a change has locked.

use keyward_domain::id::{MembershipId, OrganizationId, UserId};
use keyward_domain::membership::Membership;
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

impl From<&Membership> for LockedMember {
    fn from(membership: &Membership) -> Self {
        Self {
            id: membership.id,
            organization: membership.organization_id,
            user: membership.user_id,
        }
    }
}

impl From<(StoredId, StoredId, StoredId)> for LockedMember {
    fn from((id, organization, user): (StoredId, StoredId, StoredId)) -> Self {
        Self {
            id: MembershipId::from_uuid(id.0),
            organization: OrganizationId::from_uuid(organization.0),
            user: UserId::from_uuid(user.0),
        }
    }
}
