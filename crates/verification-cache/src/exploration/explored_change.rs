//! The kinds of change that walks explore, and the lookups that the changes concern.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use keyward_domain::access::{CallerOrganization, CallingKey, Credential};
use keyward_domain::access_changes::Concern;
use keyward_domain::holder::Consumer;
use keyward_domain::id::{ApiKeyId, MembershipId, OrganizationId, ProjectId, UserId};
use keyward_domain::organization::{OrganizationName, Slug};
use keyward_domain::project::{Project, ProjectName};
use keyward_domain::token::TokenDigest;
use keyward_domain::user::Username;
use uuid::Uuid;

use crate::boot_time::BootTime;
use crate::reaches::Reached;
use crate::{Fill, VerificationCache};

/// The number of one of two keys, or of two consumers.
pub(super) type Key = usize;

/// The change of access in a walk. The walk uses the terms of a revocation for all changes: to revoke is to
/// make the change, and to accept is to answer as before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) enum ExploredChange {
    /// A key is revoked.
    #[default]
    Key,
    /// A consumer is removed from its only project.
    Removal,
    /// A consumer is added to its first project.
    Addition,
    /// The only project of a consumer is archived.
    Archival,
    /// The only project of a consumer is restored.
    Restoration,
}

impl ExploredChange {
    pub(super) const fn concern(self, key: Key) -> Concern {
        match self {
            Self::Key => Concern::ApiKey(api_key(key)),
            Self::Removal | Self::Addition => Concern::Consumer(consumer(key)),
            Self::Archival | Self::Restoration => Concern::Organization(organization()),
        }
    }

    /// Whether the cache answers as before the change; `None` if it does not answer.
    pub(super) fn find(self, cache: &VerificationCache, key: Key, now: BootTime) -> Option<bool> {
        match self {
            Self::Key => cache.find(&digest(key), now).map(|_| true),
            _ => {
                let reached = cache.find_reached(consumer(key), now)?;
                Some(self.reached(true) == Some(reached))
            }
        }
    }

    /// Remembers what a query found, before the change or after it.
    pub(super) fn fill(self, cache: &VerificationCache, fill: Fill, key: Key, is_before: bool) {
        match self.reached(is_before) {
            Some(reached) => cache.fill_reached(fill, consumer(key), reached),
            None if is_before => cache.fill(fill, &digest(key), valid(key)),
            None => {}
        }
    }

    /// For how long the result of a query would be remembered, before the change and after it.
    pub(super) fn would_fill(
        self,
        cache: &VerificationCache,
        fill: Fill,
        key: Key,
        now: BootTime,
    ) -> [Option<Duration>; 2] {
        match self {
            Self::Key => [cache.would_fill(fill, valid(key), now), None],
            _ => [true, false].map(|is_before| {
                let reached = self.reached(is_before)?;
                cache.would_fill_reached(fill, consumer(key), &reached, now)
            }),
        }
    }

    /// The projects that a consumer reaches before or after the change; `None` for a revoked key.
    fn reached(self, is_before: bool) -> Option<Reached> {
        let reaches_project = match self {
            Self::Key => return None,
            Self::Removal | Self::Archival => is_before,
            Self::Addition | Self::Restoration => !is_before,
        };
        Some(if reaches_project {
            static PROJECTS: LazyLock<Arc<[Project]>> = LazyLock::new(|| Arc::new([project()]));
            Reached::All(Arc::clone(&PROJECTS))
        } else {
            Reached::NoneSince("2026-01-01T00:00:00Z".parse().unwrap())
        })
    }
}

fn digest(key: Key) -> TokenDigest {
    TokenDigest::from_bytes([u8::try_from(key).unwrap(); 32])
}

const fn api_key(key: Key) -> ApiKeyId {
    ApiKeyId::from_uuid(Uuid::from_u128(1 + key as u128))
}

const fn organization() -> OrganizationId {
    OrganizationId::from_uuid(Uuid::from_u128(4))
}

const fn consumer(key: Key) -> MembershipId {
    MembershipId::from_uuid(Uuid::from_u128(5 + key as u128))
}

/// The credential that a query finds while the key is valid.
fn valid(key: Key) -> &'static Credential {
    static VALID: LazyLock<[Credential; 2]> = LazyLock::new(|| [0, 1].map(credential));
    &VALID[key]
}

fn credential(key: Key) -> Credential {
    let name = OrganizationName::parse("Acme").unwrap();
    Credential {
        api_key: CallingKey {
            id: api_key(key),
            created_at: "2026-01-01T00:00:00Z".parse().unwrap(),
            can_manage_keys: true,
        },
        consumer: Consumer {
            id: MembershipId::from_uuid(Uuid::from_u128(3)),
            user_id: UserId::from_uuid(Uuid::from_u128(4)),
            username: Username::parse("ada").unwrap(),
        },
        organization: CallerOrganization {
            id: organization(),
            slug: Slug::from_name(&name),
            name,
        },
        key_end: None,
        membership_end: None,
    }
}

fn project() -> Project {
    Project {
        id: ProjectId::from_uuid(Uuid::from_u128(7)),
        organization_id: organization(),
        name: ProjectName::parse("Engine").unwrap(),
        created_at: "2026-01-01T00:00:00Z".parse().unwrap(),
        archived_at: None,
    }
}
