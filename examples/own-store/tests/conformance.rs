//! The store keeps every promise of Keyward's key ports.

#![expect(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use keyward_domain::api_key::{ApiKey, Revocation};
use keyward_domain::id::MembershipId;
use keyward_domain::membership::Membership;
use keyward_domain::organization::Organization;
use keyward_domain::testing::conformance::{Arrange, KeyStores};
use keyward_domain::user::User;
use keyward_domain::validity::End;
use own_store::FileStore;
use tempfile::TempDir;

keyward_domain::key_conformance_tests!(
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    fresh_store
);

async fn fresh_store() -> KeyStores {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = FileStore::open(&folder.path().join("planner.redb")).expect("a store");
    let people = Arc::new(OwnPeople {
        store: store.clone(),
        _folder: folder,
    });
    KeyStores::of(Arc::new(store), people, |task| {
        let running = tokio::spawn(task);
        Box::pin(async { running.await.expect("the task does not panic") })
    })
}

/// How people come and go here; and keeps the folder as long as the test.
struct OwnPeople {
    store: FileStore,
    _folder: TempDir,
}

#[async_trait]
impl Arrange for OwnPeople {
    async fn add_organization(&self, organization: Organization) {
        self.store.add_organization(organization).await.expect("added");
    }

    async fn add_user(&self, user: User) {
        self.store.add_person(user).await.expect("added");
    }

    async fn add_membership(&self, membership: Membership) {
        self.store.add_membership(membership).await.expect("added");
    }

    async fn end_membership(&self, membership: MembershipId, at: DateTime<Utc>) {
        let end = End::Come(at);
        self.store.end_membership(membership, end).await.expect("ended");
    }

    async fn plan_end_of_membership(&self, membership: MembershipId, at: DateTime<Utc>) {
        let end = End::Planned(at);
        self.store.end_membership(membership, end).await.expect("planned");
    }

    async fn plan_revocation(&self, key: &ApiKey, revocation: Revocation) {
        let planned = ApiKey {
            revocation: Some(revocation),
            ..key.clone()
        };
        self.store.replace_key(planned).await.expect("planned");
    }
}
