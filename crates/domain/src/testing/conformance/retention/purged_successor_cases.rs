//! Cases of the [port of retention](crate::retention::ports): a rotated key whose successor was purged.

use super::super::Stores;
use super::super::scene::Scene;
use super::scene::ALL;
use crate::api_key::OldKeyEnd;
use crate::ports::RotationDraft;

pub(super) async fn key_whose_successor_was_purged_is_rotated_again(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    let draft = RotationDraft {
        old_key_ends: OldKeyEnd::OnFirstUse,
        expiry: None,
    };
    let purged = scene.rotate(&ada, &key, draft).await;
    scene.kill(&ada, &purged).await;
    assert_eq!(scene.remove_dead_keys(ALL).await, 1);
    assert_eq!(scene.stored(&key).await.rotated_to, Some(purged.id));

    let successor = scene.rotate(&ada, &key, draft).await;
    let old = scene.stored(&key).await;
    assert_eq!((old.rotated_to, old.end()), (Some(successor.id), None));
}
