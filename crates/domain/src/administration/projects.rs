//! Projects and their members.

use std::collections::HashSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::administration::Authority;
use crate::administration::change_limit::ChangeLimit;
use crate::administration::ports::{
    AddProjectError, ChangeProjectError, ChangeProjectMembersError, MemberProfile, ProjectFilter,
    ProjectOverview, ProjectStore,
};
use crate::audit::RequestSource;
use crate::id::{MembershipId, ProjectId};
use crate::idempotency_key::IdempotencyKey;
use crate::page::{Page, PageRequest};
use crate::ports::StorageError;
use crate::project::{NewProject, Project, ProjectChange, ProjectName};
use crate::propagation::{ToAllServers, with_propagation};
use crate::sign_in::ports::Throttle;
use crate::sources::Sources;

/// The use cases of projects, for owners.
#[derive(Clone)]
pub struct Projects {
    projects: Arc<dyn ProjectStore>,
    limit: ChangeLimit,
    sources: Sources,
    to_all_servers: ToAllServers,
}

impl Projects {
    /// The use cases over a store.
    #[must_use]
    pub fn new(projects: Arc<dyn ProjectStore>, throttle: Arc<dyn Throttle>, sources: Sources) -> Self {
        Self {
            projects,
            limit: ChangeLimit(throttle),
            sources,
            to_all_servers: ToAllServers::default(),
        }
    }

    with_propagation!();

    /// Creates a project without members.
    ///
    /// # Errors
    /// See [`AddProjectError`]; then no project was added.
    pub async fn create(
        &self,
        authority: &Authority,
        name: ProjectName,
        idempotency_key: Option<IdempotencyKey>,
        source: RequestSource,
    ) -> Result<Project, AddProjectError> {
        let act = authority.act(&self.sources, source);
        self.limit.count::<AddProjectError>(authority, act.at).await?;
        let project = Project {
            id: self.sources.next_id(),
            organization_id: authority.organization_id(),
            name,
            created_at: act.at,
            archived_at: None,
        };
        let new = NewProject {
            project: project.clone(),
            idempotency_key,
        };
        self.projects.add(new, act).await?;
        Ok(project)
    }

    /// A page of the organization's projects, newest first.
    pub async fn list(
        &self,
        authority: &Authority,
        filter: ProjectFilter,
        page: PageRequest<ProjectId>,
        now: DateTime<Utc>,
    ) -> Result<Page<ProjectOverview, ProjectId>, StorageError> {
        let organization = authority.organization_id();
        self.projects.list(organization, filter, page, now).await
    }

    /// One project, archived or not.
    pub async fn find(
        &self,
        authority: &Authority,
        id: ProjectId,
        now: DateTime<Utc>,
    ) -> Result<Option<ProjectOverview>, StorageError> {
        let organization = authority.organization_id();
        self.projects.find(organization, id, now).await
    }

    /// Gives a project another name.
    ///
    /// # Errors
    /// See [`ChangeProjectError`]; then nothing was changed.
    pub async fn rename(
        &self,
        authority: &Authority,
        id: ProjectId,
        name: ProjectName,
        source: RequestSource,
    ) -> Result<(), ChangeProjectError> {
        self.change(authority, id, ProjectChange::Rename(name), source)
            .await
    }

    /// Archives a project: no key reaches it from then on.
    ///
    /// # Errors
    /// See [`ChangeProjectError`]; then nothing was changed.
    pub async fn archive(
        &self,
        authority: &Authority,
        id: ProjectId,
        source: RequestSource,
    ) -> Result<(), ChangeProjectError> {
        self.change(authority, id, ProjectChange::Archive, source).await
    }

    /// Brings an archived project back, with the members it has.
    ///
    /// # Errors
    /// See [`ChangeProjectError`]; then nothing was changed.
    pub async fn restore(
        &self,
        authority: &Authority,
        id: ProjectId,
        source: RequestSource,
    ) -> Result<(), ChangeProjectError> {
        self.change(authority, id, ProjectChange::Restore, source).await
    }

    /// A page of a project's members, latest joined the organization first.
    pub async fn members(
        &self,
        authority: &Authority,
        id: ProjectId,
        page: PageRequest<MembershipId>,
        now: DateTime<Utc>,
    ) -> Result<Page<MemberProfile, MembershipId>, StorageError> {
        let organization = authority.organization_id();
        self.projects.members(organization, id, page, now).await
    }

    /// The members among these who are in a project.
    pub async fn members_among(
        &self,
        authority: &Authority,
        id: ProjectId,
        members: &[MembershipId],
        now: DateTime<Utc>,
    ) -> Result<HashSet<MembershipId>, StorageError> {
        let organization = authority.organization_id();
        self.projects.members_among(organization, id, members, now).await
    }

    /// Adds a member of the organization to a project. Idempotent.
    ///
    /// # Errors
    /// See [`ChangeProjectMembersError`]; then nothing was changed.
    pub async fn add_member(
        &self,
        authority: &Authority,
        id: ProjectId,
        member: MembershipId,
        source: RequestSource,
    ) -> Result<(), ChangeProjectMembersError> {
        let act = authority.act(&self.sources, source);
        self.limit
            .count::<ChangeProjectMembersError>(authority, act.at)
            .await?;
        let changed = self
            .projects
            .add_member(authority.organization_id(), id, member, act);
        self.to_all_servers.after(changed).await
    }

    /// Removes a member from a project. Idempotent.
    ///
    /// # Errors
    /// See [`ChangeProjectMembersError`]; then nothing was changed.
    pub async fn remove_member(
        &self,
        authority: &Authority,
        id: ProjectId,
        member: MembershipId,
        source: RequestSource,
    ) -> Result<(), ChangeProjectMembersError> {
        let act = authority.act(&self.sources, source);
        let changed = self
            .projects
            .remove_member(authority.organization_id(), id, member, act);
        self.to_all_servers.after(changed).await
    }

    async fn change(
        &self,
        authority: &Authority,
        id: ProjectId,
        change: ProjectChange,
        source: RequestSource,
    ) -> Result<(), ChangeProjectError> {
        let act = authority.act(&self.sources, source);
        // Archiving removes access, so it is never limited: see `ChangeLimit`.
        if change != ProjectChange::Archive {
            self.limit.count::<ChangeProjectError>(authority, act.at).await?;
        }
        let changed = self.projects.change(authority.organization_id(), id, change, act);
        self.to_all_servers.after(changed).await
    }
}
