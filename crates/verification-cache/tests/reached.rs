//! The projects that consumers reach are answered from the cache until they change.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is a failed test"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::access_changes::{ChangeNumber, Concern, PolledChanges};
use keyward_domain::id::{MembershipId, OrganizationId, ProjectId};
use keyward_domain::page::{Page, PageRequest, PageSize};
use keyward_domain::ports::{ReachableProjects, StorageError};
use keyward_domain::project::{Project, ProjectName};
use keyward_verification_cache::{
    BootClock, CachedReachableProjects, MachineClock, Next, Replica, VerificationCache,
};
use uuid::Uuid;

const BOB: MembershipId = MembershipId::from_uuid(Uuid::from_u128(1));
const ACME: OrganizationId = OrganizationId::from_uuid(Uuid::from_u128(2));
const NOW: DateTime<Utc> = DateTime::UNIX_EPOCH;

/// A store that counts how often it is asked for this many projects, until the membership's planned end if it
/// has one.
struct Counted {
    projects: u128,
    end: Option<DateTime<Utc>>,
    asked: AtomicU64,
}

impl Counted {
    fn project(number: u128) -> Project {
        Project {
            id: ProjectId::from_uuid(Uuid::from_u128(number)),
            organization_id: ACME,
            name: ProjectName::parse("Notes").expect("a name"),
            created_at: NOW,
            archived_at: None,
        }
    }

    fn reached(&self, now: DateTime<Utc>) -> Vec<Project> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let is_live = self.end.is_none_or(|end| now < end);
        let projects = (1..=self.projects).rev().filter(|_| is_live);
        projects.map(Self::project).collect()
    }
}

#[async_trait]
impl ReachableProjects for Counted {
    async fn list(
        &self,
        _: MembershipId,
        page: PageRequest<ProjectId>,
        now: DateTime<Utc>,
    ) -> Result<Page<Project, ProjectId>, StorageError> {
        let mut projects = self.reached(now);
        projects.retain(|project| page.after.is_none_or(|after| project.id < after));
        Ok(Page::from_one_more(projects, page.size, |project| project.id))
    }

    async fn find(
        &self,
        _: MembershipId,
        id: ProjectId,
        now: DateTime<Utc>,
    ) -> Result<Option<Project>, StorageError> {
        Ok(self.reached(now).into_iter().find(|project| project.id == id))
    }

    async fn count(&self, _: MembershipId, now: DateTime<Utc>) -> Result<u64, StorageError> {
        Ok(self.reached(now).len() as u64)
    }
}

struct Scene {
    store: Arc<Counted>,
    replica: Replica,
    projects: CachedReachableProjects,
    changes: u64,
}

impl Scene {
    fn of(projects: u128, end: Option<DateTime<Utc>>) -> Self {
        let store = Arc::new(Counted {
            projects,
            end,
            asked: AtomicU64::new(0),
        });
        let cache = Arc::new(VerificationCache::new(1 << 20));
        let mut replica = Replica::new(Arc::clone(&cache));
        replica.registered(MachineClock.now(), ChangeNumber::from_u64(0));
        let projects = CachedReachableProjects::new(Arc::clone(&store) as _, cache, Arc::new(MachineClock));
        Self {
            store,
            replica,
            projects,
            changes: 0,
        }
    }

    fn learn_of(&mut self, concern: Concern) {
        let before = ChangeNumber::from_u64(self.changes);
        self.changes += 1;
        let counter = ChangeNumber::from_u64(self.changes);
        let polled = PolledChanges {
            counter,
            acknowledged: Some(before),
            changes: vec![(counter, concern)],
        };
        let Next::Acknowledge(acknowledgement) = self.replica.polled(MachineClock.now(), &polled) else {
            panic!("something changed");
        };
        self.replica.acknowledged(acknowledgement, true);
    }

    /// Asks for a project that Bob reaches, and for one that he does not.
    async fn ask(&self) {
        let [reached, other] = [1, 1_000].map(|number| Counted::project(number).id);
        let found = self.projects.find(BOB, reached, NOW).await.expect("an answer");
        assert_eq!(found, Some(Counted::project(1)));
        assert_eq!(
            self.projects.find(BOB, other, NOW).await.expect("an answer"),
            None
        );
    }

    fn asked(&self) -> u64 {
        self.store.asked.swap(0, Ordering::SeqCst)
    }
}

#[tokio::test]
async fn store_is_asked_once_until_the_consumer_or_organization_changes() {
    let mut scene = Scene::of(50, None);
    scene.ask().await;
    assert_eq!(scene.asked(), 1);
    let size = PageSize::new(7).expect("a size");
    let (mut listed, mut after) = (Vec::new(), None);
    loop {
        let request = PageRequest { size, after };
        let page = scene.projects.list(BOB, request, NOW).await.expect("an answer");
        listed.extend(page.items);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let all: Vec<Project> = (1..=50).rev().map(Counted::project).collect();
    assert_eq!(listed, all);
    assert_eq!(scene.projects.count(BOB, NOW).await.expect("an answer"), 50);
    scene.learn_of(Concern::Consumer(MembershipId::from_uuid(Uuid::from_u128(9))));
    scene.ask().await;
    assert_eq!(scene.asked(), 0);
    for concern in [
        Concern::Consumer(BOB),
        Concern::Organization(ACME),
        Concern::Everyone,
    ] {
        scene.learn_of(concern);
        scene.ask().await;
        assert_eq!(scene.asked(), 1, "{concern:?}");
    }
}

#[tokio::test]
async fn store_is_not_asked_again_for_consumers_without_projects() {
    let mut scene = Scene::of(0, None);
    let asks = async |scene: &Scene| {
        let find = scene.projects.find(BOB, Counted::project(1).id, NOW).await;
        assert_eq!(find.expect("an answer"), None);
        assert_eq!(scene.projects.count(BOB, NOW).await.expect("an answer"), 0);
        let request = PageRequest {
            size: PageSize::DEFAULT,
            after: None,
        };
        let page = scene.projects.list(BOB, request, NOW).await.expect("an answer");
        assert_eq!((page.items, page.next), (Vec::new(), None));
        scene.asked() > 0
    };
    assert!(asks(&scene).await);
    assert!(!asks(&scene).await);
    scene.learn_of(Concern::Consumer(MembershipId::from_uuid(Uuid::from_u128(9))));
    assert!(!asks(&scene).await);
    for concern in [
        Concern::Consumer(BOB),
        Concern::Organization(ACME),
        Concern::Everyone,
    ] {
        scene.learn_of(concern);
        assert!(asks(&scene).await, "{concern:?}");
        assert!(!asks(&scene).await, "{concern:?}");
    }
}

#[tokio::test]
async fn project_is_reached_again_before_the_end_by_another_clock() {
    let end = NOW + chrono::TimeDelta::seconds(1);
    let scene = Scene::of(3, Some(end));
    assert_eq!(scene.projects.count(BOB, end).await.expect("an answer"), 0);
    // By another server's clock, which is behind.
    assert_eq!(scene.projects.count(BOB, NOW).await.expect("an answer"), 3);
}

#[tokio::test]
async fn store_is_always_asked_for_consumers_of_many_projects() {
    let scene = Scene::of(51, None);
    scene.ask().await;
    scene.asked();
    scene.ask().await;
    assert_eq!(scene.asked(), 2);
}

#[tokio::test]
async fn project_is_not_reached_after_the_memberships_planned_end() {
    let end = NOW + chrono::TimeDelta::seconds(1);
    let scene = Scene::of(3, Some(end));
    scene.ask().await;
    let project = Counted::project(1).id;
    assert_eq!(
        scene.projects.find(BOB, project, end).await.expect("an answer"),
        None
    );
}

#[tokio::test]
async fn nothing_reached_is_kept_without_a_lease() {
    let mut scene = Scene::of(3, None);
    scene.ask().await;
    scene.replica.leave();
    scene.asked();
    scene.ask().await;
    assert_eq!(scene.asked(), 2);
}
