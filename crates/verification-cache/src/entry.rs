//! One remembered verification, in little space: there may be a million.

use std::str;

use chrono::{DateTime, Utc};
use keyward_domain::access::{CallerOrganization, CallingKey, Credential};
use keyward_domain::holder::Consumer;
use keyward_domain::id::{ApiKeyId, MembershipId, OrganizationId, UserId};
use keyward_domain::user::Username;
use keyward_domain::validity::End;
use uuid::Uuid;

use crate::boot_time::BootTime;
use crate::marks::Generation;

/// A credential, but for its organization, which many have in common. It points to nothing, so all take the
/// same memory.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) known: Generation,
    /// From when on the database is asked again.
    pub(crate) usable_until: BootTime,
    pub(crate) organization: OrganizationId,
    api_key: ApiKeyId,
    created_at: DateTime<Utc>,
    can_manage_keys: bool,
    consumer: MembershipId,
    user: UserId,
    username: [u8; Username::MAX],
    length: u8,
    /// When the key and the membership end, if that is planned.
    planned_ends: [Option<DateTime<Utc>>; 2],
}

impl Entry {
    /// `None` if the credential has ended.
    pub(crate) fn of(credential: &Credential, known: Generation, usable_until: BootTime) -> Option<Self> {
        let Credential {
            api_key,
            consumer,
            organization,
            key_end,
            membership_end,
        } = credential;
        let name = consumer.username.as_str().as_bytes();
        let mut username = [0; Username::MAX];
        username.get_mut(..name.len())?.copy_from_slice(name);
        Some(Self {
            known,
            usable_until,
            organization: organization.id,
            api_key: api_key.id,
            created_at: api_key.created_at,
            can_manage_keys: api_key.can_manage_keys,
            consumer: consumer.id,
            user: consumer.user_id,
            username,
            length: u8::try_from(name.len()).ok()?,
            planned_ends: [planned(*key_end)?, planned(*membership_end)?],
        })
    }

    /// The credential as it was remembered, completed with the organization that the entry only identifies.
    pub(crate) fn credential(&self, organization: CallerOrganization) -> Option<Credential> {
        let username = self.username.get(..usize::from(self.length))?;
        let username = Username::parse(str::from_utf8(username).ok()?).ok()?;
        let [key_end, membership_end] = self.planned_ends.map(|end| end.map(End::Planned));
        Some(Credential {
            api_key: CallingKey {
                id: self.api_key,
                created_at: self.created_at,
                can_manage_keys: self.can_manage_keys,
            },
            consumer: Consumer {
                id: self.consumer,
                user_id: self.user,
                username,
            },
            organization,
            key_end,
            membership_end,
        })
    }

    /// The key, the consumer and the organization whose changes concern it.
    pub(crate) const fn subjects(&self) -> [Uuid; 3] {
        subjects(self.api_key, self.consumer, self.organization)
    }
}

/// The time of a planned end; `None` if it has come.
const fn planned(end: Option<End>) -> Option<Option<DateTime<Utc>>> {
    match end {
        None => Some(None),
        Some(End::Planned(at)) => Some(Some(at)),
        Some(End::Come(_)) => None,
    }
}

/// The key, the consumer and the organization whose changes concern a credential.
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
