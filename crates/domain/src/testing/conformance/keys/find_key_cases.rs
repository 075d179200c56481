//! Cases of [`ApiKeys::find`](crate::ports::ApiKeys::find),
//! [`ApiKeys::find_many`](crate::ports::ApiKeys::find_many) and
//! [`ApiKeys::leaked_since`](crate::ports::ApiKeys::leaked_since).

use chrono::TimeDelta;

use super::super::KeyStores;
use super::super::scene::Scene;
use crate::id::ApiKeyId;
use crate::membership::Member;
use crate::page::PageSize;
use crate::ports::DescendantKeys;

pub(super) async fn unknown_key_is_not_found(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    scene.add_key(&ada, "hers").await;
    let found = scene.stores.api_keys.find(ada.membership.id, scene.id()).await;

    assert_eq!(found.expect("the store answers"), None);
}

pub(super) async fn another_consumers_key_is_not_found(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let key = scene.add_key(&ada, "hers").await;
    let found = scene.stores.api_keys.find(bob.membership.id, key.id).await;

    assert_eq!(found.expect("the store answers"), None);
}

pub(super) async fn users_key_in_another_organization_is_not_found(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&ada.user, &other).await;
    let key = scene.add_key(&ada, "here").await;
    let found = scene.stores.api_keys.find(elsewhere.membership.id, key.id).await;

    assert_eq!(found.expect("the store answers"), None);
}

pub(super) async fn revoked_key_is_still_found(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "old").await;
    scene.revoke(&ada, &key, DescendantKeys::Keep).await;

    assert!(!scene.stored(&key).await.is_valid(scene.now()));
}

pub(super) async fn key_batch_lookup_returns_each_own_key_once(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&ada.user, &other).await;
    let his = scene.add_key(&bob, "his").await;
    let theirs = scene.add_key(&elsewhere, "hers, elsewhere").await;
    let valid = scene.add_key(&ada, "valid").await;
    let revoked = scene.add_child(&ada, &valid, "revoked").await;
    scene.add_key(&ada, "not asked for").await;
    scene.revoke(&ada, &revoked, DescendantKeys::Keep).await;
    let find_many = async |ids: &[ApiKeyId]| {
        let found = scene.stores.api_keys.find_many(ada.membership.id, ids).await;
        let mut found = found.expect("the store answers");
        found.sort_by_key(|key| key.id);
        found
    };
    let own = [scene.stored(&valid).await, scene.stored(&revoked).await];

    let asked = [his.id, valid.id, revoked.id, valid.id, scene.id(), theirs.id];
    assert_eq!(find_many(&asked).await, own);
    assert_eq!(find_many(&[]).await, []);
    let thousands: Vec<ApiKeyId> = (0..40_000).map(|_| scene.id()).chain(asked).collect();
    assert_eq!(find_many(&thousands).await, own);
}

pub(super) async fn leaked_keys_are_listed_last_revoked_first(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let leak = async |holder: &Member| {
        let key = scene.add_key(holder, "key").await;
        scene.leak(holder, &key).await;
        key.id
    };
    let late = scene.add_key(&ada, "created first, revoked last").await;
    leak(&ada).await;
    let since = scene.later(TimeDelta::milliseconds(1));
    let first = leak(&ada).await;
    scene.later(TimeDelta::milliseconds(1));
    let second = leak(&ada).await;
    leak(&bob).await;
    let returned = scene.add_key(&ada, "revoked by its holder").await;
    scene.revoke(&ada, &returned, DescendantKeys::Keep).await;
    scene.add_key(&ada, "valid").await;
    scene.later(TimeDelta::milliseconds(1));
    scene.leak(&ada, &late).await;

    let api_keys = &scene.stores.api_keys;
    for (size, expected) in [
        (PageSize::DEFAULT, &[late.id, second, first][..]),
        (PageSize::ONE, &[late.id, second]),
    ] {
        let found = api_keys.leaked_since(ada.membership.id, since, size).await;
        let found = found.expect("the store answers");
        let ids: Vec<ApiKeyId> = found.iter().map(|key| key.id).collect();
        assert_eq!(ids, expected);
        assert_eq!(found[0], scene.stored(&late).await);
    }
}
