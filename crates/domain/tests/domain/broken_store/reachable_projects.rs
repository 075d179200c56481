use async_trait::async_trait;
use keyward_domain::id::{ConsumerId, ProjectId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::{ReachableProjects, StorageError};
use keyward_domain::project::Project;

use super::{BrokenStore, Fault, List, lock};

#[async_trait]
impl ReachableProjects for BrokenStore {
    async fn list(
        &self,
        consumer: ConsumerId,
        page: PageRequest<ProjectId>,
    ) -> Result<Page<Project, ProjectId>, StorageError> {
        let ask = |page| ReachableProjects::list(&self.sound, consumer, page);
        let Page { items, next } = self.page(List::ReachableProjects, false, page, ask).await?;
        let items = items
            .into_iter()
            .map(|project| self.project_as_read(project))
            .collect();
        Ok(Page { items, next })
    }

    async fn find(&self, consumer: ConsumerId, id: ProjectId) -> Result<Option<Project>, StorageError> {
        let found = ReachableProjects::find(&self.sound, consumer, id).await?;
        if self.fault == Fault::ReachesEveryProject {
            return Ok(found.or_else(|| lock(&self.projects).get(&id).cloned()));
        }
        Ok(found.map(|project| self.project_as_read(project)))
    }
}
