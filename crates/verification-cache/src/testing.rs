//! For tests of stores behind the cache.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::access::Credential;
use keyward_domain::access_changes::ReplicaId;
use keyward_domain::id::{MembershipId, ProjectId};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::{AccessChanges, Credentials, ReachableProjects, StorageError};
use keyward_domain::project::Project;
use keyward_domain::token::TokenDigest;
use tokio::sync::Mutex;

use crate::{
    BootClock, CachedCredentials, CachedReachableProjects, MachineClock, Next, Replica, VerificationCache,
};

/// Credentials and reachable projects of a store behind a cache that is polled before each look-up, as it is
/// when a revocation was waited for: the conformance suite revokes through ports, which do not wait for
/// replicas as use cases do.
///
/// It panics if the cache's answer differs from the store's, or if it keeps the wrong entries.
pub struct PolledStore {
    changes: Arc<dyn AccessChanges>,
    id: ReplicaId,
    replica: Mutex<Replica>,
    cache: Arc<VerificationCache>,
    credentials: CachedCredentials,
    projects: CachedReachableProjects,
}

impl PolledStore {
    /// Puts a cache before a store.
    #[must_use]
    pub fn new<S: AccessChanges + Credentials + ReachableProjects + 'static>(
        store: Arc<S>,
        id: ReplicaId,
    ) -> Self {
        let cache = Arc::new(VerificationCache::new(1 << 20));
        let clock = Arc::new(MachineClock);
        Self {
            changes: Arc::clone(&store) as _,
            id,
            replica: Mutex::new(Replica::new(Arc::clone(&cache))),
            credentials: CachedCredentials::new(
                Arc::clone(&store) as _,
                Arc::clone(&cache),
                Arc::clone(&clock) as _,
            ),
            projects: CachedReachableProjects::new(store as _, Arc::clone(&cache), clock as _),
            cache,
        }
    }

    async fn round(&self, replica: &mut Replica) -> Result<(), StorageError> {
        let sent = MachineClock.now();
        let polled = self.changes.poll(self.id, replica.last_acknowledged()).await?;
        let mut next = replica.polled(sent, &polled);
        loop {
            next = match next {
                Next::Poll => return Ok(()),
                Next::Acknowledge(acknowledgement) => {
                    let is_registered = self
                        .changes
                        .acknowledge(self.id, acknowledgement.counter())
                        .await?;
                    replica.acknowledged(acknowledgement, is_registered)
                }
                Next::Register => {
                    replica.begin_registration();
                    let sent = MachineClock.now();
                    replica.registered(sent, self.changes.register(self.id, "conformance").await?);
                    Next::Poll
                }
            };
        }
    }
}

#[async_trait]
impl Credentials for PolledStore {
    async fn find(&self, digest: &TokenDigest) -> Result<Option<Credential>, StorageError> {
        // One look-up at a time, so that nothing is evicted between its steps.
        let mut replica = self.replica.lock().await;
        self.round(&mut replica).await?;
        let first = self.credentials.find(digest).await?;
        let again = self.credentials.find(digest).await?;
        assert_eq!(first, again, "the cache repeats the store");
        let is_accepted = first.as_ref().is_some_and(|found| !found.has_ended());
        let now = MachineClock.now();
        if self.cache.has_lease(now) {
            let is_kept = self.cache.find(digest, now).is_some();
            assert_eq!(is_kept, is_accepted, "what has not ended is in the cache");
        }
        Ok(again)
    }
}

/// Asks twice, so that the second answer comes from the cache if it may.
#[async_trait]
impl ReachableProjects for PolledStore {
    async fn list(
        &self,
        consumer: MembershipId,
        page: PageRequest<ProjectId>,
        now: DateTime<Utc>,
    ) -> Result<Page<Project, ProjectId>, StorageError> {
        let mut replica = self.replica.lock().await;
        self.round(&mut replica).await?;
        self.projects.list(consumer, page, now).await?;
        self.projects.list(consumer, page, now).await
    }

    async fn find(
        &self,
        consumer: MembershipId,
        id: ProjectId,
        now: DateTime<Utc>,
    ) -> Result<Option<Project>, StorageError> {
        let mut replica = self.replica.lock().await;
        self.round(&mut replica).await?;
        self.projects.find(consumer, id, now).await?;
        self.projects.find(consumer, id, now).await
    }

    async fn count(&self, consumer: MembershipId, now: DateTime<Utc>) -> Result<u64, StorageError> {
        let mut replica = self.replica.lock().await;
        self.round(&mut replica).await?;
        self.projects.count(consumer, now).await?;
        self.projects.count(consumer, now).await
    }
}
