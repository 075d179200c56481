//! A live member, as far as a change needs them.

use keyward_domain::id::{MembershipId, UserId};
use keyward_domain::membership::Role;
use keyward_domain::ports::StorageError;

use crate::stored_row::StoredRow;

/// A live member of an organization.
pub(crate) struct LiveMember {
    pub(crate) user: UserId,
    /// The stored word for the role.
    pub(crate) role: String,
}

impl LiveMember {
    pub(crate) fn role(&self, id: MembershipId) -> Result<Role, StorageError> {
        StoredRow::new("memberships", id.as_uuid()).word("role", Role::from_word(&self.role))
    }
}
