//! How [`OrganizationStore`](crate::administration::ports::OrganizationStore) keeps the longest life of new
//! keys, and keys follow it.

use chrono::TimeDelta;

use super::super::Stores;
use super::super::scene::{AMPLE, MANY_CHANGES, Scene, expiry_in};
use super::scene::as_user;
use crate::administration::ports::ChangeOrganizationError;
use crate::api_key::{
    ApiKey, CannotExtendLife, Expiry, InvalidExpiry, KeyEdit, KeyPrecondition, LongestLife, OldKeyEnd,
};
use crate::audit::{Action, Actor, AuditEvent, Subject};
use crate::membership::Member;
use crate::ports::{AddKeyError, EditKeyError, NewApiKey, RotateKeyError, RotationDraft};
use crate::validity::End;

const DAY: TimeDelta = TimeDelta::days(1);

pub(super) fn days(days: i64) -> LongestLife {
    LongestLife::of_days(days).expect("a longest life")
}

pub(super) async fn limit(
    scene: &Scene<Stores>,
    actor: Actor,
    member: &Member,
    longest: Option<LongestLife>,
) -> Result<(), ChangeOrganizationError> {
    let here = member.organization.id;
    let act = scene.act_as(actor, Some(here));
    scene
        .stores
        .organizations
        .limit_key_life(here, longest, act)
        .await
}

/// The longest life that the member's organization allows.
async fn longest(scene: &Scene<Stores>, member: &Member) -> Option<LongestLife> {
    let memberships = &scene.stores.keys.memberships;
    let found = memberships
        .find_live(member.user.id, &member.organization.slug, scene.now())
        .await;
    let found = found.expect("the store answers").expect("a live member");
    found.organization.longest_key_life
}

async fn recorded(scene: &Scene<Stores>, member: &Member) -> Vec<AuditEvent> {
    let id = member.organization.id;
    let subject = Subject::Organization(id);
    scene.events_about(Some(id), Action::LimitKeyLife, subject).await
}

/// A new key whose holder plans its end after this time.
pub(super) fn ending_in(scene: &Scene<Stores>, member: &Member, time: TimeDelta) -> NewApiKey {
    let mut new = scene.new_key(member, "key");
    let edit = KeyEdit {
        expiry: Some(expiry_in(time, scene.now())),
        ..KeyEdit::default()
    };
    let by = new.key.origin.actor();
    new.key.apply(&edit, None, None, by).expect("applied");
    new
}

fn planned(at: chrono::DateTime<chrono::Utc>) -> Option<End> {
    Some(End::Planned(at))
}

pub(super) async fn longest_life_applies_to_keys_created_later(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let before = scene.add_key(&ada, "before").await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&ada.user, &other).await;
    let set = limit(&scene, as_user(&ada), &ada, Some(days(30))).await;
    set.expect("set");
    assert_eq!(longest(&scene, &ada).await, Some(days(30)));
    assert_eq!(longest(&scene, &elsewhere).await, None);

    let new = scene.new_key(&ada, "without an end");
    let key = scene.store(&ada, &new).await;
    assert_eq!(key.end(), planned(key.created_at + DAY * 30));
    let credentials = &scene.stores.keys.credentials;
    let found = credentials.find(&new.digest).await.expect("the store answers");
    assert_eq!(found.expect("a known token").key_end, key.end());
    for (time, accepted) in [
        (DAY * 30, true),
        (DAY, true),
        (DAY * 30 + TimeDelta::milliseconds(1), false),
    ] {
        let new = ending_in(&scene, &ada, time);
        match scene.try_add(&ada, &new, AMPLE).await {
            Ok(key) => assert!(accepted && key.end() == planned(scene.now() + time), "{key:?}"),
            Err(AddKeyError::InvalidExpiry(error)) => {
                assert!(
                    !accepted && error == InvalidExpiry::LongerThanAllowed(days(30)),
                    "{error}"
                );
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(scene.stored(&before).await, before);
    assert_eq!(scene.add_key(&elsewhere, "elsewhere").await.end(), None);

    limit(&scene, as_user(&ada), &ada, None).await.expect("removed");
    assert_eq!(scene.add_key(&ada, "after").await.end(), None);
    assert!(scene.stored(&key).await.end().is_some());
}

pub(super) async fn planned_end_is_not_put_off_beyond_the_longest_life(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let without_end = scene.add_key(&ada, "without an end").await;
    let long = scene.store(&ada, &ending_in(&scene, &ada, DAY * 90)).await;
    let set = limit(&scene, as_user(&ada), &ada, Some(days(30))).await;
    set.expect("set");
    let short = scene.store(&ada, &ending_in(&scene, &ada, DAY)).await;
    let in_days = |number: i32| expiry_in(DAY * number, scene.now());
    let removed = crate::api_key::ExpiryChange::Remove;
    for (key, change, accepted) in [
        (&short, in_days(30), true),
        (&short, in_days(31), false),
        (&short, removed, false),
        (&long, in_days(91), false),
        (&long, removed, false),
        (&long, in_days(60), true),
        (&without_end, removed, true),
        (&without_end, in_days(365), true),
        (&without_end, in_days(366), false),
        (&without_end, in_days(20), true),
    ] {
        let before = scene.stored(key).await;
        let edit = KeyEdit {
            expiry: Some(change),
            ..KeyEdit::default()
        };
        let edited = scene
            .stores
            .keys
            .api_keys
            .edit(
                key.consumer_id,
                key.id,
                edit,
                KeyPrecondition::AnyVersion,
                MANY_CHANGES,
                scene.act(&ada),
            )
            .await;
        let stored = scene.stored(key).await;
        match edited {
            Ok(edited) => assert!(accepted && stored == edited, "{change:?}"),
            Err(EditKeyError::CannotExtendLife(error)) => {
                assert!(!accepted && stored == before, "{change:?}");
                assert_eq!(error, CannotExtendLife::BeyondLongestLife(days(30)));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

async fn rotate(
    scene: &Scene<Stores>,
    member: &Member,
    key: &ApiKey,
    expiry: Option<Expiry>,
) -> Result<ApiKey, RotateKeyError> {
    let draft = RotationDraft {
        old_key_ends: OldKeyEnd::AtOnce,
        expiry,
    };
    let new = scene.rotation_of(member, key, draft);
    scene.rotate_as(&new, scene.act(member)).await
}

pub(super) async fn successor_ends_after_the_longest_life(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let without_end = scene.add_key(&ada, "without an end").await;
    let long = scene.store(&ada, &ending_in(&scene, &ada, DAY * 90)).await;
    let short = scene.store(&ada, &ending_in(&scene, &ada, DAY)).await;
    let set = limit(&scene, as_user(&ada), &ada, Some(days(30))).await;
    set.expect("set");
    let in_days = |number: i32| expiry_in(DAY * number, scene.now()).expiry();
    let refused = rotate(&scene, &ada, &short, in_days(31)).await;
    let expected = InvalidExpiry::LongerThanAllowed(days(30));
    assert!(
        matches!(refused, Err(RotateKeyError::InvalidExpiry(error)) if error == expected),
        "{refused:?}"
    );
    assert_eq!(scene.stored(&short).await, short);
    for (key, expiry, end) in [(&without_end, None, 30), (&long, None, 30), (&short, None, 1)] {
        let successor = rotate(&scene, &ada, key, expiry).await.expect("rotated");
        assert_eq!(successor.end(), planned(scene.now() + DAY * end));
        assert!(scene.stored(&successor).await.end().is_some());
    }
    let key = scene.add_key(&ada, "another").await;
    let successor = rotate(&scene, &ada, &key, in_days(29)).await.expect("rotated");
    assert_eq!(successor.end(), planned(scene.now() + DAY * 29));
}

pub(super) async fn longest_life_change_writes_one_event(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    limit(&scene, as_user(&ada), &ada, None)
        .await
        .expect("so already");
    assert_eq!(recorded(&scene, &ada).await, []);
    let changes = [None, Some(days(30)), Some(days(7)), None];
    for (number, pair) in changes.windows(2).enumerate() {
        for _ in 0..2 {
            limit(&scene, as_user(&ada), &ada, pair[1]).await.expect("set");
        }
        let events = recorded(&scene, &ada).await;
        assert_eq!(events.len(), number + 1);
        let values = [pair[0], pair[1]].map(|life| life.map(|life| life.to_string()));
        assert_eq!(
            [&events[0].old_value, &events[0].new_value],
            [&values[0], &values[1]]
        );
        assert_eq!((events[0].actor, events[0].at), (as_user(&ada), scene.now()));
    }
}

pub(super) async fn only_active_owners_and_administrators_limit_key_life(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for (who, actor) in scene.outsiders(&ada.organization).await {
        let refused = limit(&scene, actor, &ada, Some(days(1))).await;
        assert!(
            matches!(refused, Err(ChangeOrganizationError::NotAllowed)),
            "{who}: {refused:?}"
        );
    }
    assert_eq!(
        (longest(&scene, &ada).await, recorded(&scene, &ada).await),
        (None, vec![])
    );
    let set = limit(&scene, Actor::Administrator, &ada, Some(days(1))).await;
    set.expect("an administrator may");
    assert_eq!(longest(&scene, &ada).await, Some(days(1)));
}

pub(super) async fn longest_life_is_unchanged_when_event_cannot_be_written(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let act = scene.unwritable_act(scene.act(&ada)).await;
    let organizations = &scene.stores.organizations;
    let failed = organizations
        .limit_key_life(ada.organization.id, Some(days(1)), act)
        .await;
    assert!(
        matches!(failed, Err(ChangeOrganizationError::Storage(_))),
        "{failed:?}"
    );
    assert_eq!(longest(&scene, &ada).await, None);
}
