//! Accounts, and the records that create them.

use crate::membership::Membership;
use crate::organization::Organization;
use crate::sign_in::password::PasswordHash;
use crate::sign_in::session::KeptSession;
use crate::user::User;

/// A user with the hash of their password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The user who signs in with it.
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
    /// The membership of an existing user as its owner.
    pub owner: Membership,
}

/// The records of the first-run setup.
#[derive(Debug, Clone)]
pub struct FirstOwner {
    /// The first organization of the installation.
    pub organization: Organization,
    /// The first user, who owns it.
    pub user: User,
    /// The user's membership as an owner.
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
