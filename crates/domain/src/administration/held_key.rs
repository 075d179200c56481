//! Keys as shown to owners.

use chrono::{DateTime, Utc};

use crate::api_key::{ApiKey, KeyDescription, KeyName, Origin, Revocation};
use crate::id::ApiKeyId;
use crate::membership::Membership;
use crate::shortened_address::ShortenedAddress;
use crate::token::TokenHint;
use crate::user::User;
use crate::validity::is_over;

/// A key as owners may see it, with its user and membership.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldKey {
    /// Rises with the time of creation (UUID version 7).
    pub id: ApiKeyId,
    /// What people recognize its token by.
    pub hint: TokenHint,
    /// As its holder calls it; names need not be unique.
    pub name: KeyName,
    /// What it is for, in the holder's words.
    pub description: KeyDescription,
    /// How it came to be.
    pub origin: Origin,
    /// The nearest key above it that is stored: see [`ApiKey::effective_parent`].
    pub effective_parent: Option<ApiKeyId>,
    /// Whether it may create, edit and revoke keys: see [`ApiKey::can_manage_keys`].
    pub can_manage_keys: bool,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// Its revocation, which may lie ahead: see [`HeldKey::revoked`].
    pub revocation: Option<Revocation>,
    /// Its last use, if it was ever used.
    pub last_use: Option<HeldKeyUse>,
    /// Whose it is.
    pub holder: HolderProfile,
}

/// The last use of a key as owners may see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldKeyUse {
    /// In UTC; the use of a key is written at most once a minute.
    pub at: DateTime<Utc>,
    /// Roughly from where.
    pub from: Option<ShortenedAddress>,
}

/// Whose key it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HolderProfile {
    /// Who holds it, also after they left the organization.
    pub user: User,
    /// The membership, which may have ended.
    pub membership: Membership,
}

impl HeldKey {
    /// Omits what owners may not see, and shortens the IP address.
    #[must_use]
    pub fn new(key: ApiKey, holder: HolderProfile) -> Self {
        Self {
            effective_parent: key.effective_parent(),
            can_manage_keys: key.can_manage_keys,
            id: key.id,
            hint: key.hint,
            name: key.name,
            description: key.description,
            origin: key.origin,
            created_at: key.created_at,
            revocation: key.revocation,
            last_use: key.last_use.map(|last| HeldKeyUse {
                at: last.at,
                from: last.from.map(ShortenedAddress::of),
            }),
            holder,
        }
    }

    /// Whether the key is not revoked at this moment. It gives access only while its holder's membership is live, too.
    #[must_use]
    pub fn is_valid(&self, now: DateTime<Utc>) -> bool {
        !is_over(self.revocation.as_ref().map(|revocation| revocation.end), now)
    }

    /// Its revocation, if that has come by this moment.
    #[must_use]
    pub fn revoked(&self, now: DateTime<Utc>) -> Option<&Revocation> {
        self.revocation
            .as_ref()
            .filter(|revocation| revocation.end.has_come(now))
    }

    /// The key that created this one, if a key did.
    #[must_use]
    pub const fn parent(&self) -> Option<ApiKeyId> {
        match self.origin {
            Origin::Console(_) => None,
            Origin::Key(parent) => Some(parent),
        }
    }
}

/// How much of a key tree is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyTreeSize {
    /// The most ancestors of the key that was asked for; fewer than the keys.
    pub ancestors: u16,
    /// The most keys in all.
    pub keys: u16,
}

impl KeyTreeSize {
    /// A size that fits on a page.
    pub const DEFAULT: Self = Self {
        ancestors: 100,
        keys: 500,
    };
}

/// A key with its ancestors and their descendants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyTree {
    /// By rising identifier.
    pub keys: Vec<HeldKey>,
    /// Whether keys were left out because of the size.
    pub has_more: bool,
}
