//! Who belongs to an organization, and as what.
//!
//! That an owner is left holds because every change locks the organization first: of one organization, they run one
//! after the other.

mod change_role;
mod end;
mod leaving;
pub(super) mod live;
mod read;

use std::convert::Infallible;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::administration::ports::{
    ChangeRoleError, EndMembershipError, KeyHolder, LeavingPreview, MemberFilter, MemberOverview,
    MemberStore, WhichMember,
};
use keyward_domain::api_key::ApiKey;
use keyward_domain::audit::Act;
use keyward_domain::id::{MembershipId, OrganizationId};
use keyward_domain::membership::Role;
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::StorageError;

use super::dialect::Store;
use crate::abort::Abort;
use crate::claim::Claim;

#[async_trait]
impl MemberStore for Store {
    async fn list(
        &self,
        organization: OrganizationId,
        filter: MemberFilter,
        page: PageRequest<MembershipId>,
    ) -> Result<Page<MemberOverview, MembershipId>, StorageError> {
        self.read(move |connection| Box::pin(read::list(connection, organization, filter, page)))
            .await
    }

    async fn find(
        &self,
        organization: OrganizationId,
        id: MembershipId,
    ) -> Result<Option<MemberOverview>, StorageError> {
        self.read(move |connection| Box::pin(read::find(connection, organization, id)))
            .await
    }

    async fn identify(
        &self,
        organization: OrganizationId,
        member: WhichMember,
    ) -> Result<Option<KeyHolder>, StorageError> {
        self.read(move |connection| Box::pin(read::identify(connection, organization, member)))
            .await
    }

    async fn leaving_preview(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        used_after: DateTime<Utc>,
    ) -> Result<LeavingPreview<ApiKey>, StorageError> {
        self.read(move |connection| Box::pin(leaving::preview(connection, organization, id, used_after)))
            .await
    }

    async fn has_one_owner(&self, organization: OrganizationId) -> Result<bool, StorageError> {
        self.read(move |connection| {
            Box::pin(async move {
                Ok::<_, Abort<Infallible>>(live::has_one_owner(connection, organization).await?)
            })
        })
        .await
    }

    async fn change_role(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        role: Role,
        act: Act,
    ) -> Result<(), ChangeRoleError> {
        self.change(move |connection| {
            Box::pin(change_role::change_role(connection, organization, id, role, act))
        })
        .await
    }

    async fn end(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        act: Act,
    ) -> Result<(), EndMembershipError> {
        self.change_with(Claim::Revoking, move |connection| {
            Box::pin(end::end(connection, organization, id, act))
        })
        .await
    }
}
