//! Cases of [`RetentionStore::remove_dead_keys`](crate::retention::ports::RetentionStore::remove_dead_keys):
//! the keys that stay. A revocation with descendants still ends all of them.

use std::num::NonZeroU32;
use std::sync::Arc;

use chrono::TimeDelta;
use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::scene::{AMPLE, Scene};
use super::scene::{ALL, MILLISECOND};
use crate::administration::ports::{CutoffTime, KeySelection, KeyTreeSize};
use crate::api_key::{ApiKey, Origin, RevocationReason};
use crate::id::ApiKeyId;
use crate::membership::Member;
use crate::ports::{AddKeyError, DescendantKeys, RotationDraft};

pub(super) async fn descendants_of_a_removed_key_stay_in_its_parents_tree(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bystander = scene.add_key(&ada, "bystander").await;
    let chain = scene.add_chain(&ada, 4).await;
    let sibling = scene.add_child(&ada, &chain[1], "sibling").await;
    scene.kill(&ada, &chain[1]).await;
    assert_eq!(scene.remove_dead_keys(ALL).await, 1);

    let key_tree = [&chain[0], &chain[2], &chain[3], &sibling].map(|key| key.id);
    assert_eq!(descendants(&scene, &ada, &chain[0]).await, key_tree[1..]);
    assert_eq!(descendants(&scene, &ada, &chain[2]).await, [chain[3].id]);
    for key in [&chain[0], &chain[2], &chain[3], &sibling] {
        assert_eq!(key_tree_of(&scene, &ada, key).await, key_tree);
    }
    let revocation_preview = scene
        .stores
        .organization_keys
        .revocation_preview(ada.organization.id, with_descendants(&chain[0]), scene.now())
        .await;
    assert_eq!(revocation_preview.expect("an answer").descendants.keys, 3);
    let act = scene.act(&ada);
    let revoked = scene
        .stores
        .organization_keys
        .revoke(
            ada.organization.id,
            with_descendants(&chain[0]),
            NonZeroU32::MAX,
            RevocationReason::Owner,
            None,
            act,
        )
        .await;
    let mut revoked = revoked.expect("an owner revokes").keys;
    revoked.sort_unstable();
    assert_eq!(revoked, key_tree);
    assert!(scene.stored(&bystander).await.is_valid(scene.now()));
}

pub(super) async fn removing_the_root_leaves_one_key_tree_per_child(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let chain = scene.add_chain(&ada, 3).await;
    let sibling = scene.add_child(&ada, &chain[0], "sibling").await;
    scene.kill(&ada, &chain[0]).await;
    assert_eq!(scene.remove_dead_keys(ALL).await, 1);

    assert_eq!(scene.stored(&chain[1]).await.adoptive_parent_id, None);
    assert_eq!(
        key_tree_of(&scene, &ada, &chain[2]).await,
        [&chain[1], &chain[2]].map(|key| key.id)
    );
    assert_eq!(key_tree_of(&scene, &ada, &sibling).await, [sibling.id]);
    assert_eq!(descendants(&scene, &ada, &chain[0]).await, []);
    scene.revoke(&ada, &chain[1], DescendantKeys::Revoke).await;
    assert!(!scene.stored(&chain[2]).await.is_valid(scene.now()));
    assert!(scene.stored(&sibling).await.is_valid(scene.now()));
}

pub(super) async fn successor_stays_away_from_its_creator_without_its_adopter(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let creator = scene.add_key(&ada, "creator").await;
    let key = scene.add_child(&ada, &creator, "key").await;
    let chain = scene.add_chain(&ada, 2).await;
    let new = scene.rotation_of(&ada, &key, RotationDraft::default());
    let successor = scene.rotate_as(&new, scene.act_of(&ada, &chain[1])).await;
    let successor = scene.stored(&successor.expect("rotated")).await;
    assert_eq!(successor.effective_parent(), Some(chain[1].id));

    // The ancestors of the key that rotated it are removed first, so that nothing is left above the
    // successor.
    for adopter in &chain {
        scene.kill(&ada, adopter).await;
        assert_eq!(scene.remove_dead_keys(ALL).await, 1);
        assert_eq!(scene.stored(&successor).await, successor);
        assert_eq!(descendants(&scene, &ada, &creator).await, [key.id]);
    }
    assert_eq!(key_tree_of(&scene, &ada, &successor).await, [successor.id]);
    let next = scene.rotate(&ada, &successor, RotationDraft::default()).await;
    scene.revoke(&ada, &creator, DescendantKeys::Revoke).await;
    for key in [&successor, &next] {
        assert!(scene.stored(key).await.is_valid(scene.now()), "{key:?}");
    }
}

pub(super) async fn removed_key_becomes_no_parent(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let chain = scene.add_chain(&ada, 4).await;
    for key in &chain[..3] {
        scene.kill(&ada, key).await;
        assert_eq!(scene.remove_dead_keys(ALL).await, 1);
    }

    assert_eq!(scene.stored(&chain[3]).await, chain[3]);
}

pub(super) async fn key_chain_stays_connected_after_removals_in_any_order(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    // The order in which the keys between the ends are revoked, and how many are removed at once.
    for (order, at_once) in [
        ([1, 2, 3, 4], 1),
        ([4, 3, 2, 1], 1),
        ([2, 4, 1, 3], 1),
        ([3, 1, 4, 2], 2),
        ([1, 3, 2, 4], 3),
        ([4, 1, 3, 2], ALL),
    ] {
        let chain = scene.add_chain(&ada, 6).await;
        for number in order {
            scene.kill(&ada, &chain[number]).await;
            scene.later(MILLISECOND);
        }
        let mut removed = 0;
        loop {
            let at_last = scene.remove_dead_keys(at_once).await;
            if at_last == 0 {
                break;
            }
            removed += at_last;
            assert!(removed <= 4, "no key is removed twice");
            let below = descendants(&scene, &ada, &chain[0]).await;
            assert!(below.contains(&chain[5].id), "{order:?}, {at_once} at once");
        }

        assert_eq!(descendants(&scene, &ada, &chain[0]).await, [chain[5].id]);
        assert_eq!(
            scene.stored(&chain[5]).await.adoptive_parent_id,
            Some(chain[0].id)
        );
        assert_eq!(
            key_tree_of(&scene, &ada, &chain[5]).await,
            [chain[0].id, chain[5].id],
            "{order:?}, {at_once} at once"
        );
    }
}

pub(super) async fn descendants_of_a_removed_key_are_revoked_with_selected_ancestors(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let chain = scene.add_chain(&ada, 5).await;
    let other = scene.add_chain(&ada, 5).await;
    for key in &chain[1..4] {
        scene.kill(&ada, key).await;
    }
    assert_eq!(scene.remove_dead_keys(ALL).await, 3);

    // Keys of the other chain are as deep as those that were removed.
    for (deep, below) in [(1, 3), (2, 2), (3, 1)] {
        let selected = KeySelection::Keys {
            ids: vec![chain[0].id, other[deep].id],
            descendants: DescendantKeys::Revoke,
        };
        let revocation_preview = scene
            .stores
            .organization_keys
            .revocation_preview(ada.organization.id, selected, scene.now())
            .await;
        let descendants = revocation_preview.expect("an answer").descendants.keys;
        assert_eq!(descendants, 1 + below, "beside a key {deep} deep");
    }
}

pub(super) async fn cutoff_time_selects_descendants_of_removed_keys(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let chain = scene.add_chain(&ada, 2).await;
    let before = scene.later(CutoffTime::MIN_AGE);
    let cutoff = CutoffTime::new(before, scene.later(CutoffTime::MIN_AGE)).expect("a minute ago");
    let [child, of_removed] = [
        scene.add_child(&ada, &chain[1], "child").await,
        scene.add_child(&ada, &chain[1], "of the removed").await,
    ];
    let below = scene.add_child(&ada, &of_removed, "below").await;
    let own = scene.add_chain(&ada, 2).await;
    // From the oldest, so that no key is named in a removed one's place.
    for key in [&own[0], &chain[0], &chain[1], &of_removed] {
        scene.kill(&ada, key).await;
        assert_eq!(scene.remove_dead_keys(ALL).await, 1);
    }
    let successor = scene.rotate(&ada, &child, RotationDraft::default()).await;
    let of_own = scene.rotate(&ada, &own[1], RotationDraft::default()).await;
    let selection = KeySelection::IssuedBefore(cutoff);
    let store = &scene.stores.organization_keys;
    let preview = store.revocation_preview(ada.organization.id, selection.clone(), scene.now());
    assert_eq!(preview.await.expect("an answer").selected.keys, 3);
    let act = scene.act(&ada);
    let revoked = store
        .revoke(
            ada.organization.id,
            selection,
            NonZeroU32::MAX,
            RevocationReason::Owner,
            None,
            act,
        )
        .await;
    let mut revoked = revoked.expect("an owner revokes").keys;
    revoked.sort_unstable();
    assert_eq!(revoked, [child.id, below.id, successor.id]);
    for key in [&own[1], &of_own] {
        assert!(scene.stored(key).await.is_valid(scene.now()));
    }
}

pub(super) async fn tree_depth_counts_valid_keys_above_a_removed_key(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let longest = ApiKey::MAX_TREE_DEPTH as usize;
    let other = scene.add_chain(&ada, longest / 2).await;
    let mut chain = scene.add_chain(&ada, longest).await;
    let (above, dead) = (&other[longest / 4], &chain[longest / 4]);
    scene.kill(&ada, dead).await;
    assert_eq!(scene.remove_dead_keys(ALL).await, 1);
    assert!(scene.stored(above).await.is_valid(scene.now()));
    chain.push(scene.add_child(&ada, &chain[longest - 1], "in its place").await);

    let one_more = scene.new_child(&ada, chain[longest].id, "one more");
    let refused = scene.try_add(&ada, &one_more, AMPLE).await;
    assert!(matches!(refused, Err(AddKeyError::TreeTooDeep)), "{refused:?}");
}

pub(super) async fn key_tree_stays_connected_during_concurrent_removals(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let chain = scene.add_chain(&ada, ApiKey::MAX_TREE_DEPTH as usize).await;
    let (last, middle) = (&chain[chain.len() - 1], &chain[1..chain.len() - 1]);
    for key in middle {
        scene.kill(&ada, key).await;
    }
    let before = scene.now() + MILLISECOND;
    let removal = |_| -> BoxFuture<'static, u32> {
        let retention = Arc::clone(&scene.stores.retention);
        Box::pin(async move {
            let removed = retention.remove_dead_keys(before, 3).await;
            removed.expect("concurrent runs do not fail")
        })
    };
    while !scene.kept(middle).await.is_empty() {
        let removed: u32 = scene.in_parallel((0..16).map(removal)).await.into_iter().sum();
        assert!(removed > 0, "one run makes progress");
        assert_eq!(descendants(&scene, &ada, &chain[0]).await, [last.id]);
    }

    assert_eq!(scene.stored(last).await.adoptive_parent_id, Some(chain[0].id));
}

pub(super) async fn removed_key_remains_recorded_as_creator_of_its_children(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let chain = scene.add_chain(&ada, 3).await;
    scene.kill(&ada, &chain[1]).await;
    scene.remove_dead_keys(ALL).await;

    let expected = ApiKey {
        adoptive_parent_id: Some(chain[0].id),
        ..chain[2].clone()
    };
    assert_eq!(expected.origin, Origin::Key(chain[1].id));
    assert_eq!(scene.stored(&chain[2]).await, expected);
    assert_eq!(scene.stored(&chain[0]).await, chain[0], "nothing else changes");
}

pub(super) async fn continuously_replaced_keys_stay_few_and_in_one_key_tree(stores: Stores) {
    const KEPT_DAYS: i64 = 15;
    let (scene, ada) = Scene::with_owner(stores).await;
    let root = scene.add_key(&ada, "root").await;
    let mut keys = vec![root.clone()];
    let mut current = root.clone();
    for day in 0..40 {
        // Each day, a key creates its replacement, and another key that is not used.
        let next = scene.add_child(&ada, &current, "next").await;
        let useless = scene.add_child(&ada, &root, "useless").await;
        scene.kill(&ada, &useless).await;
        if day > 0 {
            scene.kill(&ada, &current).await;
        }
        keys.extend([next.clone(), useless]);
        current = next;
        let now = scene.later(TimeDelta::days(1));
        scene
            .remove_keys_dead_before(now - TimeDelta::days(KEPT_DAYS), ALL)
            .await;
    }

    assert_eq!(scene.kept(&keys).await.len(), 2 + 2 * KEPT_DAYS as usize);
    assert_eq!(descendants(&scene, &ada, &root).await, [current.id]);
}

/// The valid keys that came from a key, by rising identifier.
async fn descendants(scene: &Scene<Stores>, member: &Member, key: &ApiKey) -> Vec<ApiKeyId> {
    let store = &scene.stores.keys.api_keys;
    let found = store
        .valid_descendants(member.membership.id, key.id, scene.now())
        .await;
    let mut ids: Vec<ApiKeyId> = found.expect("an answer").iter().map(|key| key.id).collect();
    ids.reverse();
    ids
}

async fn key_tree_of(scene: &Scene<Stores>, owner: &Member, key: &ApiKey) -> Vec<ApiKeyId> {
    let store = &scene.stores.organization_keys;
    let size = KeyTreeSize::DEFAULT;
    let key_tree = store
        .key_tree(owner.organization.id, key.id, size, scene.now())
        .await;
    let keys = key_tree.expect("an answer").keys;
    keys.iter().map(|key| key.id).collect()
}

fn with_descendants(key: &ApiKey) -> KeySelection {
    KeySelection::Keys {
        ids: vec![key.id],
        descendants: DescendantKeys::Revoke,
    }
}
