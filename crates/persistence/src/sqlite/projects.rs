//! Projects, and who is in them.

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

use super::store::SqliteStore;

#[async_trait]
impl ProjectStore for SqliteStore {
    async fn add(&self, project: Project, event: AuditEvent) -> Result<(), AddProjectError> {
        self.change(move |connection| change::add(connection, project, event))
            .await
    }

    async fn list(
        &self,
        organization: OrganizationId,
        filter: ProjectFilter,
        page: PageRequest<ProjectId>,
    ) -> Result<Page<ProjectOverview, ProjectId>, StorageError> {
        self.read(move |connection| read::list(connection, organization, filter, page))
            .await
    }

    async fn find(
        &self,
        organization: OrganizationId,
        id: ProjectId,
    ) -> Result<Option<ProjectOverview>, StorageError> {
        self.read(move |connection| read::find(connection, organization, id))
            .await
    }

    async fn rename(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        name: ProjectName,
        event: AuditEvent,
    ) -> Result<(), ChangeProjectError> {
        self.change(move |connection| change::rename(connection, organization, id, name, event))
            .await
    }

    async fn archive(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        event: AuditEvent,
    ) -> Result<(), ChangeProjectError> {
        self.change(move |connection| change::archive(connection, organization, id, event))
            .await
    }

    async fn restore(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        event: AuditEvent,
    ) -> Result<(), ChangeProjectError> {
        self.change(move |connection| change::restore(connection, organization, id, event))
            .await
    }

    async fn members(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        page: PageRequest<MembershipId>,
    ) -> Result<Page<ProjectMember, MembershipId>, StorageError> {
        self.read(move |connection| members::list(connection, organization, id, page))
            .await
    }

    async fn members_among(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        members: &[MembershipId],
    ) -> Result<HashSet<MembershipId>, StorageError> {
        let members = members.to_vec();
        self.read(move |connection| members::among(connection, organization, id, members))
            .await
    }

    async fn add_member(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        member: MembershipId,
        event: AuditEvent,
    ) -> Result<(), ChangeProjectMembersError> {
        self.change(move |connection| members::add(connection, organization, id, member, event))
            .await
    }

    async fn remove_member(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        member: MembershipId,
        event: AuditEvent,
    ) -> Result<(), ChangeProjectMembersError> {
        self.change(move |connection| members::remove(connection, organization, id, member, event))
            .await
    }
}
