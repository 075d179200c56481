//! One remembered verification, in little space: there may be a million.

use std::sync::Arc;

use keyward_domain::access::{CallerOrganization, CallingKey, Credential};
use keyward_domain::holder::Consumer;
use keyward_domain::id::{ApiKeyId, MembershipId, OrganizationId};
use keyward_domain::validity::End;
use quick_cache::sync::Cache;
use uuid::Uuid;

use crate::boot_time::BootTime;
use crate::marks::Generation;

/// A credential, shared as far as several entries have it in common.
pub(crate) struct Entry {
    pub(crate) known: Generation,
    /// From when on the database is asked again.
    pub(crate) usable_until: BootTime,
    api_key: CallingKey,
    consumer: Consumer,
    organization: Arc<CallerOrganization>,
    /// Few have any.
    planned_ends: Option<Box<PlannedEnds>>,
}

struct PlannedEnds {
    key: Option<End>,
    membership: Option<End>,
}

impl Entry {
    pub(crate) fn of(
        credential: &Credential,
        known: Generation,
        usable_until: BootTime,
        organizations: &Organizations,
    ) -> Self {
        let Credential {
            api_key,
            consumer,
            organization,
            key_end,
            membership_end,
        } = credential;
        let planned_ends = match (*key_end, *membership_end) {
            (None, None) => None,
            (key, membership) => Some(Box::new(PlannedEnds { key, membership })),
        };
        Self {
            known,
            usable_until,
            api_key: *api_key,
            consumer: consumer.clone(),
            organization: organizations.shared(organization),
            planned_ends,
        }
    }

    pub(crate) fn credential(&self) -> Credential {
        let ends = self.planned_ends.as_deref();
        Credential {
            api_key: self.api_key,
            consumer: self.consumer.clone(),
            organization: CallerOrganization::clone(&self.organization),
            key_end: ends.and_then(|ends| ends.key),
            membership_end: ends.and_then(|ends| ends.membership),
        }
    }

    /// Whose changes concern it.
    pub(crate) fn subjects(&self) -> [Uuid; 3] {
        subjects(self.api_key.id, self.consumer.id, self.organization.id)
    }
}

/// Whose changes concern a credential.
pub(crate) const fn subjects_of(credential: &Credential) -> [Uuid; 3] {
    let Credential {
        api_key,
        consumer,
        organization,
        ..
    } = credential;
    subjects(api_key.id, consumer.id, organization.id)
}

const fn subjects(key: ApiKeyId, consumer: MembershipId, organization: OrganizationId) -> [Uuid; 3] {
    [key.as_uuid(), consumer.as_uuid(), organization.as_uuid()]
}

/// The organizations that entries share: each is held once, however many keys it has.
pub(crate) struct Organizations(Cache<OrganizationId, Arc<CallerOrganization>>);

impl Organizations {
    /// An organization that is not among the last so many may be held more than once.
    const CAPACITY: usize = 65_536;

    pub(crate) fn new() -> Self {
        Self(Cache::new(Self::CAPACITY))
    }

    fn shared(&self, organization: &CallerOrganization) -> Arc<CallerOrganization> {
        match self.0.get(&organization.id) {
            Some(shared) if *shared == *organization => shared,
            _ => {
                let shared = Arc::new(organization.clone());
                self.0.insert(organization.id, Arc::clone(&shared));
                shared
            }
        }
    }

    pub(crate) fn clear(&self) {
        self.0.clear();
    }
}
