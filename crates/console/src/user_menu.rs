//! The menu in the header of every page for who is signed in.

use keyward_domain::organization::Organization;
use keyward_domain::user::User;

/// Who is signed in, and where they can go.
pub(crate) struct UserMenu {
    pub(crate) user: User,
    /// Where the viewer can switch to: all their organizations but the one that the page is of, if it is of one.
    pub(crate) organizations: Vec<Organization>,
}

impl UserMenu {
    pub(crate) fn new<'a>(user: &User, organizations: impl Iterator<Item = &'a Organization>) -> Self {
        Self {
            user: user.clone(),
            organizations: organizations.cloned().collect(),
        }
    }
}
