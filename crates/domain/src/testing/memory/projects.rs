use std::collections::HashSet;

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use super::{MemoryStore, State, newest_first, to_u32};
use crate::administration::ports::{
    AddProjectError, ChangeProjectError, ChangeProjectMembersError, MemberProfile, ProjectFilter,
    ProjectOverview, ProjectStore,
};
use crate::audit::Act;
use crate::id::{MembershipId, OrganizationId, ProjectId};
use crate::membership::Membership;
use crate::page::{Page, PageRequest};
use crate::ports::{ReachableProjects, StorageError};
use crate::project::{NewProject, Project, ProjectChange};

#[async_trait]
impl ProjectStore for MemoryStore {
    async fn add(&self, new: NewProject, act: Act) -> Result<(), AddProjectError> {
        let mut state = self.state()?;
        let act = act.at_current_time();
        let (project, key) = (new.project, new.idempotency_key);
        let organization = project.organization_id;
        if !state.may_administer(organization, act.actor, act.at) {
            return Err(AddProjectError::NotAllowed);
        }
        if let Some(first) = state.projects_created_with.find(organization, key) {
            return Err(AddProjectError::AlreadyCreated(first));
        }
        state.write(vec![act.creation_of_project(project.id)])?;
        state.projects_created_with.note(organization, key, project.id);
        state.projects.push(project);
        Ok(())
    }

    async fn list(
        &self,
        organization: OrganizationId,
        filter: ProjectFilter,
        page: PageRequest<ProjectId>,
        now: DateTime<Utc>,
    ) -> Result<Page<ProjectOverview, ProjectId>, StorageError> {
        let state = self.state()?;
        let projects = state
            .projects
            .iter()
            .filter(|project| project.organization_id == organization && filter.accepts(project))
            .map(|project| state.project_overview(project, now))
            .collect();
        Ok(newest_first(projects, page, |overview| overview.project.id))
    }

    async fn find(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        now: DateTime<Utc>,
    ) -> Result<Option<ProjectOverview>, StorageError> {
        let state = self.state()?;
        let project = state.project(organization, id);
        Ok(project.map(|project| state.project_overview(project, now)))
    }

    async fn change(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        change: ProjectChange,
        act: Act,
    ) -> Result<(), ChangeProjectError> {
        let mut state = self.state()?;
        let act = act.at_current_time();
        if !state.may_administer(organization, act.actor, act.at) {
            return Err(ChangeProjectError::NotAllowed);
        }
        let before = state.project(organization, id);
        let before = before.ok_or(ChangeProjectError::NotFound)?;
        let after = before.clone().after(change.clone(), act.at);
        if after != *before {
            state.write(vec![act.change_of_project(id, &change)])?;
            state.projects.retain(|project| project.id != id);
            state.projects.push(after);
        }
        Ok(())
    }

    async fn members(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        page: PageRequest<MembershipId>,
        now: DateTime<Utc>,
    ) -> Result<Page<MemberProfile, MembershipId>, StorageError> {
        let state = self.state()?;
        let members = state
            .project(organization, id)
            .into_iter()
            .flat_map(|project| state.live_members_of(project, now))
            .filter_map(|membership| state.profile(membership))
            .collect();
        Ok(newest_first(members, page, |member| member.membership.id))
    }

    async fn members_among(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        members: &[MembershipId],
        now: DateTime<Utc>,
    ) -> Result<HashSet<MembershipId>, StorageError> {
        let state = self.state()?;
        let inside = state
            .project(organization, id)
            .into_iter()
            .flat_map(|project| state.live_members_of(project, now))
            .map(|membership| membership.id);
        Ok(inside.filter(|id| members.contains(id)).collect())
    }

    async fn add_member(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        member: MembershipId,
        act: Act,
    ) -> Result<(), ChangeProjectMembersError> {
        let mut state = self.state()?;
        let act = act.at_current_time();
        state.check_project_member(organization, id, member, &act)?;
        if !state.project_members.contains(&(id, member)) {
            state.write(vec![act.addition_to_project(id, member)])?;
            state.project_members.push((id, member));
        }
        Ok(())
    }

    async fn remove_member(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        member: MembershipId,
        act: Act,
    ) -> Result<(), ChangeProjectMembersError> {
        let mut state = self.state()?;
        let act = act.at_current_time();
        state.check_project_member(organization, id, member, &act)?;
        if state.project_members.contains(&(id, member)) {
            state.write(vec![act.removal_from_project(id, member)])?;
            state.project_members.retain(|row| *row != (id, member));
        }
        Ok(())
    }
}

#[async_trait]
impl ReachableProjects for MemoryStore {
    async fn list(
        &self,
        consumer: MembershipId,
        page: PageRequest<ProjectId>,
        now: DateTime<Utc>,
    ) -> Result<Page<Project, ProjectId>, StorageError> {
        let state = self.state()?;
        let projects = state.projects_reached_by(consumer, now).cloned().collect();
        Ok(newest_first(projects, page, |project: &Project| project.id))
    }

    async fn find(
        &self,
        consumer: MembershipId,
        id: ProjectId,
        now: DateTime<Utc>,
    ) -> Result<Option<Project>, StorageError> {
        let state = self.state()?;
        let mut reached = state.projects_reached_by(consumer, now);
        Ok(reached.find(|project| project.id == id).cloned())
    }

    async fn count(&self, consumer: MembershipId, now: DateTime<Utc>) -> Result<u64, StorageError> {
        let state = self.state()?;
        let count = state.projects_reached_by(consumer, now).count();
        Ok(u64::try_from(count).unwrap_or(u64::MAX))
    }
}

impl State {
    fn project(&self, organization: OrganizationId, id: ProjectId) -> Option<&Project> {
        self.projects
            .iter()
            .find(|project| project.organization_id == organization && project.id == id)
    }

    fn live_members_of(&self, project: &Project, now: DateTime<Utc>) -> impl Iterator<Item = &Membership> {
        let id = project.id;
        self.live_memberships(project.organization_id, now)
            .filter(move |membership| self.project_members.contains(&(id, membership.id)))
    }

    fn project_overview(&self, project: &Project, now: DateTime<Utc>) -> ProjectOverview {
        ProjectOverview {
            project: project.clone(),
            members: to_u32(self.live_members_of(project, now).count()),
        }
    }

    fn projects_reached_by(
        &self,
        consumer: MembershipId,
        now: DateTime<Utc>,
    ) -> impl Iterator<Item = &Project> {
        self.projects.iter().filter(move |project| {
            project.is_active()
                && self
                    .live_members_of(project, now)
                    .any(|membership| membership.id == consumer)
        })
    }

    fn check_project_member(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        member: MembershipId,
        act: &Act,
    ) -> Result<(), ChangeProjectMembersError> {
        if !self.may_administer(organization, act.actor, act.at) {
            return Err(ChangeProjectMembersError::NotAllowed);
        }
        self.project(organization, id)
            .ok_or(ChangeProjectMembersError::ProjectNotFound)?;
        self.live_membership(organization, member, act.at)
            .ok_or(ChangeProjectMembersError::MemberNotFound)?;
        Ok(())
    }
}
