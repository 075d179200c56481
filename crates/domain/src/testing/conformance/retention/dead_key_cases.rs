//! Cases of [`RetentionStore::remove_dead_keys`](crate::retention::ports::RetentionStore::remove_dead_keys):
//! the keys that go.

use std::sync::Arc;

use chrono::TimeDelta;
use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::parallel::{abandon, eventually};
use super::super::scene::Scene;
use super::scene::{ALL, MILLISECOND};
use crate::administration::ports::{KeyTree, KeyTreeSize, OrganizationKeyFilter};
use crate::api_key::ApiKey;
use crate::page::{PageRequest, PageSize};
use crate::ports::{KeyFilter, StatusFilter};

pub(super) async fn keys_are_removed_after_their_retention(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let valid = scene.add_key(&ada, "valid").await;
    let mut died = Vec::new();
    for member in [&ada, &bob, &ada] {
        let key = scene.add_key(member, "revoked").await;
        scene.kill(member, &key).await;
        died.push((key, scene.now()));
        scene.later(MILLISECOND);
    }

    assert_eq!(scene.remove_keys_dead_before(died[0].1, ALL).await, 0);
    assert_eq!(scene.remove_keys_dead_before(died[2].1, ALL).await, 2);
    let keys: Vec<ApiKey> = died.into_iter().map(|(key, _)| key).collect();
    assert_eq!(scene.kept(&keys).await, keys[2..]);
    scene.later(TimeDelta::days(10_000));
    assert_eq!(scene.remove_dead_keys(ALL).await, 1);
    assert_eq!(scene.stored(&valid).await, valid);
    assert_eq!(scene.remove_dead_keys(ALL).await, 0);
}

pub(super) async fn keys_of_an_ended_membership_are_removed_after_retention(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let never_revoked = scene.add_key(&bob, "never revoked").await;
    let revoked_later = scene.add_key(&bob, "revoked later").await;
    scene.end_membership(&bob).await;
    let left_at = scene.now();
    let again = scene.join_also(&bob.user, &ada.organization).await;
    let of_newcomer = scene.add_key(&again, "of the newcomer").await;
    scene.later(TimeDelta::days(1));
    scene.kill(&bob, &revoked_later).await;

    assert_eq!(scene.remove_keys_dead_before(left_at, ALL).await, 0);
    assert_eq!(scene.remove_keys_dead_before(left_at + MILLISECOND, ALL).await, 1);
    assert!(!scene.is_stored(&never_revoked).await);
    assert!(
        scene.is_stored(&revoked_later).await,
        "its revocation is what counts"
    );
    assert_eq!(scene.remove_dead_keys(ALL).await, 1);
    assert!(!scene.is_stored(&revoked_later).await);
    assert_eq!(scene.stored(&of_newcomer).await, of_newcomer);
}

pub(super) async fn removal_batch_size_is_limited(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let mut keys = Vec::new();
    for number in 0..7 {
        let member = if number < 4 { &ada } else { &bob };
        keys.push(scene.add_key(member, "dead").await);
        if number < 4 {
            scene.kill(&ada, &keys[number]).await;
        }
    }
    scene.end_membership(&bob).await;

    let mut left = keys.len();
    while left > 0 {
        let removed = scene.remove_dead_keys(3).await;
        assert!((1..=3).contains(&removed), "{removed} of {left}");
        left -= removed as usize;
        assert_eq!(scene.kept(&keys).await.len(), left);
    }
    assert_eq!(scene.remove_dead_keys(3).await, 0);
}

pub(super) async fn removed_key_is_gone_and_its_events_remain(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = scene.new_key(&ada, "gone");
    let key = scene.store(&ada, &new).await;
    scene.kill(&ada, &key).await;
    let events = scene.events(Some(ada.organization.id)).await;
    scene.remove_dead_keys(ALL).await;

    assert!(!scene.is_stored(&key).await);
    let keys = &scene.stores.keys;
    assert!(
        keys.credentials
            .find(&new.digest)
            .await
            .expect("an answer")
            .is_none()
    );
    let first_page = PageRequest::first(PageSize::default());
    let (organization, consumer) = (ada.organization.id, ada.membership.id);
    let own = keys
        .api_keys
        .list(
            consumer,
            KeyFilter::new(StatusFilter::All, None),
            first_page,
            scene.now(),
        )
        .await;
    assert_eq!(own.expect("a page").items, []);
    let filter = OrganizationKeyFilter::new(StatusFilter::All, None);
    let owners = &scene.stores.organization_keys;
    let held = owners.list(organization, filter, first_page, scene.now()).await;
    assert_eq!(held.expect("a page").items, []);
    let key_tree = owners
        .key_tree(organization, key.id, KeyTreeSize::DEFAULT, scene.now())
        .await;
    assert_eq!(key_tree.expect("a key tree"), KeyTree::default());
    assert_eq!(owners.find(organization, key.id).await.expect("an answer"), None);
    let found = owners.find_many(organization, &[key.id]).await;
    assert_eq!(found.expect("an answer"), []);
    let found = keys.api_keys.find_many(consumer, &[key.id]).await;
    assert_eq!(found.expect("an answer"), []);
    assert_eq!(scene.events(Some(organization)).await, events);
    assert_eq!(
        scene.events(None).await,
        [],
        "it is no event that a key is forgotten"
    );
}

pub(super) async fn concurrent_removals_count_each_key_once(stores: Stores) {
    const DEAD: u32 = 40;
    let (scene, ada) = Scene::with_owner(stores).await;
    let mut keys = Vec::new();
    for _ in 0..DEAD {
        let key = scene.add_key(&ada, "dead").await;
        scene.kill(&ada, &key).await;
        keys.push(key);
    }
    let before = scene.now() + MILLISECOND;
    let removal = |_| -> BoxFuture<'static, u32> {
        let retention = Arc::clone(&scene.stores.retention);
        Box::pin(async move {
            let removed = retention.remove_dead_keys(before, 5).await;
            removed.expect("concurrent runs do not fail")
        })
    };
    let mut removed = 0;
    while !scene.kept(&keys).await.is_empty() {
        let at_once: u32 = scene.in_parallel((0..16).map(removal)).await.into_iter().sum();
        assert!(at_once > 0, "one run makes progress");
        removed += at_once;
        assert!(removed <= DEAD, "no key is removed twice");
    }

    assert_eq!(removed, DEAD);
}

pub(super) async fn dead_key_removal_completes_after_caller_cancellation(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let chain = scene.add_chain(&ada, 3).await;
    scene.kill(&ada, &chain[1]).await;
    let before = scene.now() + MILLISECOND;
    abandon(scene.stores.retention.remove_dead_keys(before, ALL)).await;

    eventually("the abandoned removal happens", async || {
        !scene.is_stored(&chain[1]).await
    })
    .await;
    assert_eq!(
        scene.stored(&chain[2]).await.adoptive_parent_id,
        Some(chain[0].id)
    );
}
