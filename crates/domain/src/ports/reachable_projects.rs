//! Which projects a consumer reaches.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::id::{MembershipId, ProjectId};
use crate::page::{Page, PageRequest};
use crate::ports::StorageError;
use crate::project::Project;

/// Finds the projects that a consumer reaches at the moment `now`: if its membership in the organization is
/// live, the projects of that organization that it is a member of and that are not archived; otherwise none.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait ReachableProjects: Send + Sync {
    /// A page of the projects that the consumer reaches, in descending order of identifier.
    async fn list(
        &self,
        consumer: MembershipId,
        page: PageRequest<ProjectId>,
        now: DateTime<Utc>,
    ) -> Result<Page<Project, ProjectId>, StorageError>;

    /// One project. MUST return `None` for a project that the consumer does not reach, as for one that does
    /// not exist.
    async fn find(
        &self,
        consumer: MembershipId,
        id: ProjectId,
        now: DateTime<Utc>,
    ) -> Result<Option<Project>, StorageError>;

    /// How many projects the consumer reaches.
    async fn count(&self, consumer: MembershipId, now: DateTime<Utc>) -> Result<u64, StorageError>;
}
