//! What is stored of a user who signs in.

use crate::membership::Membership;
use crate::organization::Organization;
use crate::sign_in::password::PasswordHash;
use crate::sign_in::session::KeptSession;
use crate::user::User;

/// A user and what their password is checked against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Who signs in with it.
    pub user: User,
    /// A salted, slow hash in PHC string format; a change or reset of the password replaces it.
    pub password_hash: PasswordHash,
}

/// A user to be stored.
#[derive(Debug, Clone)]
pub struct NewAccount {
    /// The user with the hash of their first password.
    pub account: Account,
    /// The membership they begin with, in an organization that exists.
    pub membership: Membership,
}

/// An organization to be stored.
#[derive(Debug, Clone)]
pub struct NewOrganization {
    /// The organization, with the slug it would like to have.
    pub organization: Organization,
    /// What makes an existing user its owner.
    pub owner: Membership,
}

/// What sets up an installation that has no organization yet.
#[derive(Debug, Clone)]
pub struct FirstOwner {
    /// The first organization of the installation.
    pub organization: Organization,
    /// The first user, who owns it.
    pub user: User,
    /// What makes them owner.
    pub membership: Membership,
    /// The hash of their first password.
    pub password_hash: PasswordHash,
}

/// A user's new password.
#[derive(Debug, Clone)]
pub struct PasswordChange {
    /// The hash of the new password.
    pub password_hash: PasswordHash,
    /// The hash that the current password was verified against.
    pub verified_against: PasswordHash,
    /// The session in which they change it.
    pub keep: KeptSession,
}
