//! Credentials as stored, and authenticated callers.

use chrono::{DateTime, Utc};

use crate::api_key::Origin;
use crate::holder::{Consumer, Holder, KeyReach};
use crate::id::{ApiKeyId, OrganizationId};
use crate::organization::{OrganizationName, Slug};
use crate::validity::{End, is_over, is_soon};

/// Everything that decides about a token, read from one snapshot. Only
/// [`Authenticate`](crate::access::Authenticate) converts it to a [`Caller`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// The key whose digest was looked for.
    pub api_key: CallingKey,
    /// The identity it acts as.
    pub consumer: Consumer,
    /// The consumer's organization.
    pub organization: CallerOrganization,
    /// The end of the key, if it has one.
    pub key_end: Option<End>,
    /// The end of the consumer's membership, if it has one.
    pub membership_end: Option<End>,
}

impl Credential {
    /// A key authenticates only while it is valid and its membership is live.
    #[must_use]
    pub fn is_accepted(&self, now: DateTime<Utc>) -> bool {
        !is_over(self.key_end, now) && !is_over(self.membership_end, now)
    }

    /// Whether it is recorded that the key or the membership has ended: then no moment accepts it.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        matches!(self.key_end, Some(End::Come(_))) || matches!(self.membership_end, Some(End::Come(_)))
    }

    /// The caller, if the credential is accepted at this time.
    pub(crate) fn into_caller(self, now: DateTime<Utc>) -> Option<Caller> {
        self.is_accepted(now).then_some(Caller {
            credential: self,
            accepted_at: now,
        })
    }
}

/// A key that sends a request, and whom it acts as. It was accepted:
/// [`Authenticate::caller`](crate::access::Authenticate::caller) is the only way to one.
///
/// ```compile_fail,E0451
/// use chrono::{DateTime, Utc};
/// use keyward_domain::access::{Caller, Credential};
///
/// fn forged(credential: Credential, accepted_at: DateTime<Utc>) -> Caller {
///     Caller { credential, accepted_at }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    credential: Credential,
    accepted_at: DateTime<Utc>,
}

/// The facts about the calling key that any response may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallingKey {
    /// The key's identifier.
    pub id: ApiKeyId,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// Whether it may create keys, and see and change the other keys of its consumer.
    pub can_manage_keys: bool,
}

/// The facts about the caller's organization that any response may contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerOrganization {
    /// The organization's identifier.
    pub id: OrganizationId,
    /// Its name in URLs.
    pub slug: Slug,
    /// The organization's name.
    pub name: OrganizationName,
}

impl Caller {
    /// When the key was accepted; the response is evaluated at this time.
    pub const fn accepted_at(&self) -> DateTime<Utc> {
        self.accepted_at
    }

    /// The planned end of the key or of its membership, whichever comes first. Without one, the key is
    /// accepted until it is revoked or its user leaves, which either may come earlier.
    pub fn accepted_until(&self) -> Option<DateTime<Utc>> {
        let ends = [self.credential.key_end, self.credential.membership_end];
        ends.into_iter().flatten().map(End::at).min()
    }

    /// Whether the planned end of the membership is at most seven days ahead: then all keys of the consumer
    /// stop working.
    #[must_use]
    pub fn membership_expires_soon(&self) -> bool {
        is_soon(self.credential.membership_end.map(End::at), self.accepted_at)
    }

    /// The key that the request came with.
    pub const fn api_key(&self) -> CallingKey {
        self.credential.api_key
    }

    /// The identity it acts as.
    pub const fn consumer(&self) -> &Consumer {
        &self.credential.consumer
    }

    /// The consumer's organization.
    pub const fn organization(&self) -> &CallerOrganization {
        &self.credential.organization
    }

    /// The caller as holder of its consumer's keys, acting through the key of this request.
    #[must_use]
    pub fn as_holder(&self) -> Holder {
        let key = self.api_key();
        Holder {
            consumer: self.consumer().clone(),
            organization_id: self.organization().id,
            acts_through: Origin::Key(key.id),
            reach: KeyReach::of_key(key.id, key.can_manage_keys),
        }
    }
}
