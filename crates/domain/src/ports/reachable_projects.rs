//! What keys reach.

use async_trait::async_trait;

use crate::id::{ConsumerId, ProjectId};
use crate::page::{Page, PageRequest};
use crate::ports::StorageError;
use crate::project::Project;

/// Knows which projects a consumer reaches, at the moment it is asked: those of its organization that it is a member of
/// and that are not archived, as long as its own membership is live.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait ReachableProjects: Send + Sync {
    /// A page of the projects that the consumer reaches, by falling identifier.
    async fn list(
        &self,
        consumer: ConsumerId,
        page: PageRequest<ProjectId>,
    ) -> Result<Page<Project, ProjectId>, StorageError>;

    /// One project. A project that the consumer does not reach MUST look like one that does not exist.
    async fn find(&self, consumer: ConsumerId, id: ProjectId) -> Result<Option<Project>, StorageError>;
}
