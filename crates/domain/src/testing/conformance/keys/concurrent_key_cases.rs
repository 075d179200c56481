//! Cases of the store of keys: many callers at once.

use futures_util::future::BoxFuture;

use super::super::KeyStores;
use super::super::scene::{AMPLE, Scene};
use crate::audit::Action;
use crate::ports::{AddKeyError, DescendantKeys, KeyLimit, NewApiKey, RotateKeyError, RotationDraft};

/// Enough concurrent calls to hit every gap between a check and its change.
const CROWD: usize = 64;

pub(super) async fn concurrent_key_creations_stop_at_the_limit(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let limit = KeyLimit(5);
    for number in 1..limit.0 {
        scene.add_key(&ada, &format!("key {number}")).await;
    }
    let attempts = (0..CROWD).map(|number| {
        let (scene, ada) = (scene.clone(), ada.clone());
        let task: BoxFuture<'static, _> = Box::pin(async move {
            let new = scene.new_key(&ada, &format!("attempt {number}"));
            scene.try_add(&ada, &new, limit).await
        });
        task
    });
    let (added, refused): (Vec<_>, Vec<_>) = scene
        .in_parallel(attempts)
        .await
        .into_iter()
        .partition(Result::is_ok);

    assert_eq!(added.len(), 1, "one place was left");
    assert_eq!(refused.len(), CROWD - 1);
    for error in refused {
        assert!(matches!(error, Err(AddKeyError::LimitReached(_))), "{error:?}");
    }
    let mut created = scene.events(Some(ada.organization.id)).await;
    created.retain(|event| event.action == Action::CreateApiKey);
    assert_eq!(created.len(), limit.0 as usize, "refused keys leave no event");
}

pub(super) async fn concurrent_submissions_of_one_form_create_one_key(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let idempotency_key = Some(scene.idempotency_key());
    let attempts = (0..CROWD).map(|number| {
        let (scene, ada) = (scene.clone(), ada.clone());
        let task: BoxFuture<'static, _> = Box::pin(async move {
            let new = NewApiKey {
                idempotency_key,
                ..scene.new_key(&ada, &format!("attempt {number}"))
            };
            (new.key.id, scene.try_add(&ada, &new, AMPLE).await)
        });
        task
    });
    let results = scene.in_parallel(attempts).await;
    let created: Vec<_> = results
        .iter()
        .filter(|(_, added)| added.is_ok())
        .map(|(id, _)| *id)
        .collect();
    let [created] = created.as_slice() else {
        panic!("one form creates one key, not {created:?}")
    };

    for (id, added) in &results {
        assert!(
            id == created || matches!(added, Err(AddKeyError::AlreadyCreated(first)) if first == created),
            "{added:?}"
        );
    }
}

pub(super) async fn concurrent_revocations_of_one_key_write_one_event(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    let attempts = (0..50).map(|_| {
        let (scene, ada, key) = (scene.clone(), ada.clone(), key.clone());
        let task: BoxFuture<'static, _> =
            Box::pin(async move { scene.revoke(&ada, &key, DescendantKeys::Revoke).await });
        task
    });
    let revoked = scene.in_parallel(attempts).await.concat();

    assert_eq!(revoked, [key.id], "one caller is told that it revoked the key");
    assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, &key).await, 1);
}

pub(super) async fn no_child_survives_a_concurrent_revocation_with_descendants(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..4 {
        let parent = scene.add_key(&ada, &format!("parent {round}")).await;
        let mut tasks: Vec<BoxFuture<'static, ()>> = Vec::new();
        for number in 0..32 {
            let (scene, ada, parent) = (scene.clone(), ada.clone(), parent.id);
            tasks.push(Box::pin(async move {
                let child = scene.new_child(&ada, parent, &format!("child {number}"));
                let added = scene.try_add(&ada, &child, AMPLE).await;
                assert!(matches!(added, Ok(_) | Err(AddKeyError::HolderGone)), "{added:?}");
            }));
        }
        let (revoker, ada_too, doomed) = (scene.clone(), ada.clone(), parent.clone());
        tasks.insert(
            16,
            Box::pin(async move {
                revoker.revoke(&ada_too, &doomed, DescendantKeys::Revoke).await;
            }),
        );
        scene.in_parallel(tasks).await;

        let survivors = scene
            .stores
            .api_keys
            .valid_descendants(ada.membership.id, parent.id, scene.now())
            .await
            .expect("the store answers");
        assert_eq!(survivors, [], "after the revocation no child is valid");
        assert!(!scene.stored(&parent).await.is_valid(scene.now()));
    }
}

pub(super) async fn no_successor_survives_a_concurrent_revocation_with_descendants(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let consumer = ada.membership.id;
    for round in 0..4 {
        let acting = scene.add_key(&ada, &format!("acting {round}")).await;
        let mut tasks: Vec<BoxFuture<'static, ()>> = Vec::new();
        let mut successors = Vec::new();
        for number in 0..16 {
            let key = scene.add_key(&ada, &format!("key {number}")).await;
            let new = scene.rotation_of(&ada, &key, RotationDraft::default());
            successors.push(new.successor);
            let (scene, act) = (scene.clone(), scene.act_of(&ada, &acting));
            tasks.push(Box::pin(async move {
                let rotated = scene.rotate_as(&new, act).await;
                assert!(
                    matches!(rotated, Ok(_) | Err(RotateKeyError::HolderGone)),
                    "{rotated:?}"
                );
            }));
        }
        let (revoker, ada_too, doomed) = (scene.clone(), ada.clone(), acting.clone());
        tasks.insert(
            8,
            Box::pin(async move {
                revoker.revoke(&ada_too, &doomed, DescendantKeys::Revoke).await;
            }),
        );
        scene.in_parallel(tasks).await;

        let stored = scene.stores.api_keys.find_many(consumer, &successors).await;
        let mut survivors = stored.expect("the store answers");
        survivors.retain(|key| key.is_valid(scene.now()));
        assert_eq!(survivors, [], "after the revocation no successor is valid");
    }
}

pub(super) async fn concurrent_revocations_of_one_key_tree_write_each_event_once(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let root = scene.add_key(&ada, "root").await;
    let child = scene.add_child(&ada, &root, "child").await;
    let grandchild = scene.add_child(&ada, &child, "grandchild").await;
    let key_tree = [root, child, grandchild];
    let attempts = (0..10).flat_map(|_| key_tree.clone()).map(|key| {
        let (scene, ada) = (scene.clone(), ada.clone());
        let task: BoxFuture<'static, _> =
            Box::pin(async move { scene.revoke(&ada, &key, DescendantKeys::Revoke).await });
        task
    });
    let mut revoked = scene.in_parallel(attempts).await.concat();
    revoked.sort_unstable();

    assert_eq!(
        revoked,
        key_tree.clone().map(|key| key.id),
        "each key is revoked once"
    );
    for key in &key_tree {
        assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, key).await, 1);
    }
}
