//! Names of the subjects of audit events.

use crate::token::TokenHint;
use crate::user::Username;

/// The name of a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The name of an organization, a key or a project; the display name of a user, or of the user of a
    /// membership; the invitee of an invitation.
    pub name: String,
    /// Given for users and memberships, whose display names need not be unique.
    pub username: Option<Username>,
    /// Given for keys, whose names need not be unique: a rotated key has the name of its successor.
    pub hint: Option<TokenHint>,
}
