use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::administration::ports::{
    ChangeRoleError, EndMembershipError, LeavingPreview, MemberFilter, MemberOverview, MemberStore,
};
use keyward_domain::api_key::ApiKey;
use keyward_domain::audit::Act;
use keyward_domain::id::{MembershipId, OrganizationId};
use keyward_domain::membership::Role;
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::StorageError;

use super::{BrokenStore, List};

#[async_trait]
impl MemberStore for BrokenStore {
    async fn list(
        &self,
        organization: OrganizationId,
        filter: MemberFilter,
        page: PageRequest<MembershipId>,
    ) -> Result<Page<MemberOverview, MembershipId>, StorageError> {
        let ask = |page| MemberStore::list(&self.sound, organization, filter, page);
        self.page(List::Members, page, ask).await
    }

    async fn find(
        &self,
        organization: OrganizationId,
        id: MembershipId,
    ) -> Result<Option<MemberOverview>, StorageError> {
        MemberStore::find(&self.sound, organization, id).await
    }

    async fn leaving_preview(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        used_after: DateTime<Utc>,
    ) -> Result<LeavingPreview<ApiKey>, StorageError> {
        self.sound.leaving_preview(organization, id, used_after).await
    }

    async fn has_one_owner(&self, organization: OrganizationId) -> Result<bool, StorageError> {
        self.sound.has_one_owner(organization).await
    }

    async fn change_role(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        role: Role,
        act: Act,
    ) -> Result<(), ChangeRoleError> {
        self.sound.change_role(organization, id, role, act).await
    }

    async fn end(
        &self,
        organization: OrganizationId,
        id: MembershipId,
        act: Act,
    ) -> Result<(), EndMembershipError> {
        MemberStore::end(&self.sound, organization, id, act).await
    }
}
