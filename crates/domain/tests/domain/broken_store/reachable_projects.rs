use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::id::{MembershipId, ProjectId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::{ReachableProjects, StorageError};
use keyward_domain::project::Project;

use super::{BrokenStore, Fault, List, lock};

#[async_trait]
impl ReachableProjects for BrokenStore {
    async fn list(
        &self,
        consumer: MembershipId,
        page: PageRequest<ProjectId>,
        now: DateTime<Utc>,
    ) -> Result<Page<Project, ProjectId>, StorageError> {
        let now = self.asked_about(List::ReachableProjects, now);
        let ask = |page| ReachableProjects::list(&self.sound, consumer, page, now);
        let Page { items, next } = self.page(List::ReachableProjects, false, page, ask).await?;
        let items = items
            .into_iter()
            .map(|project| self.project_as_read(project))
            .collect();
        Ok(Page { items, next })
    }

    async fn find(
        &self,
        consumer: MembershipId,
        id: ProjectId,
        now: DateTime<Utc>,
    ) -> Result<Option<Project>, StorageError> {
        let now = self.asked_about(List::ReachableProjects, now);
        let found = ReachableProjects::find(&self.sound, consumer, id, now).await?;
        if self.fault == Fault::ReachesEveryProject {
            return Ok(found.or_else(|| lock(&self.projects).get(&id).cloned()));
        }
        Ok(found.map(|project| self.project_as_read(project)))
    }

    async fn count(&self, consumer: MembershipId, now: DateTime<Utc>) -> Result<u64, StorageError> {
        let now = self.asked_about(List::ReachableProjects, now);
        self.sound.count(consumer, now).await
    }
}
