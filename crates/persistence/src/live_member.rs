//! What a change needs to know of a live member.

use keyward_domain::id::{MembershipId, UserId};
use keyward_domain::membership::Role;
use keyward_domain::ports::StorageError;

use crate::stored_row::StoredRow;

/// A live member of an organization.
pub(crate) struct LiveMember {
    pub(crate) user: UserId,
    /// As it is stored.
    pub(crate) role: String,
}

impl LiveMember {
    pub(crate) fn role(&self, id: MembershipId) -> Result<Role, StorageError> {
        StoredRow::new("memberships", id.as_uuid()).word("role", Role::from_word(&self.role))
    }
}
