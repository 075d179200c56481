//! The projects that consumers reach, answered from the cache under a lease, and else by the store behind it.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::id::{MembershipId, ProjectId};
use keyward_domain::page::{Page, PageRequest, PageSize};
use keyward_domain::ports::{ReachableProjects, StorageError};
use keyward_domain::project::Project;

use crate::boot_time::BootClock;
use crate::cache::VerificationCache;
use crate::reaches::Reached;

/// A time after all ends that anybody plans. Who reaches a project then has a membership without a planned end, and reaches it
/// at any time until something changes.
const AFTER_ALL_ENDS: DateTime<Utc> = DateTime::from_timestamp(253_402_300_799, 0).unwrap();

/// What consumers reach, by a store; of those who reach a few projects, without asking it.
#[derive(Clone)]
pub struct CachedReachableProjects {
    store: Arc<dyn ReachableProjects>,
    cache: Arc<VerificationCache>,
    clock: Arc<dyn BootClock>,
}

impl CachedReachableProjects {
    /// What reaches more is not kept.
    pub const MOST: PageSize = PageSize::DEFAULT;

    /// Puts a cache before a store.
    #[must_use]
    pub fn new(
        store: Arc<dyn ReachableProjects>,
        cache: Arc<VerificationCache>,
        clock: Arc<dyn BootClock>,
    ) -> Self {
        Self { store, cache, clock }
    }

    async fn reached(&self, consumer: MembershipId) -> Result<Reached, StorageError> {
        let now = self.clock.now();
        if let Some(reached) = self.cache.find_reached(consumer, now) {
            return Ok(reached);
        }
        let Some(fill) = self.cache.begin_fill(now) else {
            return Ok(Reached::AskStore);
        };
        let first = PageRequest {
            size: Self::MOST,
            after: None,
        };
        let page = self.store.list(consumer, first, AFTER_ALL_ENDS).await?;
        let reached = match page {
            Page { items, next: None } if !items.is_empty() => Reached::All(items.into()),
            Page { .. } => Reached::AskStore,
        };
        self.cache.fill_reached(fill, consumer, &reached);
        Ok(reached)
    }
}

#[async_trait]
impl ReachableProjects for CachedReachableProjects {
    async fn list(
        &self,
        consumer: MembershipId,
        page: PageRequest<ProjectId>,
        now: DateTime<Utc>,
    ) -> Result<Page<Project, ProjectId>, StorageError> {
        match self.reached(consumer).await? {
            Reached::All(projects) => {
                let after = projects
                    .iter()
                    .filter(|project| page.after.is_none_or(|after| project.id < after));
                let one_more = after.take(page.size.items() + 1).cloned().collect();
                Ok(Page::from_one_more(one_more, page.size, |project| project.id))
            }
            Reached::AskStore => self.store.list(consumer, page, now).await,
        }
    }

    async fn find(
        &self,
        consumer: MembershipId,
        id: ProjectId,
        now: DateTime<Utc>,
    ) -> Result<Option<Project>, StorageError> {
        match self.reached(consumer).await? {
            Reached::All(projects) => Ok(projects.iter().find(|project| project.id == id).cloned()),
            Reached::AskStore => self.store.find(consumer, id, now).await,
        }
    }

    async fn count(&self, consumer: MembershipId, now: DateTime<Utc>) -> Result<u64, StorageError> {
        match self.reached(consumer).await? {
            Reached::All(projects) => Ok(projects.len() as u64),
            Reached::AskStore => self.store.count(consumer, now).await,
        }
    }
}
