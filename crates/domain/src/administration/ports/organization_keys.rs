//! The store of keys, as an organization's owners see them.

use std::num::NonZeroU32;

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::administration::ports::SettledMoment;
use crate::api_key::{ApiKey, KeyDescription, KeyName, Origin, Revocation, RevocationNote, RevocationReason};
use crate::audit::Act;
use crate::id::{ApiKeyId, ConsumerId, OrganizationId};
use crate::membership::Membership;
use crate::page::{Page, PageRequest};
use crate::ports::{DescendantKeys, StatusFilter, StorageError, search_term};
use crate::shortened_address::ShortenedAddress;
use crate::token::TokenHint;
use crate::user::User;
use crate::validity::is_over;

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
        now: DateTime<Utc>,
    ) -> Result<Page<HeldKey, ApiKeyId>, StorageError>;

    /// One key, in whatever state.
    async fn find(&self, organization: OrganizationId, id: ApiKeyId)
    -> Result<Option<HeldKey>, StorageError>;

    /// Those of these keys that are the organization's, in whatever state and order, each once.
    async fn find_many(
        &self,
        organization: OrganizationId,
        ids: &[ApiKeyId],
    ) -> Result<Vec<HeldKey>, StorageError>;

    /// The key, its ancestors that are kept, and the descendants of these, by rising identifier. Nothing for a key that
    /// does not exist.
    ///
    /// Of ancestors, only the nearest that the size has room for, and of descendants only those of the uppermost of
    /// these. If that is more than the size has room for, it is, in this order: the key and these ancestors; valid
    /// descendants; what these came from; other descendants, whichever the store comes upon first. MUST say whether
    /// anything was left out, and MUST NOT take the longer the more of them there are: whoever creates and revokes keys
    /// all day has a family without bound.
    async fn family(
        &self,
        organization: OrganizationId,
        id: ApiKeyId,
        size: FamilySize,
        now: DateTime<Utc>,
    ) -> Result<KeyFamily, StorageError>;

    /// What [`OrganizationKeyStore::revoke`] would revoke now. Of the selected keys, and of what came from them, the first
    /// [`KeysAtStake::SHOWN`] by [`ApiKey::search_text`], which begins with the name, and where that is the same by rising
    /// identifier.
    async fn at_stake(
        &self,
        organization: OrganizationId,
        selection: KeySelection,
        now: DateTime<Utc>,
    ) -> Result<AtStake, StorageError>;

    /// Revokes the first of the selected keys that are valid, by rising identifier, and returns them. Selected keys that
    /// the organization does not have are passed over.
    ///
    /// There may be hundreds of thousands, more than one transaction can end before others have waited too long. So it is
    /// at most so many at once, and whoever asks again goes on; in between, others change the organization. Each portion
    /// is one atomic fact, with a check of its own that who acts still may, and an act and events of its own. MUST return
    /// fewer than so many only if no other selected key is valid then.
    ///
    /// The rest is as [`ApiKeys::revoke`](crate::ports::ApiKeys::revoke) says: one event for each revoked key, the act's
    /// moment and actor, and none of them accepted once it returns.
    async fn revoke(
        &self,
        organization: OrganizationId,
        selection: KeySelection,
        at_most: NonZeroU32,
        reason: RevocationReason,
        note: Option<RevocationNote>,
        act: Act,
    ) -> Result<Vec<ApiKeyId>, RevokeKeysError>;
}

/// A key, as far as owners may see it, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldKey {
    /// Its identifier.
    pub id: ApiKeyId,
    /// What people recognize its token by.
    pub hint: TokenHint,
    /// Its name.
    pub name: KeyName,
    /// What it is for, in the holder's words.
    pub description: KeyDescription,
    /// How it came to be.
    pub origin: Origin,
    /// See [`ApiKey::next_above`].
    pub next_above: Option<ApiKeyId>,
    /// See [`ApiKey::can_manage_keys`].
    pub can_manage_keys: bool,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// Its revocation, which may lie ahead: see [`HeldKey::revoked`].
    pub revocation: Option<Revocation>,
    /// Its last use, if it was ever used.
    pub last_use: Option<HeldKeyUse>,
    /// Whose it is.
    pub holder: KeyHolder,
}

/// The last use of a key, as far as owners may see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldKeyUse {
    /// When.
    pub at: DateTime<Utc>,
    /// Roughly from where.
    pub from: Option<ShortenedAddress>,
}

/// Whose key it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyHolder {
    /// The user.
    pub user: User,
    /// The membership, which may have ended.
    pub membership: Membership,
}

impl HeldKey {
    /// Leaves out what owners may not see.
    #[must_use]
    pub fn new(key: ApiKey, holder: KeyHolder) -> Self {
        Self {
            next_above: key.next_above(),
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

/// How much of a family is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FamilySize {
    /// The most ancestors of the key that was asked for; fewer than the keys.
    pub ancestors: u16,
    /// The most keys in all.
    pub keys: u16,
}

impl FamilySize {
    /// What a person can still look at.
    pub const DEFAULT: Self = Self {
        ancestors: 100,
        keys: 500,
    };
}

/// A key among those that it came from and that came from these.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyFamily {
    /// By rising identifier.
    pub keys: Vec<HeldKey>,
    /// Others are left out.
    pub has_more: bool,
}

/// Which keys of an organization a list shows. What is absent does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrganizationKeyFilter {
    /// Keys of which state.
    pub status: StatusFilter,
    /// Only this consumer's.
    pub consumer: Option<ConsumerId>,
    /// Whose membership is how.
    pub holders: HolderFilter,
    /// Only valid keys that were created before this moment and not used since.
    pub unused_since: Option<DateTime<Utc>>,
    term: Option<String>,
}

/// Whose keys a list shows. Those of former members give no access, whatever their state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HolderFilter {
    /// Everybody's.
    #[default]
    Anybody,
    /// Those of live members.
    Members,
    /// Those of whose membership has ended.
    FormerMembers,
}

impl HolderFilter {
    /// Whether keys of this membership pass at this moment.
    #[must_use]
    pub fn accepts(self, membership: &Membership, now: DateTime<Utc>) -> bool {
        match self {
            Self::Anybody => true,
            Self::Members => membership.is_live(now),
            Self::FormerMembers => !membership.is_live(now),
        }
    }
}

impl OrganizationKeyFilter {
    /// Keys of which [`ApiKey::search_text`] or the holder's [`User::search_text`] contains the [term](search_term). An
    /// empty term finds all.
    #[must_use]
    pub fn new(status: StatusFilter, search: Option<&str>) -> Self {
        Self {
            status,
            term: search.and_then(search_term),
            ..Self::default()
        }
    }

    /// Of these, only the keys of one consumer.
    #[must_use]
    pub fn of_consumer(self, consumer: ConsumerId) -> Self {
        Self {
            consumer: Some(consumer),
            ..self
        }
    }

    /// Of these, only the keys of those whose membership is so.
    #[must_use]
    pub fn held_by(self, holders: HolderFilter) -> Self {
        Self { holders, ..self }
    }

    /// Of these, only valid keys that were created before this moment and not used since.
    #[must_use]
    pub fn unused_since(self, moment: DateTime<Utc>) -> Self {
        Self {
            unused_since: Some(moment),
            ..self
        }
    }

    /// What one of the two search texts must contain, literally; a store escapes its own wildcards.
    #[must_use]
    pub fn term(&self) -> Option<&str> {
        self.term.as_deref()
    }

    /// Whether a key of this holder passes at this moment.
    #[must_use]
    pub fn accepts(&self, key: &ApiKey, holder: &KeyHolder, now: DateTime<Utc>) -> bool {
        let has_status = self.status.accepts(key, now);
        let is_consumers = self.consumer.is_none_or(|consumer| key.consumer_id == consumer);
        let is_unused = self.unused_since.is_none_or(|since| {
            key.is_valid(now) && key.created_at < since && key.last_use.is_none_or(|last| last.at < since)
        });
        let is_found = self
            .term()
            .is_none_or(|term| key.search_text().contains(term) || holder.user.search_text().contains(term));
        has_status && is_consumers && self.holders.accepts(&holder.membership, now) && is_unused && is_found
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
    /// All that were created before this moment. It MUST be settled: a store cannot see keys that are on their way.
    IssuedBefore(SettledMoment),
}

/// What a revocation would end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AtStake {
    /// Of the keys that were selected.
    pub selected: KeysAtStake,
    /// Of the other keys, those that came from these; nothing unless the selection means them, too.
    pub descendants: KeysAtStake,
}

/// Some of what a revocation would end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeysAtStake {
    /// How many valid keys.
    pub keys: u32,
    /// How many of them give no access any more, because their holders have left.
    pub without_access: u32,
    /// Of how many consumers.
    pub holders: u32,
    /// The first of the keys.
    pub first: Vec<HeldKey>,
}

impl KeysAtStake {
    /// The most keys that are shown.
    pub const SHOWN: usize = 20;
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
