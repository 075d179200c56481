//! Cases of [`ApiKeys::add`](crate::ports::ApiKeys::add): a client that sends a request again.

use chrono::TimeDelta;
use futures_util::future::BoxFuture;

use super::super::KeyStores;
use super::super::scene::{AMPLE, Scene, within};
use crate::api_key::ApiKey;
use crate::audit::Action;
use crate::idempotency_key::{ChosenKey, IdempotencyKey, RequestDigest};
use crate::membership::Member;
use crate::ports::{AddKeyError, DescendantKeys, KeyLimit, NewApiKey};

const CROWD: usize = 32;

/// A request for a key of this name, with the idempotency key that a client chose.
fn request(scene: &Scene, member: &Member, chosen: &str, name: &str) -> NewApiKey {
    let request = RequestDigest::of("createApiKey", &[name]);
    NewApiKey {
        idempotency_key: Some(ChosenKey::parse(chosen).expect("a key").for_request(request)),
        ..scene.new_key(member, name)
    }
}

fn assert_already_created(refused: &Result<ApiKey, AddKeyError>, first: &ApiKey) {
    assert!(
        matches!(refused, Err(AddKeyError::AlreadyCreated(id)) if *id == first.id),
        "{refused:?}"
    );
}

fn assert_reused(refused: &Result<ApiKey, AddKeyError>) {
    assert!(
        matches!(refused, Err(AddKeyError::IdempotencyKeyReused)),
        "{refused:?}"
    );
}

pub(super) async fn repeated_request_creates_one_key(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let first = scene.store(&ada, &request(&scene, &ada, "retry", "ci")).await;
    let again = request(&scene, &ada, "retry", "ci");

    assert_already_created(&scene.try_add(&ada, &again, KeyLimit(1)).await, &first);
    assert!(!scene.is_stored(&again.key).await);
    assert_eq!(scene.count_of(&ada, Action::CreateApiKey, &again.key).await, 0);
    scene.store(&ada, &request(&scene, &ada, "Retry", "ci")).await;
}

pub(super) async fn repeated_request_finds_its_revoked_key(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let first = scene.store(&ada, &request(&scene, &ada, "retry", "ci")).await;
    scene.revoke(&ada, &first, DescendantKeys::Keep).await;
    let again = request(&scene, &ada, "retry", "ci");

    assert_already_created(&scene.try_add(&ada, &again, AMPLE).await, &first);
}

pub(super) async fn idempotency_key_of_a_different_request_is_refused(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let first = scene.store(&ada, &request(&scene, &ada, "retry", "ci")).await;
    let other = request(&scene, &ada, "retry", "cd");

    assert_reused(&scene.try_add(&ada, &other, KeyLimit(1)).await);
    assert!(!scene.is_stored(&other.key).await);
    let again = request(&scene, &ada, "retry", "ci");
    assert_already_created(&scene.try_add(&ada, &again, AMPLE).await, &first);
}

pub(super) async fn consumers_may_choose_the_same_idempotency_key(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    for (member, name) in [(&ada, "ci"), (&bob, "cd")] {
        scene.store(member, &request(&scene, member, "retry", name)).await;
    }
}

pub(super) async fn idempotency_key_of_a_request_is_free_after_24_hours(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let first = scene.store(&ada, &request(&scene, &ada, "retry", "ci")).await;
    scene.later(IdempotencyKey::REMEMBERED - TimeDelta::milliseconds(1));
    let again = request(&scene, &ada, "retry", "ci");
    assert_already_created(&scene.try_add(&ada, &again, AMPLE).await, &first);

    scene.later(TimeDelta::milliseconds(1));
    let second = scene.store(&ada, &request(&scene, &ada, "retry", "cd")).await;
    assert_eq!(scene.stored(&first).await, first);
    let again = request(&scene, &ada, "retry", "cd");
    assert_already_created(&scene.try_add(&ada, &again, AMPLE).await, &second);
}

pub(super) async fn refused_request_does_not_use_its_idempotency_key(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let refused = scene
        .try_add(&ada, &request(&scene, &ada, "retry", "ci"), KeyLimit(0))
        .await;
    assert!(
        matches!(refused, Err(AddKeyError::LimitReached(_))),
        "{refused:?}"
    );

    let failing = request(&scene, &ada, "retry", "ci");
    let act = scene.unwritable_act(scene.act(&ada)).await;
    let failed = scene.stores.api_keys.add(failing, within(AMPLE), act).await;
    assert!(matches!(failed, Err(AddKeyError::Storage(_))), "{failed:?}");

    scene.store(&ada, &request(&scene, &ada, "retry", "cd")).await;
}

pub(super) async fn missing_holder_is_reported_before_a_repeated_request(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    scene.store(&ada, &request(&scene, &ada, "retry", "ci")).await;
    scene.end_membership(&ada).await;
    for name in ["ci", "cd"] {
        let late = request(&scene, &ada, "retry", name);
        let refused = scene.try_add(&ada, &late, AMPLE).await;
        assert!(matches!(refused, Err(AddKeyError::HolderGone)), "{refused:?}");
    }
}

pub(super) async fn concurrently_repeated_requests_create_one_key(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    // Also when the first use is so old that it must not count any more.
    scene
        .store(&ada, &request(&scene, &ada, "retry", "yesterday"))
        .await;
    scene.later(IdempotencyKey::REMEMBERED);
    let attempts = (0..CROWD).map(|_| {
        let (scene, ada) = (scene.clone(), ada.clone());
        let task: BoxFuture<'static, _> = Box::pin(async move {
            let new = request(&scene, &ada, "retry", "today");
            scene.try_add(&ada, &new, AMPLE).await
        });
        task
    });
    let (added, refused): (Vec<_>, Vec<_>) = scene
        .in_parallel(attempts)
        .await
        .into_iter()
        .partition(Result::is_ok);

    let [Ok(added)] = added.as_slice() else {
        panic!("one request creates one key, not {added:?}")
    };
    assert_eq!(refused.len(), CROWD - 1);
    for refused in &refused {
        if !matches!(refused, Err(AddKeyError::InProgress)) {
            assert_already_created(refused, added);
        }
    }
    let late = request(&scene, &ada, "retry", "today");
    assert_already_created(&scene.try_add(&ada, &late, AMPLE).await, added);
}
