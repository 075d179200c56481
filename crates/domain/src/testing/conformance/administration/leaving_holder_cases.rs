//! What the store of keys promises of a holder whose membership ends while they act, in person and through a key.

use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::pages::{all_pages, size_of};
use super::super::scene::{AMPLE, MANY_CHANGES, Scene};
use super::scene::{AdministrationScene, as_user};
use crate::api_key::{ApiKey, KeyEdit, KeyName, KeyPrecondition, RevocationReason};
use crate::audit::{Action, Actor, Subject};
use crate::membership::Member;
use crate::page::PageSize;
use crate::ports::{AddKeyError, DescendantKeys, EditKeyError, KeyFilter, RevokeKeyError, StatusFilter};

/// Each is another chance for a check to come too early.
const ROUNDS: usize = 8;
const ACTS: usize = 16;

pub async fn no_key_gets_in_once_the_end_of_the_membership_is_answered(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..ROUNDS {
        let (bob, acting) = holder(&scene, &ada, round).await;
        let acts = (0..ACTS).map(|number| {
            let (scene, bob) = (scene.clone(), bob.clone());
            let name = format!("key {number}");
            let new = if number.is_multiple_of(2) {
                scene.new_key(&bob, &name)
            } else {
                scene.new_child(&bob, acting.id, &name)
            };
            let act: BoxFuture<'static, ()> = Box::pin(async move {
                let added = scene.try_add(&bob, &new, AMPLE).await;
                assert!(matches!(added, Ok(_) | Err(AddKeyError::HolderGone)), "{added:?}");
            });
            act
        });
        assert_ends_with_their_membership(&scene, &ada, &bob, acts).await;
    }
}

pub async fn no_key_is_changed_once_the_end_of_the_membership_is_answered(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..ROUNDS {
        let (bob, acting) = holder(&scene, &ada, round).await;
        let key = scene.add_key(&bob, "key").await.id;
        let acts = (0..ACTS).map(|number| {
            let (scene, bob) = (scene.clone(), bob.clone());
            let actor = if number.is_multiple_of(2) {
                as_user(&bob)
            } else {
                Actor::ApiKey(acting.id)
            };
            let act = scene.act_as(actor, Some(bob.organization.id));
            let act: BoxFuture<'static, ()> = Box::pin(async move {
                let event = act.event(Action::EditApiKey, Subject::ApiKey(key));
                let edit = KeyEdit {
                    name: Some(KeyName::parse(&format!("name {number}")).expect("a name")),
                    description: None,
                };
                let any = KeyPrecondition::AnyVersion;
                let store = &scene.stores.keys.api_keys;
                let edited = store.edit(bob.membership.id, key, edit, any, MANY_CHANGES, event);
                let edited = edited.await;
                assert!(
                    matches!(edited, Ok(_) | Err(EditKeyError::HolderGone)),
                    "{edited:?}"
                );
            });
            act
        });
        assert_ends_with_their_membership(&scene, &ada, &bob, acts).await;
    }
}

/// In person, whoever has left may still revoke.
pub async fn no_key_revokes_another_once_the_end_of_the_membership_is_answered(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..ROUNDS {
        let (bob, acting) = holder(&scene, &ada, round).await;
        let mut keys = Vec::new();
        for number in 0..ACTS {
            keys.push(scene.add_key(&bob, &format!("key {number}")).await.id);
        }
        let acts = keys.into_iter().map(|key| {
            let (scene, bob) = (scene.clone(), bob.clone());
            let act = scene.act_as(Actor::ApiKey(acting.id), Some(bob.organization.id));
            let act: BoxFuture<'static, ()> = Box::pin(async move {
                let (alone, any) = (DescendantKeys::Keep, KeyPrecondition::AnyVersion);
                let store = &scene.stores.keys.api_keys;
                let revoked = store.revoke(bob.membership.id, key, RevocationReason::Holder, alone, any, act);
                let revoked = revoked.await;
                assert!(
                    matches!(revoked, Ok(_) | Err(RevokeKeyError::HolderGone)),
                    "{revoked:?}"
                );
            });
            act
        });
        assert_ends_with_their_membership(&scene, &ada, &bob, acts).await;
    }
}

/// Somebody with a key that acts for them.
async fn holder(scene: &AdministrationScene, ada: &Member, round: usize) -> (Member, ApiKey) {
    let bob = scene.join(&ada.organization, &format!("bob{round}")).await;
    let acting = scene.add_key(&bob, "acting").await;
    (bob, acting)
}

/// Lets a holder act many times at once, and an owner remove them in the middle: what is on record when that is answered
/// stays.
async fn assert_ends_with_their_membership(
    scene: &AdministrationScene,
    ada: &Member,
    bob: &Member,
    acts: impl Iterator<Item = BoxFuture<'static, ()>>,
) {
    let (ending, owner, leaver) = (scene.clone(), ada.clone(), bob.clone());
    let end: BoxFuture<'static, Vec<ApiKey>> = Box::pin(async move {
        ending.end_as(as_user(&owner), &leaver).await.expect("removed");
        keys_of(&ending, &leaver).await
    });
    let when_answered = scene.in_parallel_with_an_end(acts, end).await;

    assert_eq!(
        keys_of(scene, bob).await,
        when_answered,
        "nothing came after the answer"
    );
}

async fn keys_of(scene: &AdministrationScene, holder: &Member) -> Vec<ApiKey> {
    let store = &scene.stores.keys.api_keys;
    all_pages(size_of(PageSize::MAX), |page| {
        let all = KeyFilter::new(StatusFilter::All, None);
        store.list(holder.membership.id, all, page, scene.now())
    })
    .await
}
