//! The store of projects.

use std::collections::HashSet;

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::administration::member_overview::MemberProfile;
use crate::administration::project_overview::{ProjectFilter, ProjectOverview};
use crate::audit::Act;
use crate::id::{MembershipId, OrganizationId, ProjectId};
use crate::page::{Page, PageRequest};
use crate::ports::StorageError;
use crate::project::{NewProject, ProjectChange};
use crate::rate::Throttled;

/// Keeps projects, each with its members. What keys reach of them is
/// [`ReachableProjects`](crate::ports::ReachableProjects).
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait ProjectStore: Send + Sync {
    /// Adds a project without members.
    ///
    /// MUST check in this order, in the same transaction, and so that of any number of concurrent calls with
    /// one idempotency key one succeeds:
    /// 1. the actor may create projects; else [`AddProjectError::NotAllowed`];
    /// 2. no project of the organization, archived or not, was added with the same idempotency key; else
    ///    [`AddProjectError::AlreadyCreated`].
    ///
    /// MUST write the event `act.creation_of_project(id)`.
    async fn add(&self, new: NewProject, act: Act) -> Result<(), AddProjectError>;

    /// A page of the projects that pass the filter, by descending identifier.
    async fn list(
        &self,
        organization: OrganizationId,
        filter: ProjectFilter,
        page: PageRequest<ProjectId>,
        now: DateTime<Utc>,
    ) -> Result<Page<ProjectOverview, ProjectId>, StorageError>;

    /// One project, archived or not.
    async fn find(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        now: DateTime<Utc>,
    ) -> Result<Option<ProjectOverview>, StorageError>;

    /// Changes a project, as [`Project::after`] says. MUST write the event `act.change_of_project(id, &change)`,
    /// unless that leaves the project as it is. Once an archival returns, no key reaches the project.
    ///
    /// [`Project::after`]: crate::project::Project::after
    async fn change(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        change: ProjectChange,
        act: Act,
    ) -> Result<(), ChangeProjectError>;

    /// A page of the live members that are in a project, by descending identifier.
    async fn members(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        page: PageRequest<MembershipId>,
        now: DateTime<Utc>,
    ) -> Result<Page<MemberProfile, MembershipId>, StorageError>;

    /// Those of the given members that are live and in a project.
    async fn members_among(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        members: &[MembershipId],
        now: DateTime<Utc>,
    ) -> Result<HashSet<MembershipId>, StorageError>;

    /// Adds a live member to a project. MUST write the event `act.addition_to_project(id, member)`, unless they
    /// are in it.
    ///
    /// MUST check in this order: the project exists, the member exists and is live. The membership MUST NOT
    /// end between the check and the addition, so that a former member is in no project.
    async fn add_member(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        member: MembershipId,
        act: Act,
    ) -> Result<(), ChangeProjectMembersError>;

    /// Takes a member out of a project; checks as [`ProjectStore::add_member`]. MUST write the event
    /// `act.removal_from_project(id, member)`, unless they are not in it. Once it returns, no key of theirs
    /// reaches the project.
    async fn remove_member(
        &self,
        organization: OrganizationId,
        id: ProjectId,
        member: MembershipId,
        act: Act,
    ) -> Result<(), ChangeProjectMembersError>;
}

/// Why a project was not added.
#[derive(Debug, thiserror::Error)]
pub enum AddProjectError {
    /// The actor is not an owner any more.
    #[error("only an owner may create projects")]
    NotAllowed,
    /// This form created this project before.
    #[error("this form has already created the project {0}")]
    AlreadyCreated(ProjectId),
    /// The owner has made too many changes.
    #[error(transparent)]
    Throttled(#[from] Throttled),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why a project was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeProjectError {
    /// The actor is not an owner any more.
    #[error("only an owner may change projects")]
    NotAllowed,
    /// The organization has no such project.
    #[error("no such project")]
    NotFound,
    /// The owner has made too many changes.
    #[error(transparent)]
    Throttled(#[from] Throttled),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why the members of a project were not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeProjectMembersError {
    /// The actor is not an owner any more.
    #[error("only an owner may change the members of a project")]
    NotAllowed,
    /// The organization has no such project.
    #[error("no such project")]
    ProjectNotFound,
    /// The organization has no such live member.
    #[error("no such member")]
    MemberNotFound,
    /// The owner has made too many changes.
    #[error(transparent)]
    Throttled(#[from] Throttled),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
