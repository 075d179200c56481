//! What is stored of a user who signs in.

use crate::sign_in::password::PasswordHash;
use crate::user::User;

/// A user and what their password is checked against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Who signs in with it.
    pub user: User,
    /// The hash of their password.
    pub password_hash: PasswordHash,
}
