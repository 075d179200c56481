//! Cases of the [key ports](crate::ports::ApiKeys): long chains of keys, each made with the one before it.

use super::super::KeyStores;
use super::super::scene::{AMPLE, Scene};
use crate::api_key::ApiKey;
use crate::audit::Action;
use crate::id::ApiKeyId;
use crate::membership::Member;
use crate::ports::{AddKeyError, DescendantKeys};

/// A chain of valid keys of the maximum length.
pub(super) async fn longest_chain(scene: &Scene, member: &Member) -> Vec<ApiKey> {
    let mut chain = vec![scene.add_key(member, "first").await];
    for number in 1..ApiKey::MAX_TREE_DEPTH {
        let child = scene
            .add_child(member, &chain[chain.len() - 1], &format!("key {number}"))
            .await;
        chain.push(child);
    }
    chain
}

pub(super) async fn descendants(scene: &Scene, member: &Member, id: ApiKeyId) -> Vec<ApiKeyId> {
    let found = scene
        .stores
        .api_keys
        .valid_descendants(member.membership.id, id, scene.now());
    found
        .await
        .expect("the store answers")
        .iter()
        .map(|key| key.id)
        .collect()
}

pub(super) async fn valid_keys_of_a_key_tree_have_a_maximum_depth(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let chain = longest_chain(&scene, &ada).await;
    let last = &chain[chain.len() - 1];
    let too_deep = scene.new_child(&ada, last.id, "too deep");
    let refused = scene.try_add(&ada, &too_deep, AMPLE).await;

    assert!(matches!(refused, Err(AddKeyError::TreeTooDeep)), "{refused:?}");
    assert!(!scene.is_stored(&too_deep.key).await);
    assert_eq!(scene.count_of(&ada, Action::CreateApiKey, &too_deep.key).await, 0);
    // Elsewhere there is room.
    scene
        .add_child(&ada, &chain[chain.len() - 2], "sibling of the last")
        .await;
    scene.add_key(&ada, "another first one").await;
}

pub(super) async fn revoked_key_frees_a_level_of_its_key_tree(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let chain = longest_chain(&scene, &ada).await;
    let last = &chain[chain.len() - 1];
    scene.revoke(&ada, &chain[7], DescendantKeys::Keep).await;

    let one_more = scene.add_child(&ada, last, "one more").await;
    let refused = scene
        .try_add(&ada, &scene.new_child(&ada, one_more.id, "another"), AMPLE)
        .await;
    assert!(matches!(refused, Err(AddKeyError::TreeTooDeep)), "{refused:?}");
    let limit_first = scene
        .try_add(
            &ada,
            &scene.new_child(&ada, one_more.id, "another"),
            crate::ports::KeyLimit(1),
        )
        .await;
    assert!(
        matches!(limit_first, Err(AddKeyError::LimitReached(_))),
        "{limit_first:?}"
    );
}

pub(super) async fn key_that_replaces_itself_can_do_so_without_limit(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let first = scene.add_key(&ada, "generation 0").await;
    let bystander = scene.add_child(&ada, &first, "bystander").await;
    let (mut last, mut middle) = (first.clone(), first.clone());
    for generation in 1..=130 {
        let next = scene
            .add_child(&ada, &last, &format!("generation {generation}"))
            .await;
        scene.revoke(&ada, &last, DescendantKeys::Keep).await;
        if generation == 60 {
            middle = last;
        }
        last = next;
    }

    assert_eq!(descendants(&scene, &ada, first.id).await, [last.id, bystander.id]);
    assert_eq!(descendants(&scene, &ada, middle.id).await, [last.id]);
    assert_eq!(descendants(&scene, &ada, bystander.id).await, []);
    assert_eq!(
        scene.revoke(&ada, &middle, DescendantKeys::Revoke).await,
        [last.id]
    );
    assert_eq!(scene.revoke(&ada, &middle, DescendantKeys::Revoke).await, []);
    assert_eq!(descendants(&scene, &ada, first.id).await, [bystander.id]);
}
