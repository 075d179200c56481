//! Members whom a change has locked.

use chrono::{DateTime, Utc};
use keyward_domain::id::{MembershipId, OrganizationId, UserId};
use keyward_domain::membership::{Membership, Role};
use keyward_domain::ports::StorageError;
use keyward_domain::validity::End;
use uuid::Uuid;

use crate::columns::{StoredId, StoredMoment};
use crate::stored_row::StoredRow;

/// A member whose organization this transaction has locked, and usually the membership, too: an invitation's
/// acceptance locks only the organization. The role and the end are parsed by whoever needs them: a planned end
/// is also recorded in a row in which they are unreadable.
pub(crate) struct LockedMember {
    pub(crate) id: MembershipId,
    pub(crate) organization: OrganizationId,
    pub(crate) user: UserId,
    role: String,
    ended_at: Option<StoredMoment>,
}

/// The identifier of a membership, its organization, its user, its role and its end.
pub(crate) type StoredLockedMember = (StoredId, StoredId, StoredId, String, Option<StoredMoment>);

impl LockedMember {
    pub(crate) fn stored_id(&self) -> StoredId {
        StoredId(self.id.as_uuid())
    }

    /// By whom their invitations are stored, and in which organization.
    pub(crate) fn as_inviter(&self) -> (Uuid, Uuid) {
        (self.organization.as_uuid(), self.user.as_uuid())
    }

    pub(crate) fn role(&self) -> Result<Role, StorageError> {
        self.row().word("role", Role::from_word(&self.role))
    }

    pub(crate) fn expires_at(&self) -> Result<Option<DateTime<Utc>>, StorageError> {
        self.row().moment_if_any("ended_at", self.ended_at)
    }

    /// The planned end, as the event of its coming has it.
    pub(crate) fn planned_end(&self) -> Option<End> {
        self.ended_at.and_then(StoredMoment::as_planned_end)
    }

    fn row(&self) -> StoredRow {
        StoredRow::new("memberships", self.id.as_uuid())
    }
}

impl From<StoredLockedMember> for LockedMember {
    fn from((id, organization, user, role, ended_at): StoredLockedMember) -> Self {
        Self {
            id: MembershipId::from_uuid(id.0),
            organization: OrganizationId::from_uuid(organization.0),
            user: UserId::from_uuid(user.0),
            role,
            ended_at,
        }
    }
}

impl From<&Membership> for LockedMember {
    fn from(membership: &Membership) -> Self {
        Self {
            id: membership.id,
            organization: membership.organization_id,
            user: membership.user_id,
            role: membership.role.as_str().to_owned(),
            ended_at: membership.end.map(|end| end.at().into()),
        }
    }
}
