//! Cases of [`ApiKeys::add`](crate::ports::ApiKeys::add) without concurrent calls.

use chrono::TimeDelta;

use super::super::KeyStores;
use super::super::parallel::{abandon, eventually};
use super::super::scene::{AMPLE, Scene, everything, within};
use crate::api_key::{ApiKey, KeyDescription, KeyName};
use crate::audit::{Action, AuditEvent, Subject};
use crate::ports::{AddKeyError, DescendantKeys, KeyLimit, NewApiKey};

pub(super) async fn key_reads_back_as_added(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let mut new = scene.new_key(&ada, "plain");
    let by = new.key.origin.actor();
    new.key
        .apply(&everything(scene.now()), None, None, by)
        .expect("applied");
    let console = scene.store(&ada, &new).await;
    let child = scene.add_child(&ada, &console, "child").await;

    assert_eq!(scene.stored(&console).await, new.key);
    assert_eq!(scene.stored(&child).await, child);
    assert_eq!(child.parent(), Some(console.id));
}

pub(super) async fn longest_texts_can_be_stored(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let mut new = scene.new_key(&ada, &"🔑".repeat(KeyName::MAX));
    // The letter that grows most when it is folded for searches: eighteenfold.
    new.key.description =
        KeyDescription::parse(&"\u{FDFA}".repeat(KeyDescription::MAX)).expect("a description");
    let key = scene.store(&ada, &new).await;

    assert_eq!(scene.stored(&key).await, new.key);
}

pub(super) async fn key_creation_writes_its_event(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = scene.new_key(&ada, "ci");
    let act = scene.act(&ada);
    let added = scene
        .stores
        .api_keys
        .add(new.clone(), within(AMPLE), act.clone())
        .await;
    assert_eq!(added.expect("the key is added"), new.key);

    let events = scene
        .events_about(
            Some(ada.organization.id),
            Action::CreateApiKey,
            Subject::ApiKey(new.key.id),
        )
        .await;
    let [event] = events.as_slice() else {
        panic!("one event, not {events:?}")
    };
    let expected = AuditEvent {
        id: event.id,
        ..act.creation_of_key(&new.key)
    };
    assert_eq!(*event, scene.as_shown(expected).await);
}

pub(super) async fn key_is_not_added_when_event_cannot_be_written(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = scene.new_key(&ada, "ci");
    let act = scene.unwritable_act(scene.act(&ada)).await;
    let added = scene.stores.api_keys.add(new.clone(), within(AMPLE), act).await;

    assert!(matches!(added, Err(AddKeyError::Storage(_))), "{added:?}");
    assert!(!scene.is_stored(&new.key).await);
}

pub(super) async fn key_creation_completes_after_caller_cancellation(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = scene.new_key(&ada, "ci");
    let act = scene.act(&ada);
    abandon(scene.stores.api_keys.add(new.clone(), within(AMPLE), act)).await;

    eventually("the abandoned key is added", async || {
        scene.is_stored(&new.key).await
    })
    .await;
    assert_eq!(scene.count_of(&ada, Action::CreateApiKey, &new.key).await, 1);
}

pub(super) async fn no_key_is_added_after_the_membership_ended(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    scene.end_membership(&ada).await;

    assert_gone(&scene, &ada, &scene.new_key(&ada, "too late")).await;
}

pub(super) async fn no_key_is_added_for_an_unknown_consumer(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let mut new = scene.new_key(&ada, "nobody's");
    new.key.consumer_id = scene.id();

    assert_gone(&scene, &ada, &new).await;
}

pub(super) async fn no_key_is_added_below_a_revoked_key(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let parent = scene.add_key(&ada, "parent").await;
    scene.revoke(&ada, &parent, DescendantKeys::Keep).await;

    assert_gone(&scene, &ada, &scene.new_child(&ada, parent.id, "child")).await;
}

pub(super) async fn no_key_is_added_below_an_unknown_key(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;

    assert_gone(&scene, &ada, &scene.new_child(&ada, scene.id(), "orphan")).await;
}

pub(super) async fn no_key_is_added_below_another_consumers_key(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let parent = scene.add_key(&ada, "ada's").await;

    assert_gone(&scene, &bob, &scene.new_child(&bob, parent.id, "stolen")).await;
}

pub(super) async fn no_key_is_added_below_a_key_of_another_membership(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&ada.user, &other).await;
    let parent = scene.add_key(&ada, "here").await;

    assert_gone(
        &scene,
        &elsewhere,
        &scene.new_child(&elsewhere, parent.id, "there"),
    )
    .await;
}

pub(super) async fn form_sent_twice_creates_one_key(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let idempotency_key = Some(scene.idempotency_key());
    let first = NewApiKey {
        idempotency_key,
        ..scene.new_key(&ada, "first")
    };
    let second = NewApiKey {
        idempotency_key,
        ..scene.new_key(&ada, "second")
    };
    scene.store(&ada, &first).await;

    assert_already_created(&scene.try_add(&ada, &second, AMPLE).await, &first);
    assert!(!scene.is_stored(&second.key).await);
    assert_eq!(scene.count_of(&ada, Action::CreateApiKey, &second.key).await, 0);
}

pub(super) async fn form_stays_used_after_its_key_was_revoked(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let idempotency_key = Some(scene.idempotency_key());
    let first = NewApiKey {
        idempotency_key,
        ..scene.new_key(&ada, "first")
    };
    let key = scene.store(&ada, &first).await;
    scene.revoke(&ada, &key, DescendantKeys::Keep).await;
    let second = NewApiKey {
        idempotency_key,
        ..scene.new_key(&ada, "second")
    };

    assert_already_created(&scene.try_add(&ada, &second, AMPLE).await, &first);
}

pub(super) async fn two_consumers_may_use_the_same_idempotency_key(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let idempotency_key = Some(scene.idempotency_key());
    for member in [&ada, &bob] {
        let new = NewApiKey {
            idempotency_key,
            ..scene.new_key(member, "mine")
        };
        let key = scene.store(member, &new).await;
        assert!(scene.is_stored(&key).await);
    }
}

pub(super) async fn refused_form_can_be_submitted_again(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = NewApiKey {
        idempotency_key: Some(scene.idempotency_key()),
        ..scene.new_key(&ada, "refused first")
    };
    let refused = scene.try_add(&ada, &new, KeyLimit(0)).await;
    assert!(
        matches!(refused, Err(AddKeyError::LimitReached(KeyLimit(0)))),
        "{refused:?}"
    );

    let key = scene.store(&ada, &new).await;
    assert!(scene.is_stored(&key).await);
}

pub(super) async fn valid_keys_of_a_consumer_never_exceed_the_limit(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let limit = KeyLimit(2);
    for name in ["one", "two"] {
        let new = scene.new_key(&ada, name);
        scene.try_add(&ada, &new, limit).await.expect("below the limit");
    }
    let third = scene.new_key(&ada, "three");
    let refused = scene.try_add(&ada, &third, limit).await;

    assert!(
        matches!(refused, Err(AddKeyError::LimitReached(KeyLimit(2)))),
        "{refused:?}"
    );
    assert!(!scene.is_stored(&third.key).await);
    assert_eq!(scene.count_of(&ada, Action::CreateApiKey, &third.key).await, 0);
}

pub(super) async fn lowered_limit_applies_immediately(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for name in ["one", "two", "three"] {
        scene.add_key(&ada, name).await;
    }
    let refused = scene
        .try_add(&ada, &scene.new_key(&ada, "four"), KeyLimit(2))
        .await;

    assert!(
        matches!(refused, Err(AddKeyError::LimitReached(KeyLimit(2)))),
        "{refused:?}"
    );
}

pub(super) async fn revoked_keys_and_other_consumers_keys_do_not_count(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let limit = KeyLimit(1);
    scene.add_key(&bob, "bob's").await;
    let first = scene.add_key(&ada, "first").await;
    scene.revoke(&ada, &first, DescendantKeys::Keep).await;

    let second = scene.new_key(&ada, "second");
    scene
        .try_add(&ada, &second, limit)
        .await
        .expect("room after a revocation");
}

pub(super) async fn missing_holder_is_reported_before_a_repeated_form(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let idempotency_key = Some(scene.idempotency_key());
    let parent = scene.add_key(&ada, "parent").await;
    let first = NewApiKey {
        idempotency_key,
        ..scene.new_key(&ada, "first")
    };
    scene.store(&ada, &first).await;
    scene.revoke(&ada, &parent, DescendantKeys::Keep).await;
    let again = NewApiKey {
        idempotency_key,
        ..scene.new_child(&ada, parent.id, "again")
    };
    assert_gone(&scene, &ada, &again).await;

    scene.later(TimeDelta::seconds(1));
    scene.end_membership(&ada).await;
    let again = NewApiKey {
        idempotency_key,
        ..scene.new_key(&ada, "again")
    };
    assert_gone(&scene, &ada, &again).await;
}

pub(super) async fn missing_holder_is_reported_before_the_limit(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    scene.end_membership(&ada).await;
    let refused = scene
        .try_add(&ada, &scene.new_key(&ada, "late"), KeyLimit(0))
        .await;

    assert!(matches!(refused, Err(AddKeyError::HolderGone)), "{refused:?}");
}

pub(super) async fn repeated_form_is_reported_before_the_limit(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let idempotency_key = Some(scene.idempotency_key());
    let first = NewApiKey {
        idempotency_key,
        ..scene.new_key(&ada, "first")
    };
    scene.store(&ada, &first).await;
    let again = NewApiKey {
        idempotency_key,
        ..scene.new_key(&ada, "again")
    };

    assert_already_created(&scene.try_add(&ada, &again, KeyLimit(1)).await, &first);
}

pub(super) async fn key_with_an_existing_token_is_refused(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let first = scene.new_key(&ada, "first");
    scene.store(&ada, &first).await;
    let twin = NewApiKey {
        digest: first.digest,
        ..scene.new_key(&bob, "twin")
    };
    let refused = scene.try_add(&bob, &twin, AMPLE).await;

    assert!(matches!(refused, Err(AddKeyError::Storage(_))), "{refused:?}");
    assert!(!scene.is_stored(&twin.key).await);
    assert_eq!(scene.count_of(&bob, Action::CreateApiKey, &twin.key).await, 0);
    assert_eq!(scene.stored(&first.key).await, first.key);
}

async fn assert_gone(scene: &Scene, member: &crate::membership::Member, new: &NewApiKey) {
    let refused = scene.try_add(member, new, AMPLE).await;
    assert!(matches!(refused, Err(AddKeyError::HolderGone)), "{refused:?}");
    assert!(
        !scene.is_stored(&new.key).await,
        "a refused key must not be stored"
    );
    assert_eq!(
        scene.count_of(member, Action::CreateApiKey, &new.key).await,
        0,
        "a refused addition writes no event"
    );
}

fn assert_already_created(refused: &Result<ApiKey, AddKeyError>, first: &NewApiKey) {
    assert!(
        matches!(refused, Err(AddKeyError::AlreadyCreated(id)) if *id == first.key.id),
        "{refused:?}"
    );
}
