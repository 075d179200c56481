//! Cases of [`OrganizationKeyStore::leaked_since`](crate::administration::ports::OrganizationKeyStore::leaked_since).

use chrono::{DateTime, TimeDelta, Utc};

use super::super::Stores;
use super::super::pages::size_of;
use super::super::scene::Scene;
use crate::administration::ports::HeldKey;
use crate::id::ApiKeyId;
use crate::membership::Member;
use crate::page::PageSize;
use crate::ports::DescendantKeys;

/// A new key, which leaks at once.
async fn leak(scene: &Scene<Stores>, holder: &Member) -> ApiKeyId {
    let key = scene.add_key(holder, "key").await;
    scene.leak(holder, &key).await;
    key.id
}

async fn leaked_since(
    scene: &Scene<Stores>,
    owner: &Member,
    since: DateTime<Utc>,
    size: PageSize,
) -> Vec<HeldKey> {
    let store = &scene.stores.organization_keys;
    let leaked = store.leaked_since(owner.organization.id, since, size).await;
    leaked.expect("the store answers")
}

pub(super) async fn leaked_keys_of_all_members_are_listed_for_owners(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&ada.user, &other).await;
    leak(&scene, &ada).await;
    let since = scene.later(TimeDelta::milliseconds(1));
    let hers = leak(&scene, &ada).await;
    scene.later(TimeDelta::milliseconds(1));
    let his = leak(&scene, &bob).await;
    leak(&scene, &elsewhere).await;
    scene.add_key(&ada, "valid").await;
    let returned = scene.add_key(&bob, "revoked by its holder").await;
    scene.revoke(&bob, &returned, DescendantKeys::Keep).await;
    scene.end_membership(&bob).await;

    let mut expected = Vec::new();
    for id in [his, hers] {
        let found = scene.stores.organization_keys.find(ada.organization.id, id).await;
        expected.extend(found.expect("the store answers"));
    }
    assert_eq!(expected.len(), 2);
    assert_eq!(
        leaked_since(&scene, &ada, since, PageSize::DEFAULT).await,
        expected
    );
}

pub(super) async fn no_member_hides_a_leaked_key_of_another(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let cleo = scene.join(&ada.organization, "cleo").await;
    let since = scene.now();
    let mut leaked = Vec::new();
    for holder in [&cleo, &ada, &ada, &bob, &bob, &bob] {
        scene.later(TimeDelta::milliseconds(1));
        leaked.push(leak(&scene, holder).await);
    }
    let [cleos, her_first, her_last, first, second, third] = leaked[..] else {
        panic!("six keys leaked");
    };
    let at_the_same_time = leak(&scene, &bob).await;

    let all = [third, her_last, cleos, at_the_same_time, her_first, second, first];
    for (size, shown) in [(1, 2), (2, 3), (4, 5), (50, 7)] {
        let found = leaked_since(&scene, &ada, since, size_of(size)).await;
        let ids: Vec<ApiKeyId> = found.iter().map(|key| key.id).collect();
        assert_eq!(ids, all[..shown], "one more than {size}");
    }
}
