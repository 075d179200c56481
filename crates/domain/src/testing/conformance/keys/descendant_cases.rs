//! Cases of [`ApiKeys::valid_descendants`](crate::ports::ApiKeys::valid_descendants).

use super::super::KeyStores;
use super::super::scene::Scene;
use crate::api_key::ApiKey;
use crate::id::ApiKeyId;
use crate::membership::Member;
use crate::ports::DescendantKeys;

pub(super) async fn descendants_include_all_generations_newest_first(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let root = scene.add_key(&ada, "root").await;
    let child = scene.add_child(&ada, &root, "child").await;
    let grandchild = scene.add_child(&ada, &child, "grandchild").await;
    let second_child = scene.add_child(&ada, &root, "second child").await;

    assert_eq!(
        descendants(&scene, &ada, root.id).await,
        [second_child, grandchild.clone(), child.clone()]
    );
    assert_eq!(descendants(&scene, &ada, child.id).await, [grandchild]);
}

pub(super) async fn childless_key_has_no_descendants_and_none_contains_itself(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let root = scene.add_key(&ada, "root").await;
    scene.add_key(&ada, "unrelated").await;

    assert_eq!(descendants(&scene, &ada, root.id).await, []);
}

pub(super) async fn descendants_are_found_below_revoked_keys(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let root = scene.add_key(&ada, "root").await;
    let child = scene.add_child(&ada, &root, "child").await;
    let grandchild = scene.add_child(&ada, &child, "grandchild").await;
    scene.revoke(&ada, &child, DescendantKeys::Keep).await;
    assert_eq!(
        descendants(&scene, &ada, root.id).await,
        std::slice::from_ref(&grandchild)
    );

    scene.revoke(&ada, &root, DescendantKeys::Keep).await;
    assert_eq!(descendants(&scene, &ada, root.id).await, [grandchild]);
}

pub(super) async fn long_chain_of_descendants_is_found_completely(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let root = scene.add_key(&ada, "root").await;
    let mut chain: Vec<ApiKey> = Vec::new();
    // With the first one, as long as a chain of valid keys may be.
    for number in 1..ApiKey::MAX_TREE_DEPTH {
        let parent = chain.last().unwrap_or(&root);
        chain.push(
            scene
                .add_child(&ada, parent, &format!("generation {number}"))
                .await,
        );
    }
    chain.reverse();

    assert_eq!(descendants(&scene, &ada, root.id).await, chain);
}

pub(super) async fn unknown_key_has_no_descendants(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let root = scene.add_key(&ada, "root").await;
    scene.add_child(&ada, &root, "child").await;

    assert_eq!(descendants(&scene, &ada, scene.id()).await, []);
}

pub(super) async fn another_consumers_key_has_no_descendants(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let root = scene.add_key(&ada, "root").await;
    scene.add_child(&ada, &root, "child").await;

    assert_eq!(descendants(&scene, &bob, root.id).await, []);
}

async fn descendants(scene: &Scene, member: &Member, id: ApiKeyId) -> Vec<ApiKey> {
    scene
        .stores
        .api_keys
        .valid_descendants(member.membership.id, id, scene.now())
        .await
        .expect("the store answers")
}
