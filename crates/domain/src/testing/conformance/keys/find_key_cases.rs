//! What [`ApiKeys::find`](crate::ports::ApiKeys::find) promises.

use super::super::KeyStores;
use super::super::scene::Scene;
use crate::ports::DescendantKeys;

pub async fn an_unknown_key_is_not_found(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    scene.add_key(&ada, "hers").await;
    let found = scene.stores.api_keys.find(ada.membership.id, scene.id()).await;

    assert_eq!(found.expect("the store answers"), None);
}

pub async fn another_consumers_key_is_not_found(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let key = scene.add_key(&ada, "hers").await;
    let found = scene.stores.api_keys.find(bob.membership.id, key.id).await;

    assert_eq!(found.expect("the store answers"), None);
}

pub async fn a_key_of_the_same_users_other_membership_is_not_found(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&ada.user, &other).await;
    let key = scene.add_key(&ada, "here").await;
    let found = scene.stores.api_keys.find(elsewhere.membership.id, key.id).await;

    assert_eq!(found.expect("the store answers"), None);
}

pub async fn a_revoked_key_is_still_found(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "old").await;
    scene.revoke(&ada, &key, DescendantKeys::Keep).await;

    assert!(!scene.stored(&key).await.is_valid());
}
