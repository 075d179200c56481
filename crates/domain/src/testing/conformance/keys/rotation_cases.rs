//! Cases of the store of keys: rotation.

use chrono::TimeDelta;

use super::super::KeyStores;
use super::super::parallel::{abandon, eventually};
use super::super::scene::{AMPLE, MANY_CHANGES, Scene, expiry_in};
use super::key_tree_depth_cases::{descendants, longest_chain};
use crate::api_key::{
    ApiKey, CannotExtendLife, ExpiryChange, Grace, InvalidExpiry, KeyDescription, KeyEdit, KeyPrecondition,
    OldKeyEnd, RevocationReason,
};
use crate::audit::{Action, Subject};
use crate::keys::{ChosenKey, IdempotencyKey, RequestDigest};
use crate::ports::{
    AddKeyError, DescendantKeys, EditKeyError, KeyLimit, NewRotation, RotateKeyError, RotationDraft,
};
use crate::validity::End;

const DAY: TimeDelta = TimeDelta::days(1);

fn at_once() -> RotationDraft {
    RotationDraft {
        old_key_ends: OldKeyEnd::AtOnce,
        expiry: None,
    }
}

const ROTATION: Option<RevocationReason> = Some(RevocationReason::Rotation);

fn reason(key: &ApiKey) -> Option<RevocationReason> {
    key.revocation.as_ref().map(|revocation| revocation.reason)
}

pub(super) async fn rotated_key_and_its_successor_are_stored(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let parent = scene.add_key(&ada, "parent").await;
    let mut new_key = scene.new_child(&ada, parent.id, "child");
    new_key.key.description = KeyDescription::parse("what it is for").expect("a description");
    new_key.key.can_manage_keys = false;
    let key = scene.store(&ada, &new_key).await;
    let new = scene.rotation_of(&ada, &key, RotationDraft::default());
    let act = scene.act(&ada);
    let mut expected = key.clone();
    let expected_successor = expected.rotate(&new, None, None, &act).expect("rotated");

    let successor = scene.rotate_as(&new, act).await.expect("rotated");
    assert_eq!(successor, expected_successor);
    assert_eq!(successor.parent(), Some(parent.id));
    assert_eq!(scene.stored(&successor).await, expected_successor);
    let old = scene.stored(&key).await;
    assert_eq!(old, expected);
    assert_eq!((old.rotated_to, reason(&old)), (Some(successor.id), ROTATION));
    let credentials = &scene.stores.credentials;
    let found = credentials
        .find(&new_key.digest)
        .await
        .expect("the store answers");
    assert_eq!(found.expect("a known token").key_end, expected.end());
    let found = credentials.find(&new.digest).await.expect("the store answers");
    let found = found.expect("a known token");
    assert_eq!((found.api_key.id, found.key_end), (successor.id, None));
    assert!(!found.api_key.can_manage_keys);
}

pub(super) async fn rotation_at_once_revokes_the_old_key(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    let successor = scene.rotate(&ada, &key, at_once()).await;
    let old = scene.stored(&key).await;
    assert!(!old.is_valid(scene.now()));
    assert_eq!((reason(&old), old.rotated_to), (ROTATION, Some(successor.id)));
}

pub(super) async fn rotation_keeps_an_earlier_planned_end(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    let end = scene.now() + TimeDelta::hours(1);
    let key = scene.plan_revocation(&key, end).await;
    let successor = scene.rotate(&ada, &key, RotationDraft::default()).await;
    assert_eq!(scene.stored(&successor).await.revocation, key.revocation);
    let old = scene.stored(&key).await;
    assert_eq!((old.end(), reason(&old)), (key.end(), ROTATION));
}

pub(super) async fn rotation_writes_its_events(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for (draft, revocations) in [(RotationDraft::default(), 0), (at_once(), 1)] {
        let key = scene.add_key(&ada, "key").await;
        let successor = scene.rotate(&ada, &key, draft).await;
        let subject = Subject::ApiKey(key.id);
        let recorded = scene
            .events_about(Some(ada.organization.id), Action::RotateApiKey, subject)
            .await;
        let objects: Vec<_> = recorded.iter().map(|event| event.object).collect();
        assert_eq!(objects, [Some(Subject::ApiKey(successor.id))]);
        assert_eq!(scene.count_of(&ada, Action::CreateApiKey, &successor).await, 1);
        assert_eq!(
            scene.count_of(&ada, Action::RevokeApiKey, &key).await,
            revocations
        );
    }
}

pub(super) async fn key_is_rotated_once(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for draft in [RotationDraft::default(), at_once()] {
        let key = scene.add_key(&ada, "key").await;
        let rotations = [(); 2].map(|()| scene.rotation_of(&ada, &key, draft));
        let attempts = rotations.iter().map(|new| scene.rotate_as(new, scene.act(&ada)));
        let outcomes = futures_util::future::join_all(attempts).await;
        let (rotated, refused): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
        let [successor] = rotated.try_into().expect("one successor");
        let successor = successor.expect("rotated");
        let [refused] = refused.try_into().expect("one refusal");
        assert!(
            matches!(refused, Err(RotateKeyError::AlreadyRotated(id)) if id == successor.id),
            "{refused:?}"
        );
        let consumer = ada.membership.id;
        let ids = rotations.map(|new| new.successor);
        let stored = scene.stores.api_keys.find_many(consumer, &ids).await;
        let stored: Vec<_> = stored
            .expect("the store answers")
            .iter()
            .map(|key| key.id)
            .collect();
        assert_eq!(stored, [successor.id]);
    }
}

pub(super) async fn rotating_a_successor_revokes_the_key_before(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let first = scene.add_key(&ada, "key").await;
    let second = scene.rotate(&ada, &first, RotationDraft::default()).await;
    let third = scene.rotate(&ada, &second, RotationDraft::default()).await;
    let ended = scene.stored(&first).await;
    assert!(!ended.is_valid(scene.now()));
    assert_eq!(reason(&ended), ROTATION);
    assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, &first).await, 1);
    assert!(scene.stored(&second).await.is_valid(scene.now()));

    // Its end has come, so nothing of it changes.
    scene.later(DAY);
    let before = scene.stored(&second).await;
    scene.rotate(&ada, &third, RotationDraft::default()).await;
    assert_eq!(scene.stored(&second).await.revocation, before.revocation);
    assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, &second).await, 0);
}

pub(super) async fn rotated_key_and_its_successor_count_as_one(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    let successor = scene.rotate(&ada, &key, RotationDraft::default()).await;
    let next = scene.new_key(&ada, "next");
    let refused = scene.try_add(&ada, &next, KeyLimit(1)).await;
    assert!(
        matches!(refused, Err(AddKeyError::LimitReached(_))),
        "{refused:?}"
    );
    let added = scene.try_add(&ada, &next, KeyLimit(2)).await.expect("added");

    // At the limit, a rotation makes no more of them.
    scene.rotate(&ada, &added, at_once()).await;
    scene.revoke(&ada, &successor, DescendantKeys::Keep).await;
    let next = scene.new_key(&ada, "next");
    let refused = scene.try_add(&ada, &next, KeyLimit(2)).await;
    assert!(
        matches!(refused, Err(AddKeyError::LimitReached(_))),
        "the old key counts without its successor: {refused:?}"
    );
}

pub(super) async fn end_of_a_rotated_key_is_not_postponed(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let as_planned = Some(RevocationReason::Administrator);
    for (old_key_ends, reason_of_sooner) in [
        (RotationDraft::default().old_key_ends, ROTATION),
        (OldKeyEnd::OnFirstUse, as_planned),
    ] {
        let key = scene.add_key(&ada, "key").await;
        let key = scene.plan_revocation(&key, scene.now() + DAY).await;
        let draft = RotationDraft {
            old_key_ends,
            ..RotationDraft::default()
        };
        scene.rotate(&ada, &key, draft).await;
        let edit = async |change| {
            let edit = KeyEdit {
                expiry: Some(change),
                ..KeyEdit::default()
            };
            let act = scene.act(&ada);
            let (store, any) = (&scene.stores.api_keys, KeyPrecondition::AnyVersion);
            store
                .edit(ada.membership.id, key.id, edit, any, MANY_CHANGES, act)
                .await
        };
        let later = |hours| expiry_in(TimeDelta::hours(hours), scene.now());
        let is_refused = |outcome: Result<ApiKey, EditKeyError>| {
            assert!(
                matches!(
                    outcome,
                    Err(EditKeyError::CannotExtendLife(CannotExtendLife::OfRotatedKey))
                ),
                "{old_key_ends:?} {outcome:?}"
            );
        };
        is_refused(edit(later(48)).await);
        is_refused(edit(ExpiryChange::Remove).await);
        let sooner = edit(later(1)).await.expect("edited");
        assert_eq!(reason(&sooner), reason_of_sooner);
        is_refused(edit(later(2)).await);
    }
}

pub(super) async fn rotation_takes_a_valid_key_of_the_consumer(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let [bobs, unknown] = [
        scene.add_key(&bob, "bobs").await,
        scene.new_key(&ada, "unknown").key,
    ];
    for key in [&bobs, &unknown] {
        let new = scene.rotation_of(&ada, key, at_once());
        let refused = scene.rotate_as(&new, scene.act(&ada)).await;
        assert!(matches!(refused, Err(RotateKeyError::NotFound)), "{refused:?}");
    }
    assert_eq!(scene.stored(&bobs).await, bobs);
    let revoked = scene.add_key(&ada, "revoked").await;
    scene.revoke(&ada, &revoked, DescendantKeys::Keep).await;
    let new = scene.rotation_of(&ada, &revoked, at_once());
    let refused = scene.rotate_as(&new, scene.act(&ada)).await;
    assert!(matches!(refused, Err(RotateKeyError::Revoked)), "{refused:?}");
}

pub(super) async fn rotation_checks_who_acts(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let restricted = scene.add_restricted(&ada, "restricted").await;
    let [key, acting] = [
        scene.add_key(&ada, "key").await,
        scene.add_key(&ada, "acting").await,
    ];
    let act_of = |key: &ApiKey| scene.act_of(&ada, key);
    for rotated in [&key, &restricted] {
        let new = scene.rotation_of(&ada, rotated, at_once());
        let refused = scene.rotate_as(&new, act_of(&restricted)).await;
        assert!(
            matches!(refused, Err(RotateKeyError::MayNotManageKeys)),
            "{refused:?}"
        );
    }
    scene.revoke(&ada, &acting, DescendantKeys::Keep).await;
    let new = scene.rotation_of(&ada, &key, at_once());
    let refused = scene.rotate_as(&new, act_of(&acting)).await;
    assert!(matches!(refused, Err(RotateKeyError::HolderGone)), "{refused:?}");
    assert_eq!(scene.stored(&key).await, key);
    // A key that rotates itself.
    let rotated = scene.rotate_as(&new, act_of(&key)).await.expect("rotated");
    assert_eq!(rotated.origin, key.origin);
}

pub(super) async fn key_gives_itself_no_longer_life_by_rotation(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    let key = scene.plan_revocation(&key, scene.now() + DAY).await;
    let draft = RotationDraft {
        old_key_ends: OldKeyEnd::After(Grace::from_seconds(60).expect("a minute")),
        expiry: expiry_in(DAY * 2, scene.now()).expiry(),
    };
    let new = scene.rotation_of(&ada, &key, draft);
    let refused = scene.rotate_as(&new, scene.act_of(&ada, &key)).await;
    assert!(
        matches!(
            refused,
            Err(RotateKeyError::CannotExtendLife(CannotExtendLife::OfItself))
        ),
        "{refused:?}"
    );
    assert_eq!(scene.stored(&key).await, key);
    let rotated = scene.rotate_as(&new, scene.act(&ada)).await.expect("rotated");
    assert_eq!(rotated.end(), Some(End::Planned(scene.now() + DAY * 2)));
}

pub(super) async fn repeated_rotation_request_tells_its_successor(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let chosen = ChosenKey::parse("rotation-1").expect("a key");
    let mark = |key: &ApiKey| chosen.for_request(RotationDraft::default().request_digest(key.id));
    let key = scene.add_key(&ada, "key").await;
    let attempt = async |key: &ApiKey, idempotency_key: IdempotencyKey| {
        let new = NewRotation {
            idempotency_key: Some(idempotency_key),
            ..scene.rotation_of(&ada, key, RotationDraft::default())
        };
        scene.rotate_as(&new, scene.act(&ada)).await
    };
    let successor = attempt(&key, mark(&key)).await.expect("rotated");
    let repeated = attempt(&key, mark(&key)).await;
    assert!(
        matches!(repeated, Err(RotateKeyError::AlreadyCreated(id)) if id == successor.id),
        "{repeated:?}"
    );
    let other = scene.add_key(&ada, "other").await;
    for mark in [
        mark(&other),
        chosen.for_request(RequestDigest::of("createApiKey", &[])),
    ] {
        let refused = attempt(&other, mark).await;
        assert!(
            matches!(refused, Err(RotateKeyError::IdempotencyKeyReused)),
            "{refused:?}"
        );
    }
}

pub(super) async fn rotation_may_use_a_forgotten_idempotency_key(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let [first, second] = [
        scene.add_key(&ada, "first").await,
        scene.add_key(&ada, "second").await,
    ];
    let chosen = ChosenKey::parse("rotation-1").expect("a key");
    // The key whose place the second one takes is valid until that is rotated: three stored keys change then.
    let long = RotationDraft {
        old_key_ends: OldKeyEnd::After(Grace::MAX),
        expiry: None,
    };
    let second = scene.rotate(&ada, &second, long).await;
    for key in [&first, &second] {
        let new = NewRotation {
            idempotency_key: Some(chosen.for_request(RotationDraft::default().request_digest(key.id))),
            ..scene.rotation_of(&ada, key, RotationDraft::default())
        };
        let rotated = scene.rotate_as(&new, scene.act(&ada)).await;
        assert_eq!(rotated.expect("rotated").rotated_from, Some(key.id));
        scene.later(IdempotencyKey::REMEMBERED);
    }
}

pub(super) async fn successor_is_revoked_with_the_key_that_made_it(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let parent = scene.add_key(&ada, "parent").await;
    let key = scene.add_child(&ada, &parent, "key").await;
    let acting = scene.add_key(&ada, "acting").await;
    let mut made_with_it = Vec::new();
    for (old, draft) in [(&key, RotationDraft::default()), (&acting, at_once())] {
        let new = scene.rotation_of(&ada, old, draft);
        let made = scene.rotate_as(&new, scene.act_of(&ada, &acting)).await;
        let made = scene.stored(&made.expect("rotated")).await;
        assert_eq!(
            (made.parent(), made.effective_parent()),
            (old.parent(), Some(acting.id))
        );
        let child = scene.add_child(&ada, &made, "child").await;
        // Signed in: the successor has the parent of the old key.
        let next = scene.rotate(&ada, &made, RotationDraft::default()).await;
        assert_eq!(scene.stored(&next).await.effective_parent(), Some(acting.id));
        made_with_it.extend([made, child, next]);
    }
    let descendants = descendants(&scene, &ada, acting.id).await;
    assert_eq!(descendants.len(), made_with_it.len());
    // Its own rotation has ended it already.
    scene.revoke(&ada, &acting, DescendantKeys::Revoke).await;
    for made in made_with_it {
        assert!(!scene.stored(&made).await.is_valid(scene.now()), "{made:?}");
    }
    assert!(scene.stored(&parent).await.is_valid(scene.now()));
}

pub(super) async fn rotation_lengthens_no_chain_of_keys(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let chain = longest_chain(&scene, &ada).await;
    let other = scene.add_key(&ada, "other").await;
    let [last, before] = [&chain[chain.len() - 1], &chain[chain.len() - 2]];

    let new = scene.rotation_of(&ada, &other, RotationDraft::default());
    let refused = scene.rotate_as(&new, scene.act_of(&ada, last)).await;
    assert!(matches!(refused, Err(RotateKeyError::TreeTooDeep)), "{refused:?}");
    assert!(scene.stored(&other).await.rotated_to.is_none());

    let rotated = scene.rotate_as(&new, scene.act_of(&ada, before)).await;
    rotated.expect("there is room");
    let new = scene.rotation_of(&ada, last, RotationDraft::default());
    let rotated = scene.rotate_as(&new, scene.act_of(&ada, last)).await;
    rotated.expect("a key may rotate itself");
}

pub(super) async fn rotated_key_counts_as_one_with_its_successor_below(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let chain = longest_chain(&scene, &ada).await;
    let [last, before] = [&chain[chain.len() - 1], &chain[chain.len() - 2]];
    scene.revoke(&ada, last, DescendantKeys::Keep).await;
    let other = scene.add_key(&ada, "other").await;
    let new = scene.rotation_of(&ada, before, RotationDraft::default());
    let rotated = scene.rotate_as(&new, scene.act_of(&ada, before)).await;
    let successor = rotated.expect("a key may rotate itself");
    assert_eq!(successor.effective_parent(), Some(before.id));

    let new = scene.rotation_of(&ada, &other, RotationDraft::default());
    let rotated = scene.rotate_as(&new, scene.act_of(&ada, &successor)).await;
    rotated.expect("there is room");
    let child = scene.add_child(&ada, &successor, "child").await;
    let too_deep = scene.new_child(&ada, child.id, "too deep");
    let refused = scene.try_add(&ada, &too_deep, AMPLE).await;
    assert!(matches!(refused, Err(AddKeyError::TreeTooDeep)), "{refused:?}");
    // The pair made room for no more than one.
    scene.revoke(&ada, before, DescendantKeys::Keep).await;
    let refused = scene.try_add(&ada, &too_deep, AMPLE).await;
    assert!(matches!(refused, Err(AddKeyError::TreeTooDeep)), "{refused:?}");
}

pub(super) async fn rotation_fails_when_event_cannot_be_written(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    let new = scene.rotation_of(&ada, &key, at_once());
    let act = scene.unwritable_act(scene.act(&ada)).await;
    let failed = scene.rotate_as(&new, act).await;
    assert!(matches!(failed, Err(RotateKeyError::Storage(_))), "{failed:?}");
    assert_eq!(scene.stored(&key).await, key);
}

pub(super) async fn rotation_completes_after_caller_cancellation(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    let new = scene.rotation_of(&ada, &key, at_once());
    abandon(scene.rotate_as(&new, scene.act(&ada))).await;

    eventually("the abandoned rotation happens", async || {
        scene.stored(&key).await.rotated_to == Some(new.successor)
    })
    .await;
    assert_eq!(scene.count_of(&ada, Action::RotateApiKey, &key).await, 1);
}

pub(super) async fn rotation_that_began_before_an_end_comes_too_late(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let [ending, acting, other] = [
        scene.add_key(&ada, "ending").await,
        scene.add_key(&ada, "acting").await,
        scene.add_key(&ada, "other").await,
    ];
    for key in [&ending, &acting] {
        scene.plan_revocation(key, scene.now() + DAY).await;
    }
    let until_tomorrow = RotationDraft {
        expiry: expiry_in(DAY, scene.now()).expiry(),
        ..at_once()
    };
    let (by_person, by_key) = (scene.act(&ada), scene.act_of(&ada, &acting));
    scene.later(DAY);

    let late = async |key, draft, act| {
        let new = scene.rotation_of(&ada, key, draft);
        scene.rotate_as(&new, act).await
    };
    let refused = late(&ending, at_once(), by_person.clone()).await;
    assert!(matches!(refused, Err(RotateKeyError::Revoked)), "{refused:?}");
    let refused = late(&other, at_once(), by_key).await;
    assert!(matches!(refused, Err(RotateKeyError::HolderGone)), "{refused:?}");
    let refused = late(&other, until_tomorrow, by_person).await;
    let past = InvalidExpiry::Past;
    assert!(
        matches!(refused, Err(RotateKeyError::InvalidExpiry(ref why)) if *why == past),
        "{refused:?}"
    );
    assert_eq!(scene.stored(&other).await, other);
}
