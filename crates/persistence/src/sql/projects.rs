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
use diesel::prelude::{ExpressionMethods, OptionalExtension, QueryDsl};
use keyward_domain::administration::ports::{
    AddProjectError, ChangeProjectError, ChangeProjectMembersError, MemberProfile, ProjectFilter,
    ProjectOverview, ProjectStore,
};
use keyward_domain::audit::Act;
use keyward_domain::id::{MembershipId, OrganizationId, ProjectId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::StorageError;
use keyward_domain::project::{NewProject, ProjectChange};

use super::authority::lock_authority;
use super::dialect::{RunQueryDsl, Store};
use super::events::write_event;
use super::schema::{memberships, project_members, projects};
use super::validity::membership_is_live;
use crate::abort::Abort;
use crate::columns::{StoredId, StoredMoment};
use row::NewProjectRow;

#[async_trait]
impl ProjectStore for Store {
    async fn add(&self, new: NewProject, act: Act) -> Result<(), AddProjectError> {
        change!(self, |connection| {
            let organization = new.project.organization_id;
            let act = lock_authority(connection, organization, act).await?;
            let act = act.ok_or(Abort::Refused(AddProjectError::NotAllowed))?;
            // Until this transaction ends, no other adds projects to the organization.
            let scope = organization.as_uuid();
            let first = created_with!(connection, projects.organization_id, scope, new.idempotency_key);
            if let Some(first) = first {
                return Err(Abort::Refused(AddProjectError::AlreadyCreated(
                    ProjectId::from_uuid(first),
                )));
            }
            let event = act.creation_of_project(new.project.id);
            diesel::insert_into(projects::table)
                .values(NewProjectRow::from(new))
                .execute(connection)
                .await?;
            write_event(connection, event).await?;
            Ok(())
        })
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

    async fn change(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        change: ProjectChange,
        act: Act,
    ) -> Result<(), ChangeProjectError> {
        change!(self, change::change(organization, id, change, act))
    }

    async fn members(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        page: PageRequest<MembershipId>,
        now: DateTime<Utc>,
    ) -> Result<Page<MemberProfile, MembershipId>, StorageError> {
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
        read!(self, |connection| {
            let members: Vec<StoredId> = members.iter().map(|member| StoredId(member.as_uuid())).collect();
            let inside: Vec<StoredId> = project_members::table
                .inner_join(projects::table)
                .inner_join(memberships::table)
                .filter(projects::organization_id.eq(StoredId(organization.as_uuid())))
                .filter(project_members::project_id.eq(StoredId(id.as_uuid())))
                .filter(membership_is_live(now.into()))
                .filter(project_members::membership_id.eq_any(members))
                .select(project_members::membership_id)
                .load(connection)
                .await?;
            Ok(inside
                .into_iter()
                .map(|id| MembershipId::from_uuid(id.0))
                .collect())
        })
    }

    async fn add_member(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        member: MembershipId,
        act: Act,
    ) -> Result<(), ChangeProjectMembersError> {
        change!(self, |connection| {
            let act = members::lock(connection, organization, id, member, act).await?;
            let added = diesel::insert_into(project_members::table)
                .values((
                    project_members::membership_id.eq(StoredId(member.as_uuid())),
                    project_members::project_id.eq(StoredId(id.as_uuid())),
                    project_members::added_at.eq(StoredMoment::from(act.at)),
                ))
                .on_conflict_do_nothing()
                .execute(connection)
                .await?;
            if added > 0 {
                write_event(connection, act.addition_to_project(id, member)).await?;
            }
            Ok(())
        })
    }

    async fn remove_member(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        member: MembershipId,
        act: Act,
    ) -> Result<(), ChangeProjectMembersError> {
        change!(self, |connection| {
            let act = members::lock(connection, organization, id, member, act).await?;
            let removed = diesel::delete(
                project_members::table
                    .filter(project_members::membership_id.eq(StoredId(member.as_uuid())))
                    .filter(project_members::project_id.eq(StoredId(id.as_uuid()))),
            )
            .execute(connection)
            .await?;
            if removed > 0 {
                write_event(connection, act.removal_from_project(id, member)).await?;
            }
            Ok(())
        })
    }
}
