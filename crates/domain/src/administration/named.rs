//! What people call things.

use crate::token::TokenHint;
use crate::user::Username;

/// What a subject is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The name of an organization, a key or a project; the display name of a user, or of the user of a
    /// membership; whom an invitation is for.
    pub name: String,
    /// Of users and memberships, since a display name is chosen freely and may be the same as somebody
    /// else's.
    pub username: Option<Username>,
    /// Of keys, since a name is chosen freely, and a rotated key has the name of its successor.
    pub hint: Option<TokenHint>,
}
