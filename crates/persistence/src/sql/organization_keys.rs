//! Keys of an organization, for its owners. Every statement names the organization.

mod key_tree;
mod list;
mod longest_life;
mod read;
mod revoke;
mod selection;
mod sources;

use std::num::NonZeroU32;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::administration::ports::{
    ApplyLongestLifeError, HeldKey, KeySelection, KeyTree, KeyTreeSize, OrganizationKeyFilter,
    OrganizationKeyStore, PreviewedKeys, RevocationPreview, RevokeKeysError, RevokedBatch, ShortenedBatch,
};
use keyward_domain::api_key::{LongestLife, RevocationNote, RevocationReason};
use keyward_domain::audit::Act;
use keyward_domain::id::{ApiKeyId, OrganizationId};
use keyward_domain::page::{Page, PageRequest, PageSize};
use keyward_domain::ports::StorageError;

use uuid::Uuid;

use super::dialect::{Store, leaked_keys};
use crate::claim::Claim;
use crate::limit::one_more;

#[async_trait]
impl OrganizationKeyStore for Store {
    async fn list(
        &self,
        organization: OrganizationId,
        filter: OrganizationKeyFilter,
        page: PageRequest<ApiKeyId>,
        now: DateTime<Utc>,
    ) -> Result<Page<HeldKey, ApiKeyId>, StorageError> {
        read!(self, list::list(organization, filter, page, now))
    }

    async fn find(
        &self,
        organization: OrganizationId,
        id: ApiKeyId,
    ) -> Result<Option<HeldKey>, StorageError> {
        read!(self, |connection| {
            let mut found = read::named(connection, organization, &[id.as_uuid()]).await?;
            Ok(found.pop())
        })
    }

    async fn find_many(
        &self,
        organization: OrganizationId,
        ids: &[ApiKeyId],
    ) -> Result<Vec<HeldKey>, StorageError> {
        let ids: Vec<Uuid> = ids.iter().map(|id| id.as_uuid()).collect();
        read!(self, |connection| {
            read::named(connection, organization, &ids).await
        })
    }

    async fn leaked_since(
        &self,
        organization: OrganizationId,
        since: DateTime<Utc>,
        size: PageSize,
    ) -> Result<Vec<HeldKey>, StorageError> {
        read!(self, |connection| {
            let leaked = leaked_keys(connection, organization, since, one_more(size)).await?;
            read::named_in_order(connection, organization, &leaked).await
        })
    }

    async fn key_tree(
        &self,
        organization: OrganizationId,
        id: ApiKeyId,
        size: KeyTreeSize,
        now: DateTime<Utc>,
    ) -> Result<KeyTree, StorageError> {
        read!(self, key_tree::key_tree(organization, id, size, now))
    }

    async fn revocation_preview(
        &self,
        organization: OrganizationId,
        selection: KeySelection,
        now: DateTime<Utc>,
    ) -> Result<RevocationPreview, StorageError> {
        read!(self, read::revocation_preview(organization, selection, now))
    }

    async fn revoke(
        &self,
        organization: OrganizationId,
        selection: KeySelection,
        at_most: NonZeroU32,
        reason: RevocationReason,
        note: Option<RevocationNote>,
        act: Act,
    ) -> Result<RevokedBatch, RevokeKeysError> {
        self.change_that_begins(Claim::Revoking, move |connection| {
            Box::pin(revoke::revoke(
                connection,
                organization,
                selection,
                at_most,
                reason,
                note,
                act,
            ))
        })
        .await
    }

    async fn longest_life_preview(
        &self,
        organization: OrganizationId,
        longest: LongestLife,
        now: DateTime<Utc>,
    ) -> Result<PreviewedKeys, StorageError> {
        read!(self, longest_life::preview(organization, longest, now))
    }

    async fn apply_longest_life(
        &self,
        organization: OrganizationId,
        longest: LongestLife,
        after: Option<ApiKeyId>,
        at_most: NonZeroU32,
        act: Act,
    ) -> Result<ShortenedBatch, ApplyLongestLifeError> {
        change!(
            self,
            longest_life::apply(organization, longest, after, at_most, act)
        )
    }
}
