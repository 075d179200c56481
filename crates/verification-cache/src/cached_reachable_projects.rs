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

/// A time after all planned ends. A consumer that reaches a project then has a membership without a planned
/// end, and reaches it at any time until something changes.
const AFTER_ALL_ENDS: DateTime<Utc> = DateTime::from_timestamp(253_402_300_799, 0).unwrap();

/// The projects that consumers reach, read from a store, and cached for consumers that reach few or none.
#[derive(Clone)]
pub struct CachedReachableProjects {
    store: Arc<dyn ReachableProjects>,
    cache: Arc<VerificationCache>,
    clock: Arc<dyn BootClock>,
}

impl CachedReachableProjects {
    /// A consumer that reaches more is not kept.
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

    async fn reached(
        &self,
        consumer: MembershipId,
        time_of_day: DateTime<Utc>,
    ) -> Result<Reached, StorageError> {
        let now = self.clock.now();
        match self.cache.find_reached(consumer, now) {
            Some(Reached::NoneSince(since)) if time_of_day < since => return Ok(Reached::AskStore),
            Some(reached) => return Ok(reached),
            None => {}
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
            Page { next: Some(_), .. } => Reached::AskStore,
            // Or the membership has a planned end, before which it reaches something.
            Page { .. } => match self.store.count(consumer, time_of_day).await? {
                0 => Reached::NoneSince(time_of_day),
                _ => Reached::AskStore,
            },
        };
        self.cache.fill_reached(fill, consumer, reached.clone());
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
        match self.reached(consumer, now).await? {
            Reached::All(projects) => {
                let after = projects
                    .iter()
                    .filter(|project| page.after.is_none_or(|after| project.id < after));
                let one_more = after.take(page.size.items() + 1).cloned().collect();
                Ok(Page::from_one_more(one_more, page.size, |project| project.id))
            }
            Reached::NoneSince(_) => Ok(Page {
                items: Vec::new(),
                next: None,
            }),
            Reached::AskStore => self.store.list(consumer, page, now).await,
        }
    }

    async fn find(
        &self,
        consumer: MembershipId,
        id: ProjectId,
        now: DateTime<Utc>,
    ) -> Result<Option<Project>, StorageError> {
        match self.reached(consumer, now).await? {
            Reached::All(projects) => Ok(projects.iter().find(|project| project.id == id).cloned()),
            Reached::NoneSince(_) => Ok(None),
            Reached::AskStore => self.store.find(consumer, id, now).await,
        }
    }

    async fn count(&self, consumer: MembershipId, now: DateTime<Utc>) -> Result<u64, StorageError> {
        match self.reached(consumer, now).await? {
            Reached::All(projects) => Ok(projects.len() as u64),
            Reached::NoneSince(_) => Ok(0),
            Reached::AskStore => self.store.count(consumer, now).await,
        }
    }
}
