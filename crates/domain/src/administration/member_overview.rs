//! Members as owners look for and see them.

use crate::id::MembershipId;
use crate::membership::Membership;
use crate::text::{is_named, search_term};
use crate::user::{User, Username};

/// How a live member of an organization is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhichMember {
    /// The membership of a former member is not found, even if they joined again.
    Id(MembershipId),
    /// By the whole name that they sign in with.
    Username(Username),
}

/// A user as a member of one organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberProfile {
    /// The account, which may belong to other organizations, too.
    pub user: User,
    /// The membership, which may have ended.
    pub membership: Membership,
}

/// A live member, as a list of members shows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberOverview {
    /// The account, which may belong to other organizations, too.
    pub user: User,
    /// Live at the moment that was asked about.
    pub membership: Membership,
    /// How many valid keys they have.
    pub valid_keys: u32,
    /// How many projects that are not archived they are in.
    pub projects: u32,
}

/// The valid keys of a member, who may leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeavingPreview<Key> {
    /// How many there are.
    pub keys: u32,
    /// How many of them were used after the moment that was asked about.
    pub recently_used: u32,
    /// The first [`LeavingPreview::SHOWN`] of them, in descending order of last use and then of identifier.
    /// Keys that were never used come last.
    pub first: Vec<Key>,
}

impl<Key> LeavingPreview<Key> {
    /// The most keys that are shown.
    pub const SHOWN: usize = 50;
}

/// Which members a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberFilter {
    term: Option<String>,
    name: Option<String>,
}

impl MemberFilter {
    /// Members whose folded username or display name contains the folded, trimmed term. An empty term finds
    /// all.
    #[must_use]
    pub fn new(search: Option<&str>) -> Self {
        let term = search.and_then(search_term);
        Self { term, name: None }
    }

    /// Members with exactly this username or display name, folded and trimmed.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let name = search_term(name);
        Self { term: None, name }
    }

    /// A text that [`User::search_text`] must contain, literally; a store escapes its own wildcards.
    pub fn term(&self) -> Option<&str> {
        self.term.as_deref()
    }

    /// The text that must be the first or last line of [`User::search_text`].
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Whether a user passes.
    #[must_use]
    pub fn accepts(&self, user: &User) -> bool {
        self.term().is_none_or(|term| user.search_text().contains(term))
            && self.name().is_none_or(|name| is_named(&user.search_text(), name))
    }
}
