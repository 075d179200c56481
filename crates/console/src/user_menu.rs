//! The menu of a signed-in user in the header of every page.

use keyward_domain::organization::Organization;
use keyward_domain::user::User;

/// The signed-in user, and their organizations.
pub(crate) struct UserMenu {
    pub(crate) user: User,
    /// The organizations to which the viewer can switch: all of the viewer's but the one of the page, if it
    /// has one.
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
