//! The cache takes a bounded amount of memory, and strangers fill none of it.

#![expect(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::sync::Arc;

use async_trait::async_trait;
use keyward_domain::access::{CallerOrganization, CallingKey, Credential};
use keyward_domain::access_changes::ChangeNumber;
use keyward_domain::holder::Consumer;
use keyward_domain::id::{ApiKeyId, MembershipId, OrganizationId, UserId};
use keyward_domain::organization::{OrganizationName, Slug};
use keyward_domain::ports::{Credentials, StorageError};
use keyward_domain::token::TokenDigest;
use keyward_domain::user::Username;
use keyward_verification_cache::{BootClock, CachedCredentials, MachineClock, Replica, VerificationCache};
use uuid::Uuid;

/// A store that finds this credential, as that of another key each time, or nothing.
struct Finding(Option<Credential>);

#[async_trait]
impl Credentials for Finding {
    async fn find(&self, digest: &TokenDigest) -> Result<Option<Credential>, StorageError> {
        let mut found = self.0.clone();
        if let Some(found) = &mut found {
            let (_, number) = digest.as_bytes().split_at(16);
            found.api_key.id = ApiKeyId::from_uuid(Uuid::from_slice(number).expect("16 bytes"));
        }
        Ok(found)
    }
}

fn credential() -> Credential {
    let name = OrganizationName::parse("Analytical Engines Limited").expect("a name");
    Credential {
        api_key: CallingKey {
            id: ApiKeyId::from_uuid(Uuid::nil()),
            created_at: "2026-01-01T00:00:00Z".parse().expect("a time"),
            can_manage_keys: true,
        },
        consumer: Consumer {
            id: MembershipId::from_uuid(Uuid::from_u128(1)),
            user_id: UserId::from_uuid(Uuid::from_u128(2)),
            username: Username::parse("augusta.lovelace").expect("a username"),
        },
        organization: CallerOrganization {
            id: OrganizationId::from_uuid(Uuid::from_u128(3)),
            slug: Slug::from_name(&name),
            name,
        },
        key_end: None,
        membership_end: None,
    }
}

/// Looks up this many tokens, each once, through a cache with a lease. How many it holds then, and by how many MiB the process
/// grew.
async fn look_up(tokens: u128, store: Finding, capacity: usize) -> (usize, u64) {
    let cache = Arc::new(VerificationCache::new(capacity));
    let mut replica = Replica::new(Arc::clone(&cache));
    let credentials = CachedCredentials::new(Arc::new(store), Arc::clone(&cache), Arc::new(MachineClock));
    let before = resident_mib();
    for number in 0..tokens {
        if number % 1_000 == 0 {
            replica.registered(MachineClock.now(), ChangeNumber::from_u64(0));
        }
        let mut digest = [0; 32];
        digest[16..].copy_from_slice(&number.to_be_bytes());
        let found = credentials.find(&TokenDigest::from_bytes(digest)).await;
        found.expect("an answer");
    }
    (cache.len(), resident_mib().saturating_sub(before))
}

fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = resident.and_then(|text| text.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.expect("a size") / 1024
}

#[tokio::test]
async fn cached_key_takes_at_most_half_a_kib() {
    let (held, grown) = look_up(200_000, Finding(Some(credential())), 200_000).await;
    assert!(held > 180_000, "{held}");
    assert!(grown <= 100, "{grown} MiB");
}

#[tokio::test]
async fn full_cache_evicts_instead_of_growing() {
    let (held, grown) = look_up(200_000, Finding(Some(credential())), 10_000).await;
    assert!(held <= 10_000, "{held}");
    assert!(grown <= 20, "{grown} MiB");
}

#[tokio::test]
async fn million_unknown_tokens_are_not_kept() {
    let (held, grown) = look_up(1_000_000, Finding(None), 1_000_000).await;
    assert_eq!(held, 0);
    assert!(grown <= 20, "{grown} MiB");
}
