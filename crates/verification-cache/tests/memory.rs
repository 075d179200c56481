//! The cache takes a bounded amount of memory, and strangers fill none of it.

#![expect(clippy::expect_used, reason = "a failed expectation is a failed test")]

mod stored;

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::access::Credential;
use keyward_domain::access_changes::ChangeNumber;
use keyward_domain::id::{ApiKeyId, MembershipId, OrganizationId, ProjectId, UserId};
use keyward_domain::organization::{OrganizationName, Slug};
use keyward_domain::page::{Page, PageRequest};
use keyward_domain::ports::{Credentials, ReachableProjects, StorageError};
use keyward_domain::project::{Project, ProjectName};
use keyward_domain::token::TokenDigest;
use keyward_domain::user::Username;
use keyward_domain::validity::End;
use keyward_verification_cache::{
    BootClock, CachedCredentials, CachedReachableProjects, MachineClock, Replica, VerificationCache,
};
use uuid::Uuid;

use crate::stored::credential;

const MIB: usize = 1 << 20;

/// A store that finds this credential, as that of another key and consumer each time, or nothing. A consumer
/// reaches one project, of the credential's organization.
#[derive(Clone)]
struct Finding {
    credential: Option<Credential>,
    /// Each key is in an organization of its own.
    own_organizations: bool,
}

impl Finding {
    fn short() -> Self {
        Self {
            credential: Some(credential()),
            own_organizations: false,
        }
    }

    /// A credential in which every value takes its maximum memory.
    fn largest() -> Self {
        let mut credential = credential();
        credential.consumer.username = Username::parse(&"x".repeat(Username::MAX)).expect("a name");
        credential.organization.name = OrganizationName::parse(&"😀".repeat(100)).expect("a name");
        credential.organization.slug = Slug::parse(&"x".repeat(Slug::MAX)).expect("a slug");
        let end = Some(End::Planned("2036-01-01T00:00:00Z".parse().expect("a time")));
        (credential.key_end, credential.membership_end) = (end, end);
        Self {
            credential: Some(credential),
            own_organizations: true,
        }
    }
}

#[async_trait]
impl Credentials for Finding {
    async fn find(&self, digest: &TokenDigest) -> Result<Option<Credential>, StorageError> {
        let mut found = self.credential.clone();
        if let Some(found) = &mut found {
            let (_, number) = digest.as_bytes().split_at(16);
            let id = Uuid::from_slice(number).expect("16 bytes");
            found.api_key.id = ApiKeyId::from_uuid(id);
            found.consumer.id = MembershipId::from_uuid(id);
            found.consumer.user_id = UserId::from_uuid(id);
            if self.own_organizations {
                found.organization.id = OrganizationId::from_uuid(id);
            }
        }
        Ok(found)
    }
}

#[async_trait]
impl ReachableProjects for Finding {
    async fn list(
        &self,
        _: MembershipId,
        _: PageRequest<ProjectId>,
        now: DateTime<Utc>,
    ) -> Result<Page<Project, ProjectId>, StorageError> {
        let organization = &self.credential.as_ref().expect("one").organization;
        let project = Project {
            id: ProjectId::from_uuid(Uuid::from_u128(1)),
            organization_id: organization.id,
            name: ProjectName::parse(organization.name.as_str()).expect("a name"),
            created_at: now,
            archived_at: None,
        };
        Ok(Page {
            items: vec![project],
            next: None,
        })
    }

    async fn find(
        &self,
        _: MembershipId,
        _: ProjectId,
        _: DateTime<Utc>,
    ) -> Result<Option<Project>, StorageError> {
        Ok(None)
    }

    async fn count(&self, _: MembershipId, _: DateTime<Utc>) -> Result<u64, StorageError> {
        Ok(1)
    }
}

/// Credentials that were looked up once each, through a cache with a lease.
struct LookedUp {
    tokens: Range<u128>,
    consumers: Range<u128>,
}

/// How many keys and consumers are answered from memory afterwards, and by how many MiB the process grew.
async fn look_up(looked_up: LookedUp, store: Finding, bytes: usize) -> (usize, usize, u64) {
    let before = resident_mib();
    let cache = Arc::new(VerificationCache::new(bytes));
    let mut replica = Replica::new(Arc::clone(&cache));
    let (clock, store) = (Arc::new(MachineClock), Arc::new(store));
    let credentials = CachedCredentials::new(
        Arc::clone(&store) as _,
        Arc::clone(&cache),
        Arc::clone(&clock) as _,
    );
    let projects = CachedReachableProjects::new(store as _, Arc::clone(&cache), clock as _);
    for number in looked_up.tokens.clone() {
        if number % 1_000 == 0 {
            replica.registered(MachineClock.now(), ChangeNumber::from_u64(0));
        }
        let found = credentials.find(&digest(number)).await;
        found.expect("an answer");
    }
    for number in looked_up.consumers.clone() {
        if number % 1_000 == 0 {
            replica.registered(MachineClock.now(), ChangeNumber::from_u64(0));
        }
        let consumer = MembershipId::from_uuid(Uuid::from_u128(number));
        let count = projects.count(consumer, DateTime::UNIX_EPOCH).await;
        assert_eq!(count.expect("an answer"), 1);
    }
    let grown = resident_mib().saturating_sub(before);
    replica.registered(MachineClock.now(), ChangeNumber::from_u64(0));
    let keys = looked_up
        .tokens
        .filter(|number| credentials.remembered(&digest(*number)).is_some());
    (keys.count(), cache.len_reached(), grown)
}

fn digest(number: u128) -> TokenDigest {
    let mut digest = [0; 32];
    digest[16..].copy_from_slice(&number.to_be_bytes());
    TokenDigest::from_bytes(digest)
}

fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = resident.and_then(|text| text.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.expect("a size") / 1024
}

fn keys(number: u128) -> LookedUp {
    LookedUp {
        tokens: 0..number,
        consumers: 0..0,
    }
}

#[tokio::test]
async fn quarter_million_keys_fit_into_a_quarter_of_250_mib() {
    let (held, _, grown) = look_up(keys(250_000), Finding::short(), 250 * MIB / 4).await;
    assert!(held > 245_000, "{held}");
    assert!(grown <= 63, "{grown} MiB");
}

#[tokio::test]
async fn largest_entries_take_no_more_than_the_cache_may() {
    let looked_up = LookedUp {
        tokens: 0..120_000,
        consumers: 0..40_000,
    };
    let (held, consumers, grown) = look_up(looked_up, Finding::largest(), 24 * MIB).await;
    assert!(held > 1_000, "{held} keys");
    assert!(consumers > 1_000, "{consumers} consumers");
    // The process itself takes up to one MiB more than at its start.
    assert!(grown <= 25, "{grown} MiB");
}

#[tokio::test]
async fn full_cache_evicts_instead_of_growing() {
    let (held, _, grown) = look_up(keys(200_000), Finding::short(), 2 * MIB).await;
    assert!((1_000..10_000).contains(&held), "{held}");
    assert!(grown <= 3, "{grown} MiB");
}

#[tokio::test]
async fn million_unknown_tokens_are_not_kept() {
    let store = Finding {
        credential: None,
        ..Finding::short()
    };
    let (held, _, grown) = look_up(keys(1_000_000), store, 250 * MIB).await;
    assert_eq!(held, 0);
    assert!(grown <= 20, "{grown} MiB");
}
