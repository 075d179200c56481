use std::collections::HashSet;

use async_trait::async_trait;
use keyward_domain::administration::ports::{
    AddProjectError, ChangeProjectError, ChangeProjectMembersError, ProjectFilter, ProjectMember,
    ProjectOverview, ProjectStore,
};
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::{MembershipId, OrganizationId, ProjectId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::StorageError;
use keyward_domain::project::{Project, ProjectName};

use super::{BrokenStore, Fault, List};

#[async_trait]
impl ProjectStore for BrokenStore {
    async fn add(&self, project: Project, event: AuditEvent) -> Result<(), AddProjectError> {
        let event = if self.fault == Fault::ChecksOwnersWhoAddProjectsBeforeTheTransaction {
            let actor = self
                .owner_beforehand(project.organization_id, event.actor)
                .await?;
            self.in_the_name_of(actor, event)
        } else {
            event
        };
        ProjectStore::add(&self.sound, project, event).await
    }

    async fn list(
        &self,
        organization: OrganizationId,
        filter: ProjectFilter,
        page: PageRequest<ProjectId>,
    ) -> Result<Page<ProjectOverview, ProjectId>, StorageError> {
        let ask = |page| ProjectStore::list(&self.sound, organization, filter, page);
        self.page(List::Projects, page, ask).await
    }

    async fn find(
        &self,
        organization: OrganizationId,
        id: ProjectId,
    ) -> Result<Option<ProjectOverview>, StorageError> {
        ProjectStore::find(&self.sound, organization, id).await
    }

    async fn rename(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        name: ProjectName,
        event: AuditEvent,
    ) -> Result<(), ChangeProjectError> {
        self.sound.rename(organization, id, name, event).await
    }

    async fn archive(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        event: AuditEvent,
    ) -> Result<(), ChangeProjectError> {
        self.sound.archive(organization, id, event).await
    }

    async fn restore(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        event: AuditEvent,
    ) -> Result<(), ChangeProjectError> {
        self.sound.restore(organization, id, event).await
    }

    async fn members(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        page: PageRequest<MembershipId>,
    ) -> Result<Page<ProjectMember, MembershipId>, StorageError> {
        let ask = |page| self.sound.members(organization, id, page);
        self.page(List::ProjectMembers, page, ask).await
    }

    async fn members_among(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        members: &[MembershipId],
    ) -> Result<HashSet<MembershipId>, StorageError> {
        self.sound.members_among(organization, id, members).await
    }

    async fn add_member(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        member: MembershipId,
        event: AuditEvent,
    ) -> Result<(), ChangeProjectMembersError> {
        self.sound.add_member(organization, id, member, event).await
    }

    async fn remove_member(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        member: MembershipId,
        event: AuditEvent,
    ) -> Result<(), ChangeProjectMembersError> {
        self.sound.remove_member(organization, id, member, event).await
    }
}
