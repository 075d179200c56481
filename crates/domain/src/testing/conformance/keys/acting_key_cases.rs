//! Cases of the store of keys: a key that is revoked while it acts.

use super::super::KeyStores;
use super::super::ended_right::{Acts, ROUNDS};
use super::super::scene::Scene;
use crate::api_key::ApiKey;
use crate::membership::Member;
use crate::ports::DescendantKeys;

pub(super) async fn revoked_key_adds_no_key_after_concurrent_revocation_is_confirmed(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..ROUNDS {
        let (bob, acting) = holder(&scene, &ada, round).await;
        let acts = scene.additions(&bob, |_| Some(acting.id));
        assert_ends_with_its_revocation(&scene, &bob, &acting, acts).await;
    }
}

pub(super) async fn revoked_key_edits_nothing_after_concurrent_revocation_is_confirmed(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..ROUNDS {
        let (bob, acting) = holder(&scene, &ada, round).await;
        let acts = scene.edits(&bob, |_| Some(acting.id)).await;
        assert_ends_with_its_revocation(&scene, &bob, &acting, acts).await;
    }
}

pub(super) async fn revoked_key_rotates_nothing_after_concurrent_revocation_is_confirmed(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..ROUNDS {
        let (bob, acting) = holder(&scene, &ada, round).await;
        let acts = scene.rotations(&bob, |_| Some(acting.id)).await;
        assert_ends_with_its_revocation(&scene, &bob, &acting, acts).await;
    }
}

pub(super) async fn revoked_key_revokes_nothing_after_concurrent_revocation_is_confirmed(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..ROUNDS {
        let (bob, acting) = holder(&scene, &ada, round).await;
        let acts = scene.revocations(&bob, acting.id).await;
        assert_ends_with_its_revocation(&scene, &bob, &acting, acts).await;
    }
}

/// A member, and a key that acts for them.
async fn holder(scene: &Scene, ada: &Member, round: usize) -> (Member, ApiKey) {
    let bob = scene.join(&ada.organization, &format!("bob{round}")).await;
    let acting = scene.add_key(&bob, "acting").await;
    (bob, acting)
}

async fn assert_ends_with_its_revocation(scene: &Scene, holder: &Member, acting: &ApiKey, acts: Acts) {
    let (revoker, revoking, doomed) = (scene.clone(), holder.clone(), acting.clone());
    let end = async move {
        revoker.revoke(&revoking, &doomed, DescendantKeys::Keep).await;
    };
    scene.assert_nothing_follows(holder, acts, end).await;
}
