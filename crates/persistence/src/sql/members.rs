//! Members of an organization and their roles.
//!
//! An organization always keeps an owner, because every change locks the organization first, so changes are
//! serialized.

mod change_expiry;
mod change_role;
mod end;
mod leaving;
pub(super) mod live;
mod read;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::administration::ports::{
    ChangeMembershipExpiryError, ChangeRoleError, EndMembershipError, HolderProfile, LeavingPreview,
    MemberFilter, MemberOverview, MemberStore, WhichMember,
};
use keyward_domain::api_key::{ApiKey, ExpiryChange};
use keyward_domain::audit::Act;
use keyward_domain::id::{MembershipId, OrganizationId};
use keyward_domain::membership::Role;
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::StorageError;

use super::dialect::Store;
use crate::claim::Claim;

#[async_trait]
impl MemberStore for Store {
    async fn list(
        &self,
        organization: OrganizationId,
        filter: MemberFilter,
        page: PageRequest<MembershipId>,
        now: DateTime<Utc>,
    ) -> Result<Page<MemberOverview, MembershipId>, StorageError> {
        read!(self, read::list(organization, filter, page, now))
    }

    async fn find(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        now: DateTime<Utc>,
    ) -> Result<Option<MemberOverview>, StorageError> {
        read!(self, read::find(organization, id, now))
    }

    async fn identify(
        &self,
        organization: OrganizationId,
        member: WhichMember,
        now: DateTime<Utc>,
    ) -> Result<Option<HolderProfile>, StorageError> {
        read!(self, read::identify(organization, member, now))
    }

    async fn leaving_preview(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        used_after: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<LeavingPreview<ApiKey>, StorageError> {
        read!(self, leaving::preview(organization, id, used_after, now))
    }

    async fn has_other_permanent_owner(
        &self,
        organization: OrganizationId,
        member: MembershipId,
    ) -> Result<bool, StorageError> {
        read!(self, |connection| {
            Ok(live::has_other_permanent_owner(connection, organization, member).await?)
        })
    }

    async fn change_role(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        role: Role,
        act: Act,
    ) -> Result<(), ChangeRoleError> {
        change!(self, change_role::change_role(organization, id, role, act))
    }

    async fn change_expiry(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        change: ExpiryChange,
        act: Act,
    ) -> Result<(), ChangeMembershipExpiryError> {
        change!(self, change_expiry::change_expiry(organization, id, change, act))
    }

    async fn end(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        act: Act,
    ) -> Result<(), EndMembershipError> {
        change!(self, Claim::Revoking, end::end(organization, id, act))
    }
}
