//! What is remembered of the projects that consumers reach.

use std::sync::Arc;

use keyward_domain::id::MembershipId;
use keyward_domain::project::Project;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use uuid::Uuid;

use crate::boot_time::BootTime;
use crate::marks::Generation;

/// How many projects are held in all: 310 bytes each, and up to 700 with long names, if they are of as many consumers
/// (`docs/performance.md`). A consumer with none counts as one with one.
const CAPACITY: u64 = 200_000;

/// The projects of one consumer.
pub(crate) struct Reach {
    pub(crate) known: Generation,
    pub(crate) usable_until: BootTime,
    consumer: MembershipId,
    projects: Reached,
}

/// Which projects a consumer reaches until something changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reached {
    /// All of them, at least one, newest first. They are of one organization.
    All(Arc<[Project]>),
    /// The store has to be asked: they are too many, or the consumer's membership has a planned end, or there are none.
    AskStore,
}

impl Reach {
    pub(crate) const fn of(
        consumer: MembershipId,
        projects: Reached,
        known: Generation,
        usable_until: BootTime,
    ) -> Self {
        Self {
            known,
            usable_until,
            consumer,
            projects,
        }
    }

    pub(crate) fn projects(&self) -> Reached {
        self.projects.clone()
    }

    pub(crate) fn subjects(&self) -> impl Iterator<Item = Uuid> + use<> {
        subjects_of(self.consumer, &self.projects)
    }
}

/// Whose changes concern what a consumer reaches.
pub(crate) fn subjects_of(consumer: MembershipId, reached: &Reached) -> impl Iterator<Item = Uuid> + use<> {
    let organization = match reached {
        Reached::All(projects) => projects.first().map(|project| project.organization_id.as_uuid()),
        Reached::AskStore => None,
    };
    [Some(consumer.as_uuid()), organization].into_iter().flatten()
}

/// A project counts as much as another.
#[derive(Clone)]
pub(crate) struct ByProjects;

impl Weighter<MembershipId, Arc<Reach>> for ByProjects {
    fn weight(&self, _: &MembershipId, reach: &Arc<Reach>) -> u64 {
        match &reach.projects {
            Reached::All(projects) => projects.len() as u64,
            Reached::AskStore => 1,
        }
    }
}

pub(crate) type Reaches = Cache<MembershipId, Arc<Reach>, ByProjects>;

pub(crate) fn reaches() -> Reaches {
    Cache::with_weighter(CAPACITY as usize, CAPACITY, ByProjects)
}
