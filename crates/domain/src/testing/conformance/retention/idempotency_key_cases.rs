//! Cases of forgetting the idempotency keys of requests.

use chrono::{DateTime, Utc};

use super::super::Stores;
use super::super::scene::{AMPLE, Scene};
use super::scene::{ALL, MILLISECOND};
use crate::idempotency_key::{ChosenKey, IdempotencyKey, RequestDigest};
use crate::membership::Member;
use crate::ports::{AddKeyError, NewApiKey};

pub(super) async fn idempotency_keys_of_requests_are_forgotten(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let first = scene.store(&ada, &request(&scene, &ada, "one")).await;
    let created_at = scene.now();
    scene.later(MILLISECOND);
    scene.store(&ada, &request(&scene, &ada, "two")).await;

    assert_eq!(forget(&scene, created_at, ALL).await, 0);
    assert_eq!(forget(&scene, created_at + MILLISECOND, ALL).await, 1);
    assert_eq!(forget(&scene, created_at + MILLISECOND, ALL).await, 0);
    assert_eq!(scene.stored(&first).await, first);
    scene.store(&ada, &request(&scene, &ada, "one")).await;
    let again = scene.try_add(&ada, &request(&scene, &ada, "two"), AMPLE).await;
    assert!(matches!(again, Err(AddKeyError::AlreadyCreated(_))), "{again:?}");

    for chosen in ["three", "four", "five"] {
        scene.store(&ada, &request(&scene, &ada, chosen)).await;
    }
    scene.later(MILLISECOND);
    for forgotten in [3, 2, 0] {
        assert_eq!(forget(&scene, scene.now(), 3).await, forgotten);
    }
}

pub(super) async fn idempotency_keys_of_forms_are_kept(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let idempotency_key = Some(scene.idempotency_key());
    let form = || NewApiKey {
        idempotency_key,
        ..scene.new_key(&ada, "form")
    };
    let first = scene.store(&ada, &form()).await;
    let later = scene.later(IdempotencyKey::REMEMBERED);

    assert_eq!(forget(&scene, later, ALL).await, 0);
    let again = scene.try_add(&ada, &form(), AMPLE).await;
    assert!(
        matches!(again, Err(AddKeyError::AlreadyCreated(id)) if id == first.id),
        "{again:?}"
    );
}

fn request(scene: &Scene<Stores>, member: &Member, chosen: &str) -> NewApiKey {
    let request = RequestDigest::of("createApiKey", &["ci"]);
    NewApiKey {
        idempotency_key: Some(ChosenKey::parse(chosen).expect("a key").for_request(request)),
        ..scene.new_key(member, "ci")
    }
}

async fn forget(scene: &Scene<Stores>, created_before: DateTime<Utc>, at_most: u32) -> u32 {
    let retention = &scene.stores.retention;
    let forgotten = retention.forget_idempotency_keys(created_before, at_most).await;
    forgotten.expect("idempotency keys are forgotten")
}
