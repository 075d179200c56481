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
use crate::page::{Page, PageRequest, PageSize};
use crate::ports::StorageError;

/// Shows and revokes the keys of all consumers of an organization, former ones included, and shortens the
/// lives of the keys of live ones.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait OrganizationKeyStore: Send + Sync {
    /// A page of the keys that match the filter, by descending identifier. Among very many keys with similar
    /// names, a page of a filter by [name](OrganizationKeyFilter::name) may have fewer keys than its size,
    /// although it says that there are more.
    async fn list(
        &self,
        organization: OrganizationId,
        filter: OrganizationKeyFilter,
        page: PageRequest<ApiKeyId>,
        now: DateTime<Utc>,
    ) -> Result<Page<HeldKey, ApiKeyId>, StorageError>;

    /// One key, in any state.
    async fn find(&self, organization: OrganizationId, id: ApiKeyId)
    -> Result<Option<HeldKey>, StorageError>;

    /// Those of these keys that belong to the organization, in any state and order, each once.
    async fn find_many(
        &self,
        organization: OrganizationId,
        ids: &[ApiKeyId],
    ) -> Result<Vec<HeldKey>, StorageError>;

    /// Keys that were revoked because of a leak at this moment or later: at most one more than a page holds,
    /// which shows whether there are others. MUST NOT let one member's keys hide those of another: of each consumer, the
    /// key revoked last comes before the second-to-last of any consumer, and so on; of these, those revoked last come first, then those with lower identifiers.
    async fn leaked_since(
        &self,
        organization: OrganizationId,
        since: DateTime<Utc>,
        size: PageSize,
    ) -> Result<Vec<HeldKey>, StorageError>;

    /// The key, its stored ancestors, and their descendants, by rising identifier; empty for a key that does
    /// not exist.
    ///
    /// It has at most as many ancestors as `size` allows, the nearest ones, and the descendants of the
    /// uppermost of these. If these are more keys than `size` allows, keys are chosen in this order: the key
    /// and these ancestors; valid descendants; the ancestors of these; other descendants, in any order. MUST
    /// report whether keys were left out. Its cost MUST NOT grow with their number: the number of revoked
    /// keys in a key tree is unbounded.
    async fn key_tree(
        &self,
        organization: OrganizationId,
        id: ApiKeyId,
        size: KeyTreeSize,
        now: DateTime<Utc>,
    ) -> Result<KeyTree, StorageError>;

    /// What [`OrganizationKeyStore::revoke`] would revoke now. Of the selected keys, and of their
    /// descendants, the first [`PreviewedKeys::SHOWN`] by [`ApiKey::search_text`], which begins with the
    /// name, then by rising identifier.
    ///
    /// There may be hundreds of thousands. If there are more than [`PreviewedKeys::COUNTED`], MUST report on
    /// that many only, in the order in which the store reads them, and MUST NOT read all.
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

    /// Revokes the first of the selected keys that are valid, the oldest first (by identifier, or by when their
    /// key trees began), and returns them. Selected keys that the organization does not have are ignored.
    ///
    /// There may be hundreds of thousands of them, too many for one transaction without blocking others. So
    /// each call revokes at most `at_most` keys, and a repeated call continues; in between, other changes
    /// proceed. Each call is one atomic operation with its own authority check, act and events. Of the
    /// selected keys whose end is [due](crate::validity::End::is_due), MUST
    /// [record](crate::planned_ends::ports::PlannedEndStore::record_ends_of_keys) at most as many again, the
    /// earliest first: after the last batch, no server accepts any selected key, whatever its clock. Repeated
    /// calls MUST reach [`RevokedBatch::is_last`].
    ///
    /// Otherwise it is like [`ApiKeys::revoke`](crate::ports::ApiKeys::revoke): one event for each revoked
    /// key, the act's moment and actor, and no revoked key is accepted once it returns.
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
    /// [`PreviewedKeys::SHOWN_OF_SHORTENED`] are by last use, the latest first, with unused keys last, then
    /// by rising identifier.
    ///
    /// If there are more than [`PreviewedKeys::COUNTED`], MUST report on that many only, in the order in
    /// which the store reads them.
    async fn longest_life_preview(
        &self,
        organization: OrganizationId,
        longest: LongestLife,
        now: DateTime<Utc>,
    ) -> Result<PreviewedKeys, StorageError>;

    /// Plans ends of existing keys: for each valid key of a live membership, the one that
    /// [`ApiKey::end_by_longest_life`] returns, by the act's actor and with the reason `expired`. MUST leave
    /// all other keys unchanged, so that no end is postponed, and a repeated call changes nothing more. Only
    /// keys with a greater identifier than `after` are changed.
    ///
    /// MUST refuse with `LimitChanged`, and change nothing, unless `longest` is the longest life that the
    /// organization has
    /// ([`OrganizationStore::limit_key_life`](crate::administration::ports::OrganizationStore::limit_key_life))
    /// in the same transaction: an owner applies only the limit that they saw.
    ///
    /// There may be hundreds of thousands of keys. So each call changes at most `at_most` by rising
    /// identifier, as one atomic operation with its own authority check, act and events, and returns where
    /// another call [continues](ShortenedBatch::continues_after); in between, other changes proceed. MUST
    /// evaluate keys and authority at the moment at which it has its locks ([`Act::at_current_time`]): an end
    /// that came meanwhile is final, and no holder has less notice.
    ///
    /// MUST write, for each changed key, the event `act.edit_of_key(key, change)` with the ends before and
    /// after.
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
    /// The actor is not an owner any more.
    #[error("only an owner may apply a maximum lifetime to existing keys")]
    NotAllowed,
    /// The organization has another longest life by now, or none.
    #[error("the maximum lifetime of keys has changed")]
    LimitChanged,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why no keys were revoked.
#[derive(Debug, thiserror::Error)]
pub enum RevokeKeysError {
    /// The actor is not an owner any more.
    #[error("only an owner may revoke other people's keys")]
    NotAllowed,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
