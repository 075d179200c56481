//! A live member, as far as a change needs them.

use chrono::{DateTime, Utc};
use keyward_domain::id::{MembershipId, UserId};
use keyward_domain::membership::Role;
use keyward_domain::ports::StorageError;

use crate::columns::StoredMoment;
use crate::stored_row::StoredRow;

/// A live member of an organization.
pub(crate) struct LiveMember {
    pub(crate) user: UserId,
    /// The stored word for the role.
    pub(crate) role: String,
    pub(crate) planned_end: Option<StoredMoment>,
}

impl LiveMember {
    pub(crate) fn role(&self, id: MembershipId) -> Result<Role, StorageError> {
        StoredRow::new("memberships", id.as_uuid()).word("role", Role::from_word(&self.role))
    }

    pub(crate) fn expires_at(&self, id: MembershipId) -> Result<Option<DateTime<Utc>>, StorageError> {
        StoredRow::new("memberships", id.as_uuid()).moment_if_any("ended_at", self.planned_end)
    }
}
