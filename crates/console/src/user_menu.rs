//! The menu in the header of every page for who is signed in.

use keyward_domain::organization::Organization;
use keyward_domain::user::User;

/// Who is signed in, and where they can go.
pub(crate) struct UserMenu {
    pub(crate) user: User,
    /// Where the viewer can switch to; empty if there is no other organization.
    pub(crate) other_organizations: Vec<Organization>,
}

impl UserMenu {
    pub(crate) fn new<'a>(user: &User, others: impl Iterator<Item = &'a Organization>) -> Self {
        Self {
            user: user.clone(),
            other_organizations: others.cloned().collect(),
        }
    }
}
