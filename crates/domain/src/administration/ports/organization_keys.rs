//! The store of keys, as an organization's owners see them.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::api_key::{ApiKey, RevocationReason};
use crate::audit::Act;
use crate::id::{ApiKeyId, ConsumerId, OrganizationId};
use crate::membership::Membership;
use crate::page::{Page, PageRequest};
use crate::ports::{DescendantKeys, StatusFilter, StorageError};
use crate::text::folded;
use crate::user::User;

/// Shows and revokes the keys of all consumers of an organization, former ones included.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait OrganizationKeyStore: Send + Sync {
    /// A page of the keys that pass the filter, by falling identifier.
    async fn list(
        &self,
        organization: OrganizationId,
        filter: OrganizationKeyFilter,
        page: PageRequest<ApiKeyId>,
    ) -> Result<Page<HeldKey, ApiKeyId>, StorageError>;

    /// The key, all its ancestors that are kept, and all descendants of these, by rising identifier. Nothing for a key
    /// that does not exist.
    async fn family(&self, organization: OrganizationId, id: ApiKeyId) -> Result<Vec<HeldKey>, StorageError>;

    /// Revokes the selected keys that are valid, and returns them. Selected keys that the organization does not have are
    /// passed over.
    ///
    /// The rest is as [`ApiKeys::revoke`](crate::ports::ApiKeys::revoke) says: one event for each revoked key, the act's
    /// moment and actor, and none of them accepted once it returns.
    async fn revoke(
        &self,
        organization: OrganizationId,
        selection: KeySelection,
        reason: RevocationReason,
        act: Act,
    ) -> Result<Vec<ApiKeyId>, RevokeKeysError>;
}

/// A key and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldKey {
    /// The key.
    pub key: ApiKey,
    /// Whose it is.
    pub holder: KeyHolder,
}

/// Whose key it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyHolder {
    /// The user.
    pub user: User,
    /// The membership, which may have ended.
    pub membership: Membership,
}

/// Which keys of an organization a list shows. What is absent does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrganizationKeyFilter {
    /// Keys of which state.
    pub status: StatusFilter,
    /// Only this consumer's.
    pub consumer: Option<ConsumerId>,
    term: Option<String>,
}

impl OrganizationKeyFilter {
    /// Keys of which [`ApiKey::search_text`] or the holder's [`User::search_text`] contains the folded, trimmed term. An
    /// empty term finds all.
    #[must_use]
    pub fn new(status: StatusFilter, search: Option<&str>) -> Self {
        let term = search
            .map(|term| folded(term.trim()))
            .filter(|term| !term.is_empty());
        Self {
            status,
            term,
            ..Self::default()
        }
    }

    /// What one of the two search texts must contain, literally; a store escapes its own wildcards.
    #[must_use]
    pub fn term(&self) -> Option<&str> {
        self.term.as_deref()
    }
}

/// Which keys to revoke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySelection {
    /// These.
    Keys {
        /// Which.
        ids: Vec<ApiKeyId>,
        /// And what came from them, or not.
        descendants: DescendantKeys,
    },
    /// All of one consumer.
    OfConsumer(ConsumerId),
    /// All that were created before this moment.
    IssuedBefore(DateTime<Utc>),
}

/// Why no keys were revoked.
#[derive(Debug, thiserror::Error)]
pub enum RevokeKeysError {
    /// Whoever acts is not an owner any more.
    #[error("only an owner may revoke other people's keys")]
    NotAllowed,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
