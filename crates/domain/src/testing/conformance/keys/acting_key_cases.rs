//! What the store of keys promises of a key that is revoked while it acts.

use futures_util::future::BoxFuture;

use super::super::KeyStores;
use super::super::pages::{all_pages, size_of};
use super::super::scene::{AMPLE, MANY_CHANGES, Scene};
use crate::api_key::{ApiKey, KeyEdit, KeyName, KeyPrecondition, RevocationReason};
use crate::audit::{Action, Actor, Subject};
use crate::membership::Member;
use crate::page::PageSize;
use crate::ports::{AddKeyError, DescendantKeys, EditKeyError, KeyFilter, RevokeKeyError, StatusFilter};

/// Each is another chance for a check to come too early.
const ROUNDS: usize = 8;
const ACTS: usize = 16;

pub async fn a_key_adds_no_key_once_its_concurrent_revocation_is_answered(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..ROUNDS {
        let bob = scene.join(&ada.organization, &format!("bob{round}")).await;
        let acting = scene.add_key(&bob, "acting").await;
        let acts = (0..ACTS).map(|number| {
            let (scene, bob) = (scene.clone(), bob.clone());
            let child = scene.new_child(&bob, acting.id, &format!("child {number}"));
            let act: BoxFuture<'static, ()> = Box::pin(async move {
                let added = scene.try_add(&bob, &child, AMPLE).await;
                assert!(matches!(added, Ok(_) | Err(AddKeyError::HolderGone)), "{added:?}");
            });
            act
        });
        assert_ends_with_its_revocation(&scene, &bob, &acting, acts).await;
    }
}

pub async fn a_key_changes_nothing_once_its_concurrent_revocation_is_answered(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..ROUNDS {
        let bob = scene.join(&ada.organization, &format!("bob{round}")).await;
        let acting = scene.add_key(&bob, "acting").await;
        let key = scene.add_key(&bob, "key").await.id;
        let acts = (0..ACTS).map(|number| {
            let (scene, bob) = (scene.clone(), bob.clone());
            let act = scene.act_as(Actor::ApiKey(acting.id), Some(bob.organization.id));
            let act: BoxFuture<'static, ()> = Box::pin(async move {
                let event = act.event(Action::EditApiKey, Subject::ApiKey(key));
                let edit = KeyEdit {
                    name: Some(KeyName::parse(&format!("name {number}")).expect("a name")),
                    ..KeyEdit::default()
                };
                let any = KeyPrecondition::AnyVersion;
                let store = &scene.stores.api_keys;
                let edited = store.edit(bob.membership.id, key, edit, any, MANY_CHANGES, event);
                let edited = edited.await;
                assert!(
                    matches!(edited, Ok(_) | Err(EditKeyError::HolderGone)),
                    "{edited:?}"
                );
            });
            act
        });
        assert_ends_with_its_revocation(&scene, &bob, &acting, acts).await;
    }
}

pub async fn a_key_revokes_no_key_once_its_concurrent_revocation_is_answered(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..ROUNDS {
        let bob = scene.join(&ada.organization, &format!("bob{round}")).await;
        let acting = scene.add_key(&bob, "acting").await;
        let mut keys = Vec::new();
        for number in 0..ACTS {
            keys.push(scene.add_key(&bob, &format!("key {number}")).await.id);
        }
        let acts = keys.into_iter().map(|key| {
            let (scene, bob) = (scene.clone(), bob.clone());
            let act = scene.act_as(Actor::ApiKey(acting.id), Some(bob.organization.id));
            let act: BoxFuture<'static, ()> = Box::pin(async move {
                let (alone, any) = (DescendantKeys::Keep, KeyPrecondition::AnyVersion);
                let store = &scene.stores.api_keys;
                let revoked = store.revoke(bob.membership.id, key, RevocationReason::Holder, alone, any, act);
                let revoked = revoked.await;
                assert!(
                    matches!(revoked, Ok(_) | Err(RevokeKeyError::HolderGone)),
                    "{revoked:?}"
                );
            });
            act
        });
        assert_ends_with_its_revocation(&scene, &bob, &acting, acts).await;
    }
}

/// Lets a key act many times at once, and its holder revoke it in the middle: what is on record when that is answered stays.
async fn assert_ends_with_its_revocation(
    scene: &Scene,
    holder: &Member,
    acting: &ApiKey,
    acts: impl Iterator<Item = BoxFuture<'static, ()>>,
) {
    let (revoker, revoking, doomed) = (scene.clone(), holder.clone(), acting.clone());
    let end: BoxFuture<'static, Vec<ApiKey>> = Box::pin(async move {
        revoker.revoke(&revoking, &doomed, DescendantKeys::Keep).await;
        keys_of(&revoker, &revoking).await
    });
    let when_answered = scene.in_parallel_with_an_end(acts, end).await;

    assert_eq!(
        keys_of(scene, holder).await,
        when_answered,
        "nothing came after the answer"
    );
}

async fn keys_of(scene: &Scene, holder: &Member) -> Vec<ApiKey> {
    let store = &scene.stores.api_keys;
    all_pages(size_of(PageSize::MAX), |page| {
        store.list(
            holder.membership.id,
            KeyFilter::new(StatusFilter::All, None),
            page,
            scene.now(),
        )
    })
    .await
}
