use chrono::{DateTime, Utc};
use std::collections::HashSet;

use async_trait::async_trait;
use keyward_domain::administration::ports::{
    AddProjectError, ChangeProjectError, ChangeProjectMembersError, MemberProfile, ProjectFilter,
    ProjectOverview, ProjectStore,
};
use keyward_domain::audit::Act;
use keyward_domain::id::{MembershipId, OrganizationId, ProjectId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::StorageError;
use keyward_domain::project::{NewProject, ProjectChange};

use super::{BrokenStore, Fault, List, lock};

#[async_trait]
impl ProjectStore for BrokenStore {
    async fn add(&self, new: NewProject, act: Act) -> Result<(), AddProjectError> {
        let mut act = act;
        if self.fault == Fault::ChecksProjectOwnerBeforeTransaction {
            lock(&self.creators).insert(new.project.id, act.actor);
            let organization = new.project.organization_id;
            act.actor = self.owner_beforehand(organization, act.actor, act.at).await?;
        }
        let known = new.project.clone();
        let idempotency_key = new
            .idempotency_key
            .filter(|_| self.fault != Fault::IgnoresIdempotencyKeysOfProjects);
        let new = NewProject {
            idempotency_key,
            ..new
        };
        ProjectStore::add(&self.sound, new, act).await?;
        lock(&self.projects).insert(known.id, known);
        Ok(())
    }

    async fn list(
        &self,
        organization: OrganizationId,
        mut filter: ProjectFilter,
        page: PageRequest<ProjectId>,
        now: DateTime<Utc>,
    ) -> Result<Page<ProjectOverview, ProjectId>, StorageError> {
        let now = self.asked_about(List::Projects, now);
        if self.fault == Fault::FindsNamesBySubstring && filter.name().is_some() {
            filter = ProjectFilter::new(filter.status(), filter.name());
        }
        let is_filtered = filter != ProjectFilter::default();
        let ask = |page| ProjectStore::list(&self.sound, organization, filter, page, now);
        let Page { items, next } = self.page(List::Projects, is_filtered, page, ask).await?;
        let items = items
            .into_iter()
            .map(|overview| self.project_overview_as_read(overview))
            .collect();
        Ok(Page { items, next })
    }

    async fn find(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        now: DateTime<Utc>,
    ) -> Result<Option<ProjectOverview>, StorageError> {
        let now = self.asked_about(List::Projects, now);
        let found = ProjectStore::find(&self.sound, organization, id, now).await?;
        Ok(found.map(|overview| self.project_overview_as_read(overview)))
    }

    async fn change(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        change: ProjectChange,
        act: Act,
    ) -> Result<(), ChangeProjectError> {
        self.sound
            .change(organization, id, change, self.as_timed(act))
            .await
    }

    async fn members(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        page: PageRequest<MembershipId>,
        now: DateTime<Utc>,
    ) -> Result<Page<MemberProfile, MembershipId>, StorageError> {
        let now = self.asked_about(List::Projects, now);
        let ask = |page| self.sound.members(organization, id, page, now);
        let Page { items, next } = self.page(List::ProjectMembers, false, page, ask).await?;
        let as_read = |member| self.profile_as_read(member);
        let items = items.into_iter().map(as_read).collect();
        Ok(Page { items, next })
    }

    async fn members_among(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        members: &[MembershipId],
        now: DateTime<Utc>,
    ) -> Result<HashSet<MembershipId>, StorageError> {
        let now = self.asked_about(List::Projects, now);
        self.sound.members_among(organization, id, members, now).await
    }

    async fn add_member(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        member: MembershipId,
        act: Act,
    ) -> Result<(), ChangeProjectMembersError> {
        self.sound.add_member(organization, id, member, act).await
    }

    async fn remove_member(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        member: MembershipId,
        act: Act,
    ) -> Result<(), ChangeProjectMembersError> {
        self.sound.remove_member(organization, id, member, act).await
    }
}

impl BrokenStore {
    fn project_overview_as_read(&self, overview: ProjectOverview) -> ProjectOverview {
        ProjectOverview {
            project: self.project_as_read(overview.project),
            ..overview
        }
    }
}
