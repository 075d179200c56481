//! The holder of keys: a consumer that acts on its own keys, signed in to the console or through one of these
//! keys.

use crate::api_key::Origin;
use crate::audit::{Act, Actor, RequestSource};
use crate::id::{ApiKeyId, MembershipId, OrganizationId, UserId};
use crate::sources::Sources;
use crate::user::Username;

/// The identity a key acts as: exactly one membership, named by its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumer {
    /// The membership's identifier.
    pub id: MembershipId,
    /// The account behind the membership.
    pub user_id: UserId,
    /// The member's username.
    pub username: Username,
}

/// A consumer that acts on its own keys, and how it acts.
///
/// There are two ways to create one, so a key has exactly two possible origins: a person signed in to the
/// console ([`Member::as_holder`](crate::membership::Member::as_holder)), or a valid key
/// ([`Caller::as_holder`](crate::access::Caller::as_holder)). A holder never reaches another consumer's keys;
/// through a key that may not manage keys, it reaches only that key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub(crate) consumer: Consumer,
    pub(crate) organization_id: OrganizationId,
    pub(crate) acts_through: Origin,
    pub(crate) reach: KeyReach,
}

/// Which of a consumer's keys a holder may see and change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyReach {
    /// All keys of the consumer; the holder may create more.
    All,
    /// Only the key through which the holder acts. Other keys are treated as if they did not exist.
    Only(ApiKeyId),
}

impl KeyReach {
    /// The reach of a holder that acts through this key.
    #[must_use]
    pub const fn of_key(id: ApiKeyId, can_manage_keys: bool) -> Self {
        if can_manage_keys {
            Self::All
        } else {
            Self::Only(id)
        }
    }

    /// Whether this key is within reach.
    #[must_use]
    pub fn includes(self, id: ApiKeyId) -> bool {
        match self {
            Self::All => true,
            Self::Only(key) => key == id,
        }
    }
}

impl Holder {
    /// The consumer of the keys.
    pub const fn consumer(&self) -> &Consumer {
        &self.consumer
    }

    /// The consumer's organization.
    pub const fn organization_id(&self) -> OrganizationId {
        self.organization_id
    }

    /// The origin of the keys that it creates: the signed-in user or the acting key.
    pub const fn acts_through(&self) -> Origin {
        self.acts_through
    }

    /// Which of the consumer's keys the holder may see and change. Only a holder that reaches all of them may
    /// create keys.
    pub const fn reach(&self) -> KeyReach {
        self.reach
    }

    /// The holder as the audit log names it.
    #[must_use]
    pub const fn as_actor(&self) -> Actor {
        match self.acts_through {
            Origin::Console(user) => Actor::User(user),
            Origin::Key(key) => Actor::ApiKey(key),
        }
    }

    /// The holder acts now, in their organization.
    pub(crate) fn act(&self, sources: &Sources, source: RequestSource) -> Act {
        sources.act(self.as_actor(), source).within(self.organization_id)
    }
}
