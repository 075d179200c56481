//! Cases of the store of keys: a holder whose membership ends while they act, signed in and through a key.

use super::super::Stores;
use super::super::ended_right::{Acts, ROUNDS};
use super::super::scene::Scene;
use super::scene::as_user;
use crate::id::ApiKeyId;
use crate::membership::Member;

pub(super) async fn no_key_is_accepted_after_membership_end_is_confirmed(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..ROUNDS {
        let (bob, acting) = holder(&scene, &ada, round).await;
        let acts = scene.additions(&bob, by_turns(acting));
        assert_ends_with_their_membership(&scene, &ada, &bob, acts).await;
    }
}

pub(super) async fn no_key_is_edited_after_membership_end_is_confirmed(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..ROUNDS {
        let (bob, acting) = holder(&scene, &ada, round).await;
        let acts = scene.edits(&bob, by_turns(acting)).await;
        assert_ends_with_their_membership(&scene, &ada, &bob, acts).await;
    }
}

pub(super) async fn no_key_is_rotated_after_membership_end_is_confirmed(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..ROUNDS {
        let (bob, acting) = holder(&scene, &ada, round).await;
        let acts = scene.rotations(&bob, by_turns(acting)).await;
        assert_ends_with_their_membership(&scene, &ada, &bob, acts).await;
    }
}

pub(super) async fn no_key_revokes_another_after_membership_end_is_confirmed(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..ROUNDS {
        let (bob, acting) = holder(&scene, &ada, round).await;
        let acts = scene.revocations(&bob, acting).await;
        assert_ends_with_their_membership(&scene, &ada, &bob, acts).await;
    }
}

/// A member, and a key that acts for them.
async fn holder(scene: &Scene<Stores>, ada: &Member, round: usize) -> (Member, ApiKeyId) {
    let bob = scene.join(&ada.organization, &format!("bob{round}")).await;
    let acting = scene.add_key(&bob, "acting").await.id;
    (bob, acting)
}

/// Signed in and through the key, by turns.
fn by_turns(acting: ApiKeyId) -> impl Fn(usize) -> Option<ApiKeyId> {
    move |number| (!number.is_multiple_of(2)).then_some(acting)
}

async fn assert_ends_with_their_membership(scene: &Scene<Stores>, ada: &Member, bob: &Member, acts: Acts) {
    let (ending, owner, leaver) = (scene.clone(), ada.clone(), bob.clone());
    let end = async move {
        ending.end_as(as_user(&owner), &leaver).await.expect("removed");
    };
    scene.assert_nothing_follows(bob, acts, end).await;
}
