//! What keys reach.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::id::{MembershipId, ProjectId};
use crate::page::{Page, PageRequest};
use crate::ports::StorageError;
use crate::project::Project;

/// Knows which projects a consumer reaches at a moment: those of its organization that it is a member of
/// and that are not archived, as long as its own membership is live.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait ReachableProjects: Send + Sync {
    /// A page of the projects that the consumer reaches, by falling identifier.
    async fn list(
        &self,
        consumer: MembershipId,
        page: PageRequest<ProjectId>,
        now: DateTime<Utc>,
    ) -> Result<Page<Project, ProjectId>, StorageError>;

    /// One project. A project that the consumer does not reach MUST look like one that does not exist.
    async fn find(
        &self,
        consumer: MembershipId,
        id: ProjectId,
        now: DateTime<Utc>,
    ) -> Result<Option<Project>, StorageError>;

    /// How many projects the consumer reaches.
    async fn count(&self, consumer: MembershipId, now: DateTime<Utc>) -> Result<u64, StorageError>;
}
