//! The store of keys, as an organization's owners see them.

use std::num::NonZeroU32;

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::administration::held_key::{HeldKey, KeyTree, KeyTreeSize};
use crate::administration::key_selection::{
    KeySelection, PreviewedKeys, RevocationPreview, RevokedBatch, ShortenedBatch,
};
use crate::administration::organization_key_filter::OrganizationKeyFilter;
use crate::api_key::{LongestLife, RevocationNote, RevocationReason};
use crate::audit::Act;
use crate::id::{ApiKeyId, OrganizationId};
use crate::page::{Page, PageRequest};
use crate::ports::StorageError;

/// Shows and revokes the keys of all consumers of an organization, former ones included, and shortens the lives of those of
/// live ones.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait OrganizationKeyStore: Send + Sync {
    /// A page of the keys that pass the filter, by descending identifier.
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
    /// anything was left out, and MUST NOT take the longer the more of them there are: the number of revoked keys in a
    /// key tree is unbounded.
    async fn key_tree(
        &self,
        organization: OrganizationId,
        id: ApiKeyId,
        size: KeyTreeSize,
        now: DateTime<Utc>,
    ) -> Result<KeyTree, StorageError>;

    /// What [`OrganizationKeyStore::revoke`] would revoke now. Of the selected keys, and of what came from them, the first
    /// [`PreviewedKeys::SHOWN`] by [`ApiKey::search_text`], which begins with the name, and where that is the same by rising
    /// identifier.
    ///
    /// There may be hundreds of thousands. If there are more than [`PreviewedKeys::COUNTED`], MUST report on that many only,
    /// whichever the store reads first, and MUST NOT read all.
    ///
    /// [`PreviewedKeys::COUNTED`]: crate::administration::ports::PreviewedKeys::COUNTED
    /// [`PreviewedKeys::SHOWN`]: crate::administration::ports::PreviewedKeys::SHOWN
    /// [`ApiKey::search_text`]: crate::api_key::ApiKey::search_text
    async fn revocation_preview(
        &self,
        organization: OrganizationId,
        selection: KeySelection,
        now: DateTime<Utc>,
    ) -> Result<RevocationPreview, StorageError>;

    /// Revokes the first of the selected keys that are valid, the oldest first (by identifier or by creation), and returns
    /// them. Selected keys that the organization does not have are passed over.
    ///
    /// There may be hundreds of thousands of them, too many for one transaction without blocking others. So each call
    /// revokes at most `at_most` keys, and a repeated call continues; in between, other changes proceed. Each call is
    /// one atomic operation with its own authority check, act and events. Of the selected keys whose end is
    /// [due](crate::validity::End::is_due), MUST
    /// [record](crate::planned_ends::ports::PlannedEndStore::record_ends_of_keys) at most as many again, those that came
    /// earliest first: after the last batch, no server accepts any selected key, whatever its clock. MUST return
    /// [`RevokedBatch::is_last`] sooner or later.
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
    ) -> Result<RevokedBatch, RevokeKeysError>;

    /// The keys that [`OrganizationKeyStore::apply_longest_life`] would change now. The first
    /// [`PreviewedKeys::SHOWN_OF_SHORTENED`] are those that were used last, the latest first; those that never were come
    /// after them, and where that is the same, by rising identifier.
    ///
    /// If there are more than [`PreviewedKeys::COUNTED`], MUST report on that many only, whichever the store reads first.
    async fn longest_life_preview(
        &self,
        organization: OrganizationId,
        longest: LongestLife,
        now: DateTime<Utc>,
    ) -> Result<PreviewedKeys, StorageError>;

    /// Plans ends of keys that exist: for each valid key of a live membership, the one that
    /// [`ApiKey::end_by_longest_life`] tells, by the act's actor and with the reason `expired`. MUST leave all other keys
    /// as they are, so no end is put off, and a repeated call changes nothing more.
    /// Only keys with a greater identifier than `after` are changed.
    ///
    /// MUST refuse with `LimitChanged`, and change nothing, unless `longest` is the longest life that the organization has
    /// ([`OrganizationStore::limit_key_life`](crate::administration::ports::OrganizationStore::limit_key_life)) in the
    /// same transaction: nobody applies a limit that differs from the one they saw.
    ///
    /// There may be hundreds of thousands of keys. So each call changes at most `at_most` by rising identifier, as one atomic
    /// operation with its own authority check, act and events, and tells where another call
    /// [continues](ShortenedBatch::continues_after); in between, other changes proceed. MUST judge keys and authority by the
    /// moment at which it has its locks ([`Act::at_current_time`]): an end that came meanwhile is final, and nobody has less
    /// notice.
    ///
    /// MUST write, for each changed key, the event `act.edit_of_key(key, change)` with the ends before and after.
    ///
    /// [`ApiKey::end_by_longest_life`]: crate::api_key::ApiKey::end_by_longest_life
    async fn apply_longest_life(
        &self,
        organization: OrganizationId,
        longest: LongestLife,
        after: Option<ApiKeyId>,
        at_most: NonZeroU32,
        act: Act,
    ) -> Result<ShortenedBatch, ApplyLongestLifeError>;
}

/// Why a longest life was not applied to the keys that exist.
#[derive(Debug, thiserror::Error)]
pub enum ApplyLongestLifeError {
    /// Whoever acts is not an owner any more.
    #[error("only an owner may shorten the lives of other people's keys")]
    NotAllowed,
    /// The organization has another longest life by now, or none.
    #[error("the longest life of keys has changed")]
    LimitChanged,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
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
