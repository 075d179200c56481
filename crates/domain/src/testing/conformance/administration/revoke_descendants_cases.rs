//! How far down [`OrganizationKeyStore`](crate::administration::ports::OrganizationKeyStore) revokes.

use super::super::Stores;
use super::super::scene::Scene;
use super::key_scene::{only, with_descendants};
use crate::api_key::ApiKey;
use crate::id::ApiKeyId;

pub(super) async fn descendants_remain_valid_after_owner_revocation_unless_selected(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let chain = scene.add_chain(&ada, 5).await;
    let mut survivors = chain.as_slice();
    for _ in 0..2 {
        let (selected, descendants) = survivors.split_first().expect("there are five");
        let revoked = scene.revoke_many(&ada, only(&[selected]), scene.act(&ada)).await;
        assert_eq!(revoked.expect("revoked"), [selected.id]);
        for (generation, key) in descendants.iter().enumerate() {
            assert!(
                scene.stored(key).await.is_valid(scene.now()),
                "generation {}",
                generation + 1
            );
        }
        survivors = descendants;
    }
}

pub(super) async fn owner_revokes_a_long_chain_of_descendants_completely(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let chain = scene.add_chain(&ada, ApiKey::MAX_TREE_DEPTH as usize).await;
    let selection = with_descendants(&[&chain[0]]);
    let revocation_preview = scene
        .stores
        .organization_keys
        .revocation_preview(ada.organization.id, selection.clone(), scene.now())
        .await;
    let revocation_preview = revocation_preview.expect("the store answers");
    assert_eq!(
        [
            revocation_preview.selected.keys,
            revocation_preview.descendants.keys
        ],
        [1, ApiKey::MAX_TREE_DEPTH - 1]
    );
    let revoked = scene.revoke_many(&ada, selection, scene.act(&ada)).await;

    let ids: Vec<ApiKeyId> = chain.iter().map(|key| key.id).collect();
    assert_eq!(revoked.expect("revoked"), ids);
    for (generation, key) in chain.iter().enumerate() {
        assert!(
            !scene.stored(key).await.is_valid(scene.now()),
            "generation {generation}"
        );
    }
}
