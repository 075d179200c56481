//! Members whom a change has locked.

use chrono::{DateTime, Utc};
use diesel::prelude::{Queryable, Selectable};
use keyward_domain::id::{OrganizationId, UserId};
use keyward_domain::membership::{Membership, Role};
use keyward_domain::ports::StorageError;
use keyward_domain::validity::End;
use uuid::Uuid;

use super::dialect::Database;
use super::schema::memberships;
use crate::columns::{StoredId, StoredMoment};
use crate::stored_row::StoredRow;

/// A member whose organization this transaction has locked, and usually the membership, too: an invitation's
/// acceptance locks only the organization. The role and the end are parsed only where they are needed, so
/// that a planned end can be recorded in a row in which they are unreadable.
#[derive(Queryable, Selectable)]
#[diesel(table_name = memberships, check_for_backend(Database))]
pub(crate) struct LockedMember {
    pub(crate) id: StoredId,
    organization_id: StoredId,
    user_id: StoredId,
    role: String,
    ended_at: Option<StoredMoment>,
}

impl LockedMember {
    pub(crate) fn organization(&self) -> OrganizationId {
        OrganizationId::from_uuid(self.organization_id.0)
    }

    pub(crate) fn user(&self) -> UserId {
        UserId::from_uuid(self.user_id.0)
    }

    /// The inviter and the organization of their invitations, as stored.
    pub(crate) fn as_inviter(&self) -> (Uuid, Uuid) {
        (self.organization_id.0, self.user_id.0)
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
        StoredRow::new("memberships", self.id.0)
    }
}

impl From<&Membership> for LockedMember {
    fn from(membership: &Membership) -> Self {
        Self {
            id: StoredId(membership.id.as_uuid()),
            organization_id: StoredId(membership.organization_id.as_uuid()),
            user_id: StoredId(membership.user_id.as_uuid()),
            role: membership.role.as_str().to_owned(),
            ended_at: membership.end.map(|end| end.at().into()),
        }
    }
}
