//! The menu in the header of every page for who is signed in.

use keyward_domain::organization::Organization;
use keyward_domain::user::User;

use crate::links::Link;

/// Who is signed in, and where they can go.
pub(super) struct UserMenu {
    pub(super) username: String,
    pub(super) display_name: String,
    /// Where the viewer can switch to; empty if there is no other organization.
    pub(super) other_organizations: Vec<Link>,
}

impl UserMenu {
    pub(super) fn new<'a>(user: &User, others: impl Iterator<Item = &'a Organization>) -> Self {
        Self {
            username: user.username.to_string(),
            display_name: user.display_name.to_string(),
            other_organizations: others.map(Link::to_keys_in).collect(),
        }
    }
}
