//! How [`OrganizationKeyStore`](crate::administration::ports::OrganizationKeyStore) revokes keys.

use chrono::TimeDelta;
use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::parallel::{abandon, eventually};
use super::super::scene::{AMPLE, Scene};
use std::num::NonZeroU32;

use super::key_scene::{ALL, issued_before, only, with_descendants};
use crate::administration::ports::{KeySelection, RevokeKeysError};
use crate::api_key::{ApiKey, Revocation, RevocationNote, RevocationReason};
use crate::audit::{Action, Actor, Subject};
use crate::id::ApiKeyId;
use crate::membership::Role;
use crate::ports::{AddKeyError, DescendantKeys, RotationDraft};
use crate::validity::End;

fn ids(keys: &[&ApiKey]) -> Vec<ApiKeyId> {
    keys.iter().map(|key| key.id).collect()
}

pub(super) async fn revoked_keys_store_all_details_with_one_event_each(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let hers = scene.new_key(&ada, "hers");
    let his = scene.new_key(&bob, "his");
    for (member, new) in [(&ada, &hers), (&bob, &his)] {
        scene.store(member, new).await;
    }
    let at = scene.later(TimeDelta::milliseconds(7));
    let act = scene.act(&ada);
    let note = RevocationNote::parse("the laptop was stolen").expect("a note");
    let store = &scene.stores.organization_keys;
    let revoked = store
        .revoke(
            ada.organization.id,
            only(&[&hers.key, &his.key]),
            ALL,
            RevocationReason::Owner,
            Some(note.clone()),
            act.clone(),
        )
        .await;
    let mut revoked = revoked.expect("revoked");
    revoked.keys.sort_unstable();
    assert_eq!(revoked.keys, [hers.key.id, his.key.id]);
    assert!(revoked.is_last);

    for new in [&hers, &his] {
        let revocation = Revocation {
            end: End::Come(at),
            by: Actor::User(ada.user.id),
            reason: RevocationReason::Owner,
            note: Some(note.clone()),
        };
        assert_eq!(scene.stored(&new.key).await.revocation, Some(revocation));
        let credential = scene.stores.keys.credentials.find(&new.digest).await;
        let credential = credential.expect("the store answers").expect("still known");
        assert!(!credential.is_accepted(scene.now()));
        let subject = Subject::ApiKey(new.key.id);
        let recorded = scene
            .events_about(act.organization_id, Action::RevokeApiKey, subject)
            .await;
        let [event] = recorded.as_slice() else {
            panic!("one event, not {recorded:?}")
        };
        let mut expected = act.event(Action::RevokeApiKey, subject);
        expected.id = event.id;
        assert_eq!(*event, scene.as_shown(expected).await);
    }
}

pub(super) async fn every_selection_revokes_only_its_valid_keys(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let hers = scene.add_key(&ada, "hers").await;
    let root = scene.add_key(&bob, "root").await;
    let child = scene.add_child(&bob, &root, "child").await;
    let grandchild = scene.add_child(&bob, &child, "grandchild").await;
    let before = scene.later(TimeDelta::seconds(1));
    let late = scene.add_key(&bob, "late").await;
    let third = scene.add_key(&bob, "third").await;
    scene.later(TimeDelta::seconds(1));
    for (selection, expected) in [
        (only(&[&child]), vec![&child]),
        (only(&[&child]), vec![]),
        (with_descendants(&[&child]), vec![&grandchild]),
        (issued_before(before), vec![&hers, &root]),
        (KeySelection::OfConsumer(bob.membership.id), vec![&late, &third]),
    ] {
        let revoked = scene.revoke_many(&ada, selection.clone(), scene.act(&ada)).await;
        let mut revoked = revoked.expect("revoked");
        revoked.sort_unstable();
        assert_eq!(revoked, ids(&expected), "{selection:?}");
    }
    for key in [&hers, &root, &child, &grandchild, &late, &third] {
        assert!(!scene.stored(key).await.is_valid(scene.now()));
        assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, key).await, 1);
    }
}

pub(super) async fn cutoff_time_selects_descendants_of_earlier_keys(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let [stolen, rotated, revoked] = [
        scene.add_key(&bob, "stolen").await,
        scene.add_key(&bob, "rotated").await,
        scene.add_key(&ada, "revoked").await,
    ];
    let cutoff = scene.later(TimeDelta::seconds(1));
    let selection = issued_before(cutoff);
    let child = scene.add_child(&bob, &stolen, "child").await;
    let new = scene.rotation_of(&bob, &rotated, RotationDraft::default());
    let successor = scene.rotate_as(&new, scene.act_of(&bob, &stolen)).await;
    let successor = successor.expect("rotated");
    let second = scene.add_child(&ada, &revoked, "second").await;
    scene.revoke(&ada, &revoked, DescendantKeys::Keep).await;
    let mut generations = vec![second];
    for number in 0..6 {
        let last = generations.last().expect("there is one").clone();
        generations.push(scene.add_child(&ada, &last, &format!("child {number}")).await);
        scene.revoke(&ada, &last, DescendantKeys::Keep).await;
    }
    let last = generations.last().expect("there is one");
    let own = scene.add_key(&ada, "own").await;
    let own_child = scene.add_child(&ada, &own, "child of own").await;
    let in_person = scene.add_key(&bob, "in person").await;
    let due = scene.add_child(&bob, &stolen, "due").await;
    scene
        .plan_revocation(&due, scene.now() + TimeDelta::seconds(1))
        .await;
    scene.later(TimeDelta::seconds(1));

    let expected = ids(&[&stolen, &rotated, &child, &successor, last]);
    let previewed = async || {
        let store = &scene.stores.organization_keys;
        let preview = store.revocation_preview(ada.organization.id, selection.clone(), scene.now());
        let preview = preview.await.expect("the store answers").selected;
        (preview.keys, preview.holders)
    };
    assert_eq!(previewed().await, (5, 2));
    let mut revoked = Vec::new();
    let two = NonZeroU32::new(2).expect("some");
    loop {
        let act = scene.act(&ada);
        let batch = scene.revoke_batch(&ada, selection.clone(), two, act).await;
        let batch = batch.expect("revoked");
        if revoked.is_empty() {
            assert_eq!(previewed().await, (3, 2), "two are gone");
        }
        revoked.extend(batch.keys);
        if batch.is_last {
            break;
        }
    }
    assert_eq!(previewed().await, (0, 0));
    revoked.sort_unstable();
    assert_eq!(revoked, expected);
    assert_eq!(scene.count_of(&ada, Action::ExpireApiKey, &due).await, 1);
    for key in [&own, &own_child, &in_person] {
        assert!(scene.stored(key).await.is_valid(scene.now()));
    }
}

pub(super) async fn keys_are_revoked_in_batches_each_with_its_own_act(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let root = scene.add_key(&bob, "root").await;
    let mut keys = vec![root.clone()];
    for number in 0..4 {
        keys.push(scene.add_child(&bob, &root, &format!("child {number}")).await);
        let child = keys[1].clone();
        keys.push(
            scene
                .add_child(&bob, &child, &format!("grandchild {number}"))
                .await,
        );
    }
    keys.sort_by_key(|key| key.id);
    let later = scene.later(TimeDelta::seconds(1));
    let mut left = keys.as_slice();
    for (selection, at_most) in [
        (issued_before(later), 2),
        (KeySelection::OfConsumer(bob.membership.id), 1),
        (with_descendants(&[&root]), 2),
        (only(&left.iter().rev().collect::<Vec<_>>()), 2),
        (with_descendants(&[&root]), 3),
    ] {
        let act = scene.act(&ada);
        let at = scene.later(TimeDelta::milliseconds(1));
        let batch = NonZeroU32::new(at_most).expect("some");
        let revoked = scene.revoke_some(&ada, selection.clone(), batch, act).await;
        let (expected, rest) = left.split_at(left.len().min(at_most as usize));
        let ids: Vec<ApiKeyId> = expected.iter().map(|key| key.id).collect();
        assert_eq!(revoked.expect("revoked"), ids, "{selection:?}");
        for key in expected {
            let revocation = scene.stored(key).await.revocation;
            assert_eq!(revocation.expect("it is revoked").end, End::Come(at));
            assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, key).await, 1);
        }
        for key in rest {
            assert!(scene.stored(key).await.is_valid(scene.now()));
        }
        left = rest;
    }
    // There were two for the last three.
    assert!(left.is_empty());
    let again = scene
        .revoke_many(&ada, issued_before(later), scene.act(&ada))
        .await;
    assert_eq!(again.expect("nothing is left"), []);
}

pub(super) async fn every_batch_checks_the_actors_authority_again(stores: Stores) {
    const ONE: NonZeroU32 = NonZeroU32::MIN;
    let (scene, ada) = Scene::with_owner(stores).await;
    let eve = scene.join_as(&ada.organization, "eve", Role::Owner).await;
    let keys = [scene.add_key(&ada, "one").await, scene.add_key(&ada, "two").await];
    let all = KeySelection::OfConsumer(ada.membership.id);
    let first = scene.revoke_some(&ada, all.clone(), ONE, scene.act(&eve)).await;
    assert_eq!(first.expect("revoked"), [keys[0].id]);
    scene.end_membership(&eve).await;
    let refused = scene.revoke_some(&ada, all, ONE, scene.act(&eve)).await;
    assert!(matches!(refused, Err(RevokeKeysError::NotAllowed)), "{refused:?}");
    assert!(scene.stored(&keys[1]).await.is_valid(scene.now()));
    assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, &keys[1]).await, 0);
}

/// No member is skipped because of a concurrent revocation.
pub(super) async fn concurrent_batches_leave_no_key_valid(stores: Stores) {
    const KEYS: usize = 24;
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let mut keys = Vec::new();
    for number in 0..KEYS {
        keys.push(scene.add_key(&bob, &format!("key {number}")).await);
    }
    let later = scene.later(TimeDelta::seconds(1));
    let at_most = NonZeroU32::new(4).expect("some");
    let mut tasks: Vec<BoxFuture<'static, ()>> = Vec::new();
    for _ in 0..3 {
        let (scene, ada) = (scene.clone(), ada.clone());
        tasks.push(Box::pin(async move {
            for _ in 0..KEYS {
                let act = scene.act(&ada);
                let revoked = scene.revoke_some(&ada, issued_before(later), at_most, act).await;
                if revoked.expect("revoked").len() < 4 {
                    return;
                }
            }
            panic!("there is no end of keys that are valid");
        }));
    }
    for key in keys.iter().step_by(3) {
        let (scene, bob, key) = (scene.clone(), bob.clone(), key.clone());
        tasks.push(Box::pin(async move {
            scene.revoke(&bob, &key, DescendantKeys::Keep).await;
        }));
    }
    scene.in_parallel(tasks).await;
    for key in &keys {
        assert!(!scene.stored(key).await.is_valid(scene.now()));
        assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, key).await, 1);
    }
}

pub(super) async fn keys_of_a_former_member_can_be_revoked(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let key = scene.add_key(&bob, "key").await;
    scene.end_membership(&bob).await;
    let revoked = scene.revoke_many(&ada, only(&[&key]), scene.act(&ada)).await;
    assert_eq!(revoked.expect("revoked"), [key.id]);
}

pub(super) async fn other_organizations_keys_are_never_revoked(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&ada.user, &other).await;
    let key = scene.add_key(&elsewhere, "elsewhere").await;
    let child = scene.add_child(&elsewhere, &key, "elsewhere, too").await;
    for selection in [
        only(&[&key, &child]),
        with_descendants(&[&key]),
        KeySelection::OfConsumer(elsewhere.membership.id),
        issued_before(scene.later(TimeDelta::days(1))),
    ] {
        let revoked = scene.revoke_many(&ada, selection, scene.act(&ada)).await;
        assert_eq!(revoked.expect("nothing is revoked"), []);
    }
    for key in [&key, &child] {
        assert_eq!(scene.stored(key).await, *key);
        assert_eq!(scene.count_of(&elsewhere, Action::RevokeApiKey, key).await, 0);
    }
}

pub(super) async fn only_owners_and_administrators_revoke_other_members_keys(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let key = scene.add_key(&bob, "key").await;
    let outsiders = scene.outsiders(&ada.organization).await;
    let before = scene.events(Some(ada.organization.id)).await;
    for (who, actor) in outsiders
        .into_iter()
        .chain([("its holder", Actor::User(bob.user.id))])
    {
        for selection in [
            only(&[&key]),
            KeySelection::OfConsumer(bob.membership.id),
            issued_before(scene.later(TimeDelta::days(1))),
        ] {
            let act = scene.act_as(actor, Some(ada.organization.id));
            let refused = scene.revoke_many(&ada, selection, act).await;
            assert!(
                matches!(refused, Err(RevokeKeysError::NotAllowed)),
                "{who}: {refused:?}"
            );
        }
    }
    assert_eq!(scene.stored(&key).await, key);
    assert_eq!(scene.events(Some(ada.organization.id)).await, before);

    let act = scene.act_as(Actor::Administrator, Some(ada.organization.id));
    let revoked = scene.revoke_many(&ada, only(&[&key]), act).await;
    assert_eq!(revoked.expect("revoked"), [key.id]);
}

pub(super) async fn keys_are_not_revoked_when_events_cannot_be_written(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let keys = [scene.add_key(&ada, "one").await, scene.add_key(&ada, "two").await];
    let act = scene.unwritable_act(scene.act(&ada)).await;
    let failed = scene
        .revoke_many(&ada, KeySelection::OfConsumer(ada.membership.id), act)
        .await;
    assert!(matches!(failed, Err(RevokeKeysError::Storage(_))), "{failed:?}");
    for key in &keys {
        assert_eq!(scene.stored(key).await, *key);
        assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, key).await, 0);
    }
}

pub(super) async fn batch_revocation_completes_after_caller_cancellation(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let keys = [scene.add_key(&ada, "one").await, scene.add_key(&ada, "two").await];
    let selection = KeySelection::OfConsumer(ada.membership.id);
    abandon(scene.revoke_many(&ada, selection, scene.act(&ada))).await;
    eventually("the abandoned revocation happens", async || {
        !scene.stored(&keys[0]).await.is_valid(scene.now())
    })
    .await;
    assert!(!scene.stored(&keys[1]).await.is_valid(scene.now()));
    for key in &keys {
        assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, key).await, 1);
    }
}

/// Owners and the holder revoke at once, in overlapping selections, without a deadlock.
pub(super) async fn concurrent_revocations_by_owner_and_holder_end_each_key_once(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let root = scene.add_key(&bob, "root").await;
    let mut keys = vec![root.clone()];
    for number in 0..15 {
        keys.push(scene.add_child(&bob, &root, &format!("child {number}")).await);
        keys.push(scene.add_key(&ada, &format!("hers {number}")).await);
    }
    let later = scene.later(TimeDelta::seconds(1));
    let mut tasks: Vec<BoxFuture<'static, Vec<ApiKeyId>>> = Vec::new();
    let mut backwards: Vec<&ApiKey> = keys.iter().collect();
    backwards.reverse();
    for selection in [
        issued_before(later),
        with_descendants(&[&root]),
        KeySelection::OfConsumer(bob.membership.id),
        only(&backwards),
    ] {
        for _ in 0..4 {
            let (scene, ada, selection) = (scene.clone(), ada.clone(), selection.clone());
            tasks.push(Box::pin(async move {
                let revoked = scene.revoke_many(&ada, selection, scene.act(&ada)).await;
                revoked.expect("revoked")
            }));
        }
    }
    for _ in 0..4 {
        let (scene, bob, root) = (scene.clone(), bob.clone(), root.clone());
        tasks.push(Box::pin(async move {
            scene.revoke(&bob, &root, DescendantKeys::Revoke).await
        }));
    }
    let mut revoked: Vec<ApiKeyId> = scene.in_parallel(tasks).await.into_iter().flatten().collect();
    revoked.sort_unstable();
    let mut expected: Vec<ApiKeyId> = keys.iter().map(|key| key.id).collect();
    expected.sort_unstable();
    assert_eq!(revoked, expected);
    for key in &keys {
        assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, key).await, 1);
    }
}

pub(super) async fn no_child_survives_an_owners_revocation_of_its_key_tree(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let root = scene.add_key(&bob, "root").await;
    let children: Vec<_> = (0..30)
        .map(|number| scene.new_child(&bob, root.id, &format!("child {number}")))
        .collect();
    let mut tasks: Vec<BoxFuture<'static, ()>> = Vec::new();
    for child in &children {
        let (scene, bob, child) = (scene.clone(), bob.clone(), child.clone());
        tasks.push(Box::pin(async move {
            match scene.try_add(&bob, &child, AMPLE).await {
                Ok(_) | Err(AddKeyError::HolderGone) => {}
                Err(error) => panic!("{error:?}"),
            }
        }));
    }
    let (owner, selection, act) = (ada.clone(), with_descendants(&[&root]), scene.act(&ada));
    let revoking = scene.clone();
    tasks.insert(
        15,
        Box::pin(async move {
            let revoked = revoking.revoke_many(&owner, selection, act).await;
            revoked.expect("revoked");
        }),
    );
    scene.in_parallel(tasks).await;
    for child in &children {
        let stored = scene
            .stores
            .keys
            .api_keys
            .find(bob.membership.id, child.key.id)
            .await;
        let stored = stored.expect("the store answers");
        assert!(
            stored.is_none_or(|key| !key.is_valid(scene.now())),
            "{}",
            child.key.name
        );
    }
}
