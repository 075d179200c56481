//! Projects, and who is in them.
//!
//! Whoever has left is in no project, because adding a member and ending a membership lock the organization first.

mod change;
mod members;
mod reachable;
mod read;
mod row;

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

use super::dialect::Store;

#[async_trait]
impl ProjectStore for Store {
    async fn add(&self, project: Project, event: AuditEvent) -> Result<(), AddProjectError> {
        self.change(move |connection| Box::pin(change::add(connection, project, event)))
            .await
    }

    async fn list(
        &self,
        organization: OrganizationId,
        filter: ProjectFilter,
        page: PageRequest<ProjectId>,
    ) -> Result<Page<ProjectOverview, ProjectId>, StorageError> {
        self.read(move |connection| Box::pin(read::list(connection, organization, filter, page)))
            .await
    }

    async fn find(
        &self,
        organization: OrganizationId,
        id: ProjectId,
    ) -> Result<Option<ProjectOverview>, StorageError> {
        self.read(move |connection| Box::pin(read::find(connection, organization, id)))
            .await
    }

    async fn rename(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        name: ProjectName,
        event: AuditEvent,
    ) -> Result<(), ChangeProjectError> {
        self.change(move |connection| Box::pin(change::rename(connection, organization, id, name, event)))
            .await
    }

    async fn archive(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        event: AuditEvent,
    ) -> Result<(), ChangeProjectError> {
        self.change(move |connection| Box::pin(change::archive(connection, organization, id, event)))
            .await
    }

    async fn restore(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        event: AuditEvent,
    ) -> Result<(), ChangeProjectError> {
        self.change(move |connection| Box::pin(change::restore(connection, organization, id, event)))
            .await
    }

    async fn members(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        page: PageRequest<MembershipId>,
    ) -> Result<Page<ProjectMember, MembershipId>, StorageError> {
        self.read(move |connection| Box::pin(members::list(connection, organization, id, page)))
            .await
    }

    async fn members_among(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        members: &[MembershipId],
    ) -> Result<HashSet<MembershipId>, StorageError> {
        let members = members.to_vec();
        self.read(move |connection| Box::pin(members::among(connection, organization, id, members)))
            .await
    }

    async fn add_member(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        member: MembershipId,
        event: AuditEvent,
    ) -> Result<(), ChangeProjectMembersError> {
        self.change(move |connection| Box::pin(members::add(connection, organization, id, member, event)))
            .await
    }

    async fn remove_member(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        member: MembershipId,
        event: AuditEvent,
    ) -> Result<(), ChangeProjectMembersError> {
        self.change(move |connection| Box::pin(members::remove(connection, organization, id, member, event)))
            .await
    }
}
