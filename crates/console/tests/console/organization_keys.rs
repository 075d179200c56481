//! All keys of an organization, for its owners.

mod key_trees;
mod lists;
mod many;
mod revoking;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use chrono::TimeDelta;
use futures_util::FutureExt;
use keyward_domain::administration::OrganizationKeys;
use keyward_domain::administration::ports::{MockOrganizationKeyStore, OrganizationKeyStore};
use keyward_domain::api_key::{KeyPrecondition, LastUse};
use keyward_domain::audit::RequestSource;
use keyward_domain::clock::Clock;
use keyward_domain::keys::IssuedKey;
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::{DescendantKeys, KeyUse, LastUses, StorageError};
use keyward_domain::retention::ports::RetentionStore;
use keyward_domain::testing::TestInstallation;

use crate::browser::Browser;
use crate::running::Running;

const ALL: &str = "/organizations/acme/settings/api-keys/all";
const REVOKE: &str = "/organizations/acme/settings/api-keys/all/revoke";

struct Scene {
    running: Running,
    ada: Member,
    bob: Member,
    owner: Browser,
}

impl Scene {
    async fn new() -> Self {
        Self::of(Running::new().await).await
    }

    /// A console whose store takes three seconds to revoke a batch of two keys, and fails in the batches with
    /// the given numbers.
    async fn with_slow_revocations(failing: &'static [u32]) -> Self {
        let installation = TestInstallation::new();
        let slow = slow_revocations(&installation, failing);
        let running = Running::with(installation, None, |console| console.organization_keys = slow);
        Self::of(running.await).await
    }

    async fn of(running: Running) -> Self {
        let acme = running.installation.organization("Acme");
        let ada = running.installation.member(&acme, "ada", Role::Owner);
        let bob = running.installation.member(&acme, "bob", Role::Member);
        let owner = running.signed_in("ada").await;
        Self {
            running,
            ada,
            bob,
            owner,
        }
    }

    async fn issue(&self, member: &Member, name: &str) -> IssuedKey {
        self.running.installation.issue(&member.as_holder(), name).await
    }

    async fn issue_below(&self, parent: &IssuedKey, name: &str) -> IssuedKey {
        let through = self.running.installation.caller(parent).await.as_holder();
        self.running.installation.issue(&through, name).await
    }

    async fn revoke(&self, issued: &IssuedKey) {
        let holder = self.bob.as_holder();
        let (keys, source) = (self.running.installation.keys(), RequestSource::default());
        keys.revoke(
            &holder,
            issued.key.id,
            DescendantKeys::Keep,
            KeyPrecondition::AnyVersion,
            source,
        )
        .await
        .unwrap();
    }

    async fn forget_dead_keys(&self) {
        let soon = self.running.installation.builder.clock.now() + TimeDelta::milliseconds(1);
        let store = &self.running.installation.store;
        let removed = store.remove_dead_keys(soon, 100).await.unwrap();
        assert_eq!(removed, 1);
    }

    async fn use_key(&self, issued: &IssuedKey) {
        let last = LastUse {
            at: self.running.installation.builder.clock.now(),
            from: Some([203, 0, 113, 7].into()),
        };
        let used = KeyUse {
            key: issued.key.id,
            last,
        };
        let installation = &self.running.installation;
        let now = installation.builder.clock.now();
        installation.store.record(vec![used], now).await.unwrap();
    }

    async fn works(&self, issued: &IssuedKey) -> bool {
        let authenticate = self.running.installation.authenticate();
        authenticate.caller(issued.token.expose(), None).await.is_ok()
    }
}

fn slow_revocations(installation: &TestInstallation, failing: &'static [u32]) -> OrganizationKeys {
    fn answer<T>(answer: impl Future<Output = T>) -> T {
        answer.now_or_never().expect("memory does not wait")
    }
    let (make, store) = (&installation.builder, &installation.store);
    let mut slow = MockOrganizationKeyStore::new();
    let of = store.clone();
    slow.expect_list()
        .returning(move |organization, filter, page, now| {
            answer(OrganizationKeyStore::list(&of, organization, filter, page, now))
        });
    let of = store.clone();
    slow.expect_find()
        .returning(move |organization, id| answer(OrganizationKeyStore::find(&of, organization, id)));
    slow.expect_leaked_since().returning(|_, _, _| Ok(Vec::new()));
    let of = store.clone();
    slow.expect_revocation_preview()
        .returning(move |organization, selection, now| {
            answer(of.revocation_preview(organization, selection, now))
        });
    let (of, clock, batches) = (store.clone(), Arc::clone(&make.clock), AtomicU32::new(0));
    slow.expect_revoke()
        .returning(move |organization, selection, at_most, reason, note, act| {
            if failing.contains(&batches.fetch_add(1, Ordering::Relaxed)) {
                return Err(StorageError::Unavailable("it is restarted".into()).into());
            }
            clock.advance(TimeDelta::seconds(2));
            let revoking =
                OrganizationKeyStore::revoke(&of, organization, selection, at_most, reason, note, act);
            answer(revoking)
        });
    let keys = OrganizationKeys::new(Arc::new(slow), make.sources.clone());
    keys.with_batch_size(NonZeroU32::new(2).unwrap())
}

fn selecting(keys: &[&IssuedKey]) -> String {
    let boxes: Vec<String> = keys.iter().map(|key| format!("key-{}=on", key.key.id)).collect();
    format!("{REVOKE}?{}", boxes.join("&"))
}

fn boxes<'a>(keys: &'a [(String, &'a str)], more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut fields: Vec<(&str, &str)> = keys.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    fields.extend_from_slice(more);
    fields
}
