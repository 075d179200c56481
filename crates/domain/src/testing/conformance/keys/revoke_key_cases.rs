//! Cases of [`ApiKeys::revoke`](crate::ports::ApiKeys::revoke) without concurrent calls.

use chrono::TimeDelta;

use super::super::KeyStores;
use super::super::parallel::{abandon, eventually};
use super::super::scene::{AMPLE, Scene};
use crate::api_key::{
    ApiKey, KeyPrecondition, Revocation, RevocationCause, RevocationNote, RevocationReason,
};
use crate::audit::{Act, Action, Actor, Subject};
use crate::id::ApiKeyId;
use crate::membership::Member;
use crate::ports::{AddKeyError, DescendantKeys, RevokeKeyError};
use crate::validity::End;

pub(super) async fn revocation_stores_time_actor_reason_and_note(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let revoking_key = scene.add_key(&ada, "revoking").await;
    let actors = [
        Actor::User(ada.user.id),
        Actor::ApiKey(revoking_key.id),
        Actor::Administrator,
        Actor::Anonymous,
    ];
    let reasons = [
        RevocationReason::Holder,
        RevocationReason::Owner,
        RevocationReason::Leak,
        RevocationReason::Administrator,
    ];
    for (by, reason) in actors
        .into_iter()
        .flat_map(|by| reasons.map(|reason| (by, reason)))
    {
        let key = scene.add_key(&ada, "to be revoked").await;
        let at = scene.later(TimeDelta::milliseconds(1));
        let act = scene.act_as(by, Some(ada.organization.id));
        let note = RevocationNote::parse(&format!("{} “note” by {}", reason.as_str(), by.kind())).ok();
        let cause = RevocationCause {
            reason,
            note: note.filter(|_| reason != RevocationReason::Holder),
        };
        let note = cause.note.clone();
        let revoked = revoke(&scene, &ada, key.id, cause, DescendantKeys::Keep, act).await;
        assert_eq!(revoked.expect("revoked"), [key.id]);
        let expected = ApiKey {
            revocation: Some(Revocation {
                end: End::Come(at),
                by,
                reason,
                note,
            }),
            ..key.clone()
        };
        assert_eq!(scene.stored(&key).await, expected);
    }
}

pub(super) async fn second_revocation_changes_nothing(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    scene.revoke(&ada, &key, DescendantKeys::Keep).await;
    let first = scene.stored(&key).await;
    scene.later(TimeDelta::hours(1));
    for descendants in [DescendantKeys::Keep, DescendantKeys::Revoke] {
        let act = scene.act_as(Actor::Administrator, Some(ada.organization.id));
        let again = revoke(&scene, &ada, key.id, RevocationReason::Leak, descendants, act).await;
        assert_eq!(again.expect("revoked"), []);
    }

    assert_eq!(scene.stored(&key).await, first);
    assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, &key).await, 1);
}

pub(super) async fn unknown_key_cannot_be_revoked(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;

    assert_not_found(&scene, &ada, scene.id()).await;
}

pub(super) async fn another_consumers_key_cannot_be_revoked(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&ada.user, &other).await;
    let root = scene.add_key(&ada, "hers").await;
    let child = scene.add_child(&ada, &root, "hers, too").await;
    let revoked = scene.add_key(&ada, "hers, revoked").await;
    scene.revoke(&ada, &revoked, DescendantKeys::Keep).await;
    for stranger in [&bob, &elsewhere] {
        for key in [&root, &child, &revoked] {
            assert_not_found(&scene, stranger, key.id).await;
        }
    }

    for key in [&root, &child] {
        assert_eq!(scene.stored(key).await, *key);
        assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, key).await, 0);
    }
}

pub(super) async fn revoked_key_revokes_no_other_key(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let acting = scene.add_key(&ada, "acting").await;
    let child = scene.add_child(&ada, &acting, "child").await;
    let his = scene.add_key(&bob, "his").await;
    scene.revoke(&ada, &acting, DescendantKeys::Keep).await;
    for gone in [acting.id, his.id, scene.id()] {
        for target in [acting.id, child.id, scene.id()] {
            assert_holder_gone(&scene, &ada, gone, target).await;
        }
    }

    assert_eq!(scene.stored(&child).await, child);
    assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, &acting).await, 1);
}

pub(super) async fn keys_of_an_ended_membership_are_revoked_by_others_only(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let acting = scene.add_key(&bob, "acting").await;
    let keys = [
        scene.add_key(&bob, "first").await,
        scene.add_key(&bob, "second").await,
    ];
    scene.end_membership(&bob).await;
    for (key, descendants) in keys
        .into_iter()
        .zip([DescendantKeys::Keep, DescendantKeys::Revoke])
    {
        assert_holder_gone(&scene, &bob, acting.id, key.id).await;
        assert_eq!(scene.stored(&key).await, key);

        let (reason, act) = (RevocationReason::Owner, scene.act(&ada));
        let revoked = revoke(&scene, &bob, key.id, reason, descendants, act).await;
        assert_eq!(revoked.expect("revoked"), [key.id]);
    }
}

pub(super) async fn other_keys_remain_valid_after_a_revocation(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let parent = scene.add_key(&ada, "parent").await;
    let key = scene.add_child(&ada, &parent, "key").await;
    let sibling = scene.add_child(&ada, &parent, "sibling").await;
    let unrelated = scene.add_key(&ada, "unrelated").await;
    scene.revoke(&ada, &key, DescendantKeys::Revoke).await;

    for survivor in [&parent, &sibling, &unrelated] {
        assert!(
            scene.stored(survivor).await.is_valid(scene.now()),
            "{}",
            survivor.name
        );
    }
}

pub(super) async fn descendants_remain_valid_unless_their_revocation_is_requested(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let root = scene.add_key(&ada, "root").await;
    let child = scene.add_child(&ada, &root, "child").await;

    assert_eq!(scene.revoke(&ada, &root, DescendantKeys::Keep).await, [root.id]);
    assert_eq!(scene.stored(&child).await, child);
}

pub(super) async fn every_generation_remains_valid_unless_its_revocation_is_requested(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let chain = scene.add_chain(&ada, 5).await;
    let mut survivors = chain.as_slice();
    for _ in 0..2 {
        let (revoked, descendants) = survivors.split_first().expect("there are five");
        assert_eq!(
            scene.revoke(&ada, revoked, DescendantKeys::Keep).await,
            [revoked.id]
        );
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

pub(super) async fn long_chain_of_descendants_is_revoked_completely(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let chain = scene.add_chain(&ada, ApiKey::MAX_TREE_DEPTH as usize).await;
    let revoked = scene.revoke(&ada, &chain[0], DescendantKeys::Revoke).await;

    assert_same(revoked, &chain);
    for (generation, key) in chain.iter().enumerate() {
        assert!(
            !scene.stored(key).await.is_valid(scene.now()),
            "generation {generation}"
        );
    }
}

pub(super) async fn all_generations_are_revoked_when_requested(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let root = scene.add_key(&ada, "root").await;
    let mut key_tree = vec![root.clone()];
    for number in 0..3 {
        let child = scene.add_child(&ada, &root, &format!("child {number}")).await;
        key_tree.push(
            scene
                .add_child(&ada, &child, &format!("grandchild {number}"))
                .await,
        );
        key_tree.push(child);
    }
    let at = scene.later(TimeDelta::seconds(1));
    let revoked = scene.revoke(&ada, &root, DescendantKeys::Revoke).await;

    assert_same(revoked, &key_tree);
    let revocation = Revocation {
        end: End::Come(at),
        by: Actor::User(ada.user.id),
        reason: RevocationReason::Holder,
        note: None,
    };
    for key in &key_tree {
        assert_eq!(
            scene.stored(key).await.revocation.as_ref(),
            Some(&revocation),
            "{}",
            key.name
        );
        assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, key).await, 1);
    }
}

pub(super) async fn descendants_below_revoked_keys_are_revoked(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let root = scene.add_key(&ada, "root").await;
    let child = scene.add_child(&ada, &root, "child").await;
    let grandchild = scene.add_child(&ada, &child, "grandchild").await;
    scene.revoke(&ada, &child, DescendantKeys::Keep).await;
    let child_before = scene.stored(&child).await;
    scene.later(TimeDelta::seconds(1));
    let revoked = scene.revoke(&ada, &root, DescendantKeys::Revoke).await;

    assert_same(revoked, &[root.clone(), grandchild.clone()]);
    assert_eq!(scene.stored(&child).await, child_before);
    for key in [&root, &child, &grandchild] {
        assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, key).await, 1);
    }
}

pub(super) async fn descendants_of_an_already_revoked_key_can_be_revoked(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let root = scene.add_key(&ada, "root").await;
    let child = scene.add_child(&ada, &root, "child").await;
    scene.revoke(&ada, &root, DescendantKeys::Keep).await;
    let root_before = scene.stored(&root).await;
    scene.later(TimeDelta::seconds(1));
    let revoked = scene.revoke(&ada, &root, DescendantKeys::Revoke).await;

    assert_eq!(revoked, [child.id]);
    assert_eq!(scene.stored(&root).await, root_before);
    assert!(!scene.stored(&child).await.is_valid(scene.now()));
}

pub(super) async fn each_revoked_key_has_its_own_event(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let root = scene.add_key(&ada, "root").await;
    let child = scene.add_child(&ada, &root, "child").await;
    scene.later(TimeDelta::seconds(1));
    let act = scene.act(&ada);
    revoke(
        &scene,
        &ada,
        root.id,
        RevocationReason::Holder,
        DescendantKeys::Revoke,
        act.clone(),
    )
    .await
    .expect("revoked");

    for key in [&root, &child] {
        let events = scene
            .events_about(
                Some(ada.organization.id),
                Action::RevokeApiKey,
                Subject::ApiKey(key.id),
            )
            .await;
        let [event] = events.as_slice() else {
            panic!("one event about {} expected, not {events:?}", key.name)
        };
        let mut expected = act.event(Action::RevokeApiKey, Subject::ApiKey(key.id));
        expected.id = event.id;
        assert_eq!(*event, scene.as_shown(expected).await);
    }
}

pub(super) async fn revocation_fails_when_event_cannot_be_written(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let root = scene.add_key(&ada, "root").await;
    let child = scene.add_child(&ada, &root, "child").await;
    let act = scene.unwritable_act(scene.act(&ada)).await;
    let failed = revoke(
        &scene,
        &ada,
        root.id,
        RevocationReason::Holder,
        DescendantKeys::Revoke,
        act,
    )
    .await;

    assert!(matches!(failed, Err(RevokeKeyError::Storage(_))), "{failed:?}");
    for key in [&root, &child] {
        assert!(scene.stored(key).await.is_valid(scene.now()), "{}", key.name);
        assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, key).await, 0);
    }
}

pub(super) async fn revocation_completes_after_caller_cancellation(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let root = scene.add_key(&ada, "root").await;
    let child = scene.add_child(&ada, &root, "child").await;
    abandon(scene.revoke(&ada, &root, DescendantKeys::Revoke)).await;

    eventually("the abandoned revocation completes", async || {
        !scene.stored(&root).await.is_valid(scene.now())
    })
    .await;
    assert!(!scene.stored(&child).await.is_valid(scene.now()));
    for key in [&root, &child] {
        assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, key).await, 1);
    }
}

pub(super) async fn revoked_key_is_refused_and_gets_no_new_children(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new_root = scene.new_key(&ada, "root");
    let root = scene.store(&ada, &new_root).await;
    let new_child = scene.new_child(&ada, root.id, "child");
    let child = scene.store(&ada, &new_child).await;
    scene.revoke(&ada, &root, DescendantKeys::Revoke).await;

    for digest in [new_root.digest, new_child.digest] {
        let credential = scene.stores.credentials.find(&digest).await;
        let credential = credential.expect("the store answers").expect("still known");
        assert!(!credential.is_accepted(scene.now()));
    }
    for parent in [&root, &child] {
        let late = scene.new_child(&ada, parent.id, "late");
        let refused = scene.try_add(&ada, &late, AMPLE).await;
        assert!(matches!(refused, Err(AddKeyError::HolderGone)), "{refused:?}");
    }
}

async fn revoke(
    scene: &Scene,
    member: &Member,
    id: ApiKeyId,
    cause: impl Into<RevocationCause>,
    descendants: DescendantKeys,
    act: Act,
) -> Result<Vec<ApiKeyId>, RevokeKeyError> {
    scene
        .stores
        .api_keys
        .revoke(
            member.membership.id,
            id,
            cause.into(),
            descendants,
            KeyPrecondition::AnyVersion,
            act,
        )
        .await
}

async fn assert_holder_gone(scene: &Scene, member: &Member, acting: ApiKeyId, target: ApiKeyId) {
    for descendants in [DescendantKeys::Keep, DescendantKeys::Revoke] {
        let act = scene.act_as(Actor::ApiKey(acting), Some(member.organization.id));
        let refused = revoke(scene, member, target, RevocationReason::Holder, descendants, act).await;
        assert!(matches!(refused, Err(RevokeKeyError::HolderGone)), "{refused:?}");
    }
}

async fn assert_not_found(scene: &Scene, member: &Member, id: ApiKeyId) {
    let before = scene.events(Some(member.organization.id)).await;
    for descendants in [DescendantKeys::Keep, DescendantKeys::Revoke] {
        let act = scene.act(member);
        let refused = revoke(scene, member, id, RevocationReason::Holder, descendants, act).await;
        assert!(matches!(refused, Err(RevokeKeyError::NotFound)), "{refused:?}");
    }
    assert_eq!(
        scene.events(Some(member.organization.id)).await,
        before,
        "a refused revocation writes no event"
    );
}

fn assert_same(mut revoked: Vec<ApiKeyId>, keys: &[ApiKey]) {
    revoked.sort_unstable();
    let mut expected: Vec<ApiKeyId> = keys.iter().map(|key| key.id).collect();
    expected.sort_unstable();
    assert_eq!(revoked, expected);
}
