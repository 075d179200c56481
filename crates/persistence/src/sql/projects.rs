//! Projects and their members.
//!
//! A former member is in no project, because adding a member to a project and ending a membership both lock
//! the organization first.

mod change;
mod members;
mod reachable;
mod read;
mod row;

use std::collections::HashSet;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::administration::ports::{
    AddProjectError, ChangeProjectError, ChangeProjectMembersError, ProjectFilter, ProjectMember,
    ProjectOverview, ProjectStore,
};
use keyward_domain::audit::AuditEvent;
use keyward_domain::id::{MembershipId, OrganizationId, ProjectId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::StorageError;
use keyward_domain::project::{NewProject, ProjectName};

use super::dialect::Store;

#[async_trait]
impl ProjectStore for Store {
    async fn add(&self, new: NewProject, event: AuditEvent) -> Result<(), AddProjectError> {
        change!(self, change::add(new, event))
    }

    async fn list(
        &self,
        organization: OrganizationId,
        filter: ProjectFilter,
        page: PageRequest<ProjectId>,
        now: DateTime<Utc>,
    ) -> Result<Page<ProjectOverview, ProjectId>, StorageError> {
        read!(self, read::list(organization, filter, page, now))
    }

    async fn find(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        now: DateTime<Utc>,
    ) -> Result<Option<ProjectOverview>, StorageError> {
        read!(self, read::find(organization, id, now))
    }

    async fn rename(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        name: ProjectName,
        event: AuditEvent,
    ) -> Result<(), ChangeProjectError> {
        change!(self, change::rename(organization, id, name, event))
    }

    async fn archive(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        event: AuditEvent,
    ) -> Result<(), ChangeProjectError> {
        change!(self, change::archive(organization, id, event))
    }

    async fn restore(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        event: AuditEvent,
    ) -> Result<(), ChangeProjectError> {
        change!(self, change::restore(organization, id, event))
    }

    async fn members(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        page: PageRequest<MembershipId>,
        now: DateTime<Utc>,
    ) -> Result<Page<ProjectMember, MembershipId>, StorageError> {
        read!(self, members::list(organization, id, page, now))
    }

    async fn members_among(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        members: &[MembershipId],
        now: DateTime<Utc>,
    ) -> Result<HashSet<MembershipId>, StorageError> {
        let members = members.to_vec();
        read!(self, members::among(organization, id, members, now))
    }

    async fn add_member(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        member: MembershipId,
        event: AuditEvent,
    ) -> Result<(), ChangeProjectMembersError> {
        change!(self, members::add(organization, id, member, event))
    }

    async fn remove_member(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        member: MembershipId,
        event: AuditEvent,
    ) -> Result<(), ChangeProjectMembersError> {
        change!(self, members::remove(organization, id, member, event))
    }
}
