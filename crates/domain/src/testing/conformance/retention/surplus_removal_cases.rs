//! The promises of
//! [`RetentionStore::remove_surplus_keys`](crate::retention::ports::RetentionStore::remove_surplus_keys)
//! beside the choice of the removed keys.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::parallel::{abandon, eventually};
use super::super::scene::Scene;
use super::scene::{ALL, DAY, MILLISECOND};
use crate::api_key::ApiKey;
use crate::ports::DescendantKeys;

pub(super) async fn children_of_surplus_keys_stay_in_the_key_tree(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let chain = scene.add_chain(&ada, 5).await;
    // Newer ends of others make the middle of the chain surplus.
    for key in &chain[1..4] {
        scene.kill(&ada, key).await;
        scene.later(MILLISECOND);
    }
    scene.add_killed(&ada, 2).await;
    let organization = Some(ada.organization.id);
    let events = scene.events(organization).await;
    scene.later(DAY);

    assert_eq!(scene.remove_surplus(&ada, 3, ALL).await, 2);
    let expected = ApiKey {
        adoptive_parent_id: Some(chain[0].id),
        ..scene.stored(&chain[3]).await
    };
    assert_eq!(scene.stored(&chain[3]).await, expected);
    assert_eq!(scene.remove_surplus(&ada, 2, ALL).await, 1);
    let expected = ApiKey {
        adoptive_parent_id: Some(chain[0].id),
        ..chain[4].clone()
    };
    assert_eq!(scene.stored(&chain[4]).await, expected);
    assert_eq!(scene.events(organization).await, events, "no event tells of it");
    assert_eq!(scene.events(None).await, []);
    let mut revoked = scene.revoke(&ada, &chain[0], DescendantKeys::Revoke).await;
    revoked.sort_unstable();
    assert_eq!(revoked, [chain[0].id, chain[4].id]);
}

pub(super) async fn surplus_removal_batch_size_is_limited(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let keys = scene.add_killed(&ada, 9).await;
    scene.later(DAY);

    let mut stored = keys.len();
    while stored > 1 {
        let removed = scene.remove_surplus(&ada, 1, 3).await;
        assert!((1..=3).contains(&removed), "{removed} of {stored}");
        stored -= removed as usize;
        assert_eq!(scene.kept(&keys).await.len(), stored);
    }
    assert_eq!(scene.remove_surplus(&ada, 1, 3).await, 0);
}

pub(super) async fn concurrent_surplus_removals_count_each_key_once(stores: Stores) {
    const ENDED: usize = 40;
    const KEPT: u32 = 4;
    let (scene, ada) = Scene::with_owner(stores).await;
    let keys = scene.add_killed(&ada, ENDED).await;
    scene.later(DAY);
    let surplus = scene.surplus_of(&ada, KEPT, scene.now());
    let removal = |_| -> BoxFuture<'static, u32> {
        let retention = Arc::clone(&scene.stores.retention);
        Box::pin(async move {
            let removed = retention.remove_surplus_keys(surplus, 5).await;
            removed.expect("concurrent runs do not fail")
        })
    };
    let mut removed = 0;
    while scene.has_surplus(&ada, KEPT).await {
        let at_once: u32 = scene.in_parallel((0..16).map(removal)).await.into_iter().sum();
        assert!(at_once > 0, "one run makes progress");
        removed += at_once as usize;
        assert!(removed <= ENDED, "no key is removed twice");
    }

    assert_eq!(removed, ENDED - KEPT as usize);
    assert_eq!(scene.kept(&keys).await, keys[removed..]);
}

pub(super) async fn surplus_removal_completes_after_caller_cancellation(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let keys = scene.add_killed(&ada, 2).await;
    scene.later(DAY);
    let surplus = scene.surplus_of(&ada, 1, scene.now());
    abandon(scene.stores.retention.remove_surplus_keys(surplus, ALL)).await;

    eventually("the abandoned removal happens", async || {
        !scene.is_stored(&keys[0]).await
    })
    .await;
    assert!(scene.is_stored(&keys[1]).await);
}
