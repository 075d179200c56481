//! The organizations of remembered verifications: each is held once, however many keys it has.

use keyward_domain::access::CallerOrganization;
use keyward_domain::id::OrganizationId;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::marks::{Generation, Marks};
use crate::memory::{allocation, cache, slot};

/// Organizations in a bounded amount of memory. An entry whose organization is not held is not answered.
pub(crate) struct Organizations(Cache<OrganizationId, Held, InBytes>);

#[derive(Clone)]
struct Held {
    known: Generation,
    organization: CallerOrganization,
}

impl Held {
    fn is_current(&self, marks: &Marks) -> bool {
        marks.are_older_than(self.known, [self.organization.id.as_uuid()])
    }
}

impl Organizations {
    pub(crate) fn within(bytes: usize) -> Self {
        const FEW_LETTERS: usize = 2 * allocation(0);
        let least = slot::<OrganizationId, Held>() + FEW_LETTERS;
        Self(cache(bytes / least, bytes, InBytes))
    }

    /// The organization as last read, if it has not changed since.
    pub(crate) fn find(&self, id: OrganizationId, marks: &Marks) -> Option<CallerOrganization> {
        let held = self.0.get(&id).filter(|held| held.is_current(marks));
        held.map(|held| held.organization)
    }

    /// Remembers the result of a query.
    pub(crate) fn fill(&self, organization: &CallerOrganization, known: Generation, marks: &Marks) {
        if self.find(organization.id, marks).as_ref() != Some(organization) {
            let organization = organization.clone();
            self.0.insert(organization.id, Held { known, organization });
        }
    }
}

#[derive(Clone)]
struct InBytes;

impl Weighter<OrganizationId, Held> for InBytes {
    fn weight(&self, _: &OrganizationId, held: &Held) -> u64 {
        let CallerOrganization { id: _, name, slug } = &held.organization;
        let texts = [name.as_str(), slug.as_str()].map(|text| allocation(text.len()));
        (slot::<OrganizationId, Held>() + texts.iter().sum::<usize>()) as u64
    }
}

/// For the exploration, which copies states.
#[cfg(test)]
impl Organizations {
    pub(crate) fn few() -> Self {
        Self(cache(8, 4_096, InBytes))
    }

    pub(crate) fn fork(&self) -> Self {
        let fork = Self::few();
        for (id, held) in self.0.iter() {
            fork.0.insert(id, held);
        }
        fork
    }
}
