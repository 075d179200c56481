//! The cache takes a bounded amount of memory, and strangers fill none of it.

#![expect(clippy::expect_used, reason = "a failed expectation is a failed test")]

mod stored;

use std::sync::Arc;

use async_trait::async_trait;
use keyward_domain::access::Credential;
use keyward_domain::access_changes::ChangeNumber;
use keyward_domain::id::{ApiKeyId, MembershipId, UserId};
use keyward_domain::ports::{Credentials, StorageError};
use keyward_domain::token::TokenDigest;
use keyward_verification_cache::{BootClock, CachedCredentials, MachineClock, Replica, VerificationCache};
use uuid::Uuid;

use crate::stored::credential;

/// A store that finds this credential, as that of another key and consumer each time, or nothing.
struct Finding(Option<Credential>);

#[async_trait]
impl Credentials for Finding {
    async fn find(&self, digest: &TokenDigest) -> Result<Option<Credential>, StorageError> {
        let mut found = self.0.clone();
        if let Some(found) = &mut found {
            let (_, number) = digest.as_bytes().split_at(16);
            let id = Uuid::from_slice(number).expect("16 bytes");
            found.api_key.id = ApiKeyId::from_uuid(id);
            found.consumer.id = MembershipId::from_uuid(id);
            found.consumer.user_id = UserId::from_uuid(id);
        }
        Ok(found)
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
async fn quarter_million_keys_take_at_most_64_mib() {
    let (held, grown) = look_up(250_000, Finding(Some(credential())), 250_000).await;
    assert!(held > 230_000, "{held}");
    assert!(grown <= 64, "{grown} MiB");
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
