//! Cases of the [key ports](crate::ports::ApiKeys): how often a consumer may change its keys.

use chrono::TimeDelta;
use futures_util::future::BoxFuture;

use super::super::KeyStores;
use super::super::scene::{AMPLE, Scene};
use crate::api_key::{ApiKey, KeyEdit, KeyName, KeyPrecondition};
use crate::audit::{Action, Actor};
use crate::membership::Member;
use crate::ports::{
    AddKeyError, DescendantKeys, EditKeyError, KeyLimit, KeyLimits, RotateKeyError, RotationDraft,
};
use crate::rate::{Rate, Throttled};

/// Three at once, and one more every ten seconds.
const RATE: Rate = Rate::new(3, TimeDelta::seconds(10));

async fn add_at(
    scene: &Scene,
    member: &Member,
    changes: Rate,
    valid: KeyLimit,
) -> Result<ApiKey, AddKeyError> {
    let new = scene.new_key(member, "limited");
    let limits = KeyLimits { valid, changes };
    let act = scene.act(member);
    scene.stores.api_keys.add(new, limits, act).await
}

async fn add(scene: &Scene, member: &Member) -> Result<ApiKey, AddKeyError> {
    add_at(scene, member, RATE, AMPLE).await
}

async fn rename_at(
    scene: &Scene,
    member: &Member,
    key: &ApiKey,
    name: &str,
    changes: Rate,
) -> Result<ApiKey, EditKeyError> {
    let edit = KeyEdit {
        name: Some(KeyName::parse(name).expect("a name")),
        ..KeyEdit::default()
    };
    let act = scene.act(member);
    let keys = &scene.stores.api_keys;
    let precondition = KeyPrecondition::AnyVersion;
    keys.edit(member.membership.id, key.id, edit, precondition, changes, act)
        .await
}

async fn rename(scene: &Scene, member: &Member, key: &ApiKey, name: &str) -> Result<ApiKey, EditKeyError> {
    rename_at(scene, member, key, name, RATE).await
}

async fn use_up(scene: &Scene, member: &Member) -> ApiKey {
    for _ in 0..2 {
        add(scene, member).await.expect("within the rate");
    }
    add(scene, member).await.expect("within the rate")
}

#[track_caller]
fn wait_to_add(refused: Result<ApiKey, AddKeyError>) -> TimeDelta {
    match refused {
        Err(AddKeyError::Throttled(Throttled { retry_after })) => retry_after,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn wait_to_edit(refused: Result<ApiKey, EditKeyError>) -> TimeDelta {
    match refused {
        Err(EditKeyError::Throttled(Throttled { retry_after })) => retry_after,
        other => panic!("{other:?}"),
    }
}

pub(super) async fn change_121_in_one_burst_is_refused_with_its_wait(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let rate = KeyLimits::default().changes;
    let key = add_at(&scene, &ada, rate, AMPLE).await.expect("the first change");
    for change in 2..=120 {
        let edited = rename_at(&scene, &ada, &key, &format!("change {change}"), rate).await;
        edited.unwrap_or_else(|error| panic!("change {change}: {error:?}"));
    }
    let refused = rename_at(&scene, &ada, &key, "change 121", rate).await;
    assert_eq!(wait_to_edit(refused), TimeDelta::seconds(1));
    let refused = add_at(&scene, &ada, rate, AMPLE).await;
    assert_eq!(wait_to_add(refused), TimeDelta::seconds(1));
    assert_eq!(scene.stored(&key).await.name.as_str(), "change 120");
    assert_eq!(scene.count_of(&ada, Action::EditApiKey, &key).await, 119);
}

pub(super) async fn one_change_is_accepted_after_the_wait(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = use_up(&scene, &ada).await;
    assert_eq!(wait_to_add(add(&scene, &ada).await), TimeDelta::seconds(10));
    scene.later(TimeDelta::milliseconds(4_001));
    let refused = rename(&scene, &ada, &key, "too early").await;
    assert_eq!(wait_to_edit(refused), TimeDelta::milliseconds(5_999));

    scene.later(TimeDelta::milliseconds(5_999));
    rename(&scene, &ada, &key, "in time")
        .await
        .expect("one was given back");
    assert_eq!(wait_to_add(add(&scene, &ada).await), TimeDelta::seconds(10));
}

pub(super) async fn creating_and_editing_keys_share_one_consumers_rate_limit(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = add(&scene, &ada).await.expect("in person");
    let child = scene.new_child(&ada, key.id, "child");
    let limits = KeyLimits {
        valid: AMPLE,
        changes: RATE,
    };
    let act = scene.act_as(Actor::ApiKey(key.id), Some(ada.organization.id));
    let added = scene.stores.api_keys.add(child, limits, act).await;
    added.expect("through a key");
    rename(&scene, &ada, &key, "renamed")
        .await
        .expect("the third change");

    wait_to_add(add(&scene, &ada).await);
    wait_to_edit(rename(&scene, &ada, &key, "once more").await);
}

pub(super) async fn consumers_have_separate_rate_limits(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    use_up(&scene, &ada).await;
    wait_to_add(add(&scene, &ada).await);

    use_up(&scene, &bob).await;
    let elsewhere = scene.add_organization("Elsewhere").await;
    let also_ada = scene.join_also(&ada.user, &elsewhere).await;
    use_up(&scene, &also_ada).await;
}

pub(super) async fn revoking_is_neither_limited_nor_counted(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = add(&scene, &ada).await.expect("the first change");
    let other = add(&scene, &ada).await.expect("the second change");
    assert_eq!(scene.revoke(&ada, &other, DescendantKeys::Keep).await, [other.id]);
    let last = add(&scene, &ada).await.expect("the third change");
    wait_to_add(add(&scene, &ada).await);

    assert_eq!(scene.revoke(&ada, &key, DescendantKeys::Revoke).await, [key.id]);
    assert_eq!(scene.revoke(&ada, &last, DescendantKeys::Keep).await, [last.id]);
    assert_eq!(wait_to_add(add(&scene, &ada).await), TimeDelta::seconds(10));
}

pub(super) async fn refused_change_is_not_counted(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "the only one").await;
    scene.later(TimeDelta::minutes(1));
    for _ in 0..5 {
        let refused = add_at(&scene, &ada, RATE, KeyLimit(1)).await;
        assert!(
            matches!(refused, Err(AddKeyError::LimitReached(_))),
            "{refused:?}"
        );
        let unknown = ApiKey {
            id: scene.id(),
            ..key.clone()
        };
        let refused = rename(&scene, &ada, &unknown, "unknown").await;
        assert!(matches!(refused, Err(EditKeyError::NotFound)), "{refused:?}");
    }
    use_up(&scene, &ada).await;
    for _ in 0..5 {
        assert_eq!(wait_to_add(add(&scene, &ada).await), TimeDelta::seconds(10));
    }
}

pub(super) async fn ineffective_edit_is_counted(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "same").await;
    scene.later(TimeDelta::minutes(1));
    for _ in 0..3 {
        rename(&scene, &ada, &key, "same").await.expect("no difference");
    }
    wait_to_edit(rename(&scene, &ada, &key, "same").await);
    assert_eq!(scene.count_of(&ada, Action::EditApiKey, &key).await, 0);
}

pub(super) async fn rotation_is_limited_and_counted(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = use_up(&scene, &ada).await;
    let rotate = async || {
        let new = scene.rotation_of(&ada, &key, RotationDraft::default());
        scene.stores.api_keys.rotate(new, RATE, scene.act(&ada)).await
    };
    let refused = rotate().await;
    assert!(
        matches!(refused, Err(RotateKeyError::Throttled(_))),
        "{refused:?}"
    );
    assert_eq!(scene.stored(&key).await.rotated_to, None);
    scene.later(TimeDelta::seconds(10));
    rotate().await.expect("within the rate");
    wait_to_add(add(&scene, &ada).await);
}

pub(super) async fn missing_holder_is_reported_before_the_rate_limit(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = use_up(&scene, &ada).await;
    wait_to_add(add(&scene, &ada).await);
    scene.end_membership(&ada).await;

    let refused = add(&scene, &ada).await;
    assert!(matches!(refused, Err(AddKeyError::HolderGone)), "{refused:?}");
    let refused = rename(&scene, &ada, &key, "gone").await;
    assert!(matches!(refused, Err(EditKeyError::HolderGone)), "{refused:?}");
}

pub(super) async fn rate_limit_is_reported_before_more_expensive_checks(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = use_up(&scene, &ada).await;
    wait_to_add(add_at(&scene, &ada, RATE, KeyLimit(1)).await);
    scene.revoke(&ada, &key, DescendantKeys::Keep).await;
    wait_to_edit(rename(&scene, &ada, &key, "revoked").await);
}

pub(super) async fn recorded_change_time_far_in_the_future_refuses_no_change(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let mut ahead = scene.act(&ada);
    ahead.at += TimeDelta::days(400);
    let limits = KeyLimits {
        valid: AMPLE,
        changes: RATE,
    };
    let new = scene.new_key(&ada, "by a server whose clock is ahead");
    let added = scene.stores.api_keys.add(new, limits, ahead).await;
    added.expect("the key is added");

    add(&scene, &ada).await.expect("a right clock");
    assert_eq!(wait_to_add(add(&scene, &ada).await), TimeDelta::seconds(10));
}

pub(super) async fn concurrent_changes_admit_exactly_the_burst(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "shared").await;
    scene.later(TimeDelta::minutes(1));
    let changes = (0..24).map(|number| {
        let (scene, ada, key) = (scene.clone(), ada.clone(), key.clone());
        let task: BoxFuture<'static, _> = Box::pin(async move {
            if number % 2 == 0 {
                let added = add(&scene, &ada).await;
                added.map(drop).map_err(|error| format!("{error:?}"))
            } else {
                let edited = rename(&scene, &ada, &key, &format!("name {number}")).await;
                edited.map(drop).map_err(|error| format!("{error:?}"))
            }
        });
        task
    });
    let outcomes = scene.in_parallel(changes).await;
    let made = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(made, 3, "{outcomes:?}");
    for refused in outcomes.into_iter().filter_map(Result::err) {
        assert!(refused.starts_with("Throttled"), "{refused}");
    }
}
