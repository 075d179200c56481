//! The holder of keys: a consumer, acting in person or through one of its keys.

use crate::api_key::Origin;
use crate::audit::Actor;
use crate::id::{ConsumerId, OrganizationId, UserId};
use crate::user::Username;

/// The identity a key acts as: exactly one membership, named by its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumer {
    /// The membership's identifier.
    pub id: ConsumerId,
    /// The member.
    pub user_id: UserId,
    /// The member's username.
    pub username: Username,
}

/// A consumer that acts on its own keys.
///
/// There are two ways to become one, so a key has exactly two possible origins: a person signed in to the console
/// ([`Member::as_holder`](crate::membership::Member::as_holder)), or a valid key
/// ([`Caller::as_holder`](crate::access::Caller::as_holder)). Nobody holds another consumer's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub(crate) consumer: Consumer,
    pub(crate) organization_id: OrganizationId,
    pub(crate) acts_through: Origin,
}

impl Holder {
    /// Whose keys these are.
    #[must_use]
    pub const fn consumer(&self) -> &Consumer {
        &self.consumer
    }

    /// The consumer's organization.
    #[must_use]
    pub const fn organization_id(&self) -> OrganizationId {
        self.organization_id
    }

    /// In person or through a key: what becomes the origin of the keys it creates.
    #[must_use]
    pub const fn acts_through(&self) -> Origin {
        self.acts_through
    }

    /// The holder as the audit log names it.
    #[must_use]
    pub const fn as_actor(&self) -> Actor {
        match self.acts_through {
            Origin::Console(user) => Actor::User(user),
            Origin::Key(key) => Actor::ApiKey(key),
        }
    }
}
