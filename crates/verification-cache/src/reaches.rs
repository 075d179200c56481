//! The remembered projects that consumers reach.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use keyward_domain::id::MembershipId;
use keyward_domain::project::Project;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::boot_time::BootTime;
use crate::marks::{Generation, Marks};
use crate::memory::{allocation, cache, slot};

/// The projects of one consumer.
#[derive(Clone)]
pub(crate) struct Reach {
    pub(crate) known: Generation,
    pub(crate) usable_until: BootTime,
    pub(crate) projects: Reached,
}

/// Which projects a consumer reaches until something changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reached {
    /// All of them, newest first. They are of one organization.
    All(Arc<[Project]>),
    /// None at this moment, and so none later.
    NoneSince(DateTime<Utc>),
    /// The store has to be asked: they are too many, or the consumer's membership has a planned end.
    AskStore,
}

impl Reached {
    /// Whether this was still so when these marks were made, if it was when the generation was. Only a change
    /// in its organization can give a project to a consumer that has none; which one that is, is not known.
    pub(crate) fn is_current(&self, consumer: MembershipId, known: Generation, marks: &Marks) -> bool {
        let organization = match self {
            Self::All(projects) => projects.first().map(|project| project.organization_id.as_uuid()),
            Self::NoneSince(_) if !marks.are_older_than_any_organization(known) => return false,
            Self::NoneSince(_) | Self::AskStore => None,
        };
        let subjects = [Some(consumer.as_uuid()), organization].into_iter().flatten();
        marks.are_older_than(known, subjects)
    }
}

#[derive(Clone)]
pub(crate) struct InBytes;

impl Weighter<MembershipId, Reach> for InBytes {
    fn weight(&self, _: &MembershipId, reach: &Reach) -> u64 {
        let projects = match &reach.projects {
            Reached::All(projects) => {
                const COUNTS: usize = 16;
                let names = projects
                    .iter()
                    .map(|project| allocation(project.name.as_str().len()));
                allocation(COUNTS + size_of_val::<[Project]>(projects)) + names.sum::<usize>()
            }
            Reached::NoneSince(_) | Reached::AskStore => 0,
        };
        (slot::<MembershipId, Reach>() + projects) as u64
    }
}

pub(crate) type Reaches = Cache<MembershipId, Reach, InBytes>;

/// A cache of what consumers reach, of at most this many bytes.
pub(crate) fn reaches_within(bytes: usize) -> Reaches {
    // Most reach at least one project.
    let least = slot::<MembershipId, Reach>() + allocation(size_of::<Project>());
    cache(bytes / least, bytes, InBytes)
}
