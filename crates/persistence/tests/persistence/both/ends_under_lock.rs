//! Ends that come while a change waits for its lock.

use std::pin::pin;

use chrono::TimeDelta;
use futures_util::poll;
use keyward_domain::administration::ports::{ApplyLongestLifeError, ChangeMembershipExpiryError};
use keyward_domain::administration::{Authority, StopReason};
use keyward_domain::api_key::{
    Expiry, ExpiryChange, InvalidExpiry, KeyDraft, KeyEdit, KeyName, KeyPrecondition, LongestLife,
};
use keyward_domain::audit::RequestSource;
use keyward_domain::ports::{AddKeyError, ApiKeys, EditKeyError};
use keyward_domain::validity::End;

use crate::both::scene::Scene;
use crate::database::Database;

on_both!(
    edit_that_waits_until_its_keys_end_is_refused,
    membership_end_that_comes_during_the_wait_is_final,
    key_whose_creation_waits_until_its_end_is_not_created,
    person_whose_membership_ends_during_the_wait_creates_no_key,
    longest_life_that_waits_gives_seven_days_notice_from_then,
    owner_who_ends_during_the_wait_changes_no_membership,
    owner_who_ends_during_the_wait_applies_no_longest_life,
);

const HOUR: TimeDelta = TimeDelta::hours(1);

fn in_an_hour(scene: &Scene) -> Expiry {
    let now = scene.make.sources.now();
    Expiry::new(now + HOUR, now).expect("a time ahead")
}

fn expiring(change: ExpiryChange) -> KeyEdit {
    KeyEdit {
        expiry: Some(change),
        ..KeyEdit::default()
    }
}

async fn edit_that_waits_until_its_keys_end_is_refused(database: Database) {
    let scene = Scene::new(database).await;
    let (keys, bob) = (&scene.use_cases.keys, scene.bob.as_holder());
    let edit = |change| {
        let any = KeyPrecondition::AnyVersion;
        keys.edit(&bob, scene.key, expiring(change), any, RequestSource::default())
    };
    let planned = edit(ExpiryChange::Set(in_an_hour(&scene))).await.expect("edited");

    let lock = scene
        .database
        .lock_changes_of(scene.bob.membership.id.as_uuid())
        .await;
    let mut waiting = pin!(edit(ExpiryChange::Remove));
    assert!(poll!(waiting.as_mut()).is_pending());
    scene.make.clock.advance(HOUR);
    drop(lock);
    let late = waiting.await;
    assert!(matches!(late, Err(EditKeyError::Revoked)), "{late:?}");
    let store: &dyn ApiKeys = &*scene.database.store;
    let found = store.find(scene.bob.membership.id, scene.key).await;
    assert_eq!(found.expect("the store answers"), Some(planned));
}

async fn membership_end_that_comes_during_the_wait_is_final(database: Database) {
    let scene = Scene::new(database).await;
    let authority = Authority::of_administrator(scene.ada.organization.id);
    let (members, bob) = (&scene.use_cases.members, scene.bob.membership.id);
    let change = |change| members.change_expiry(&authority, bob, change, RequestSource::default());
    change(ExpiryChange::Set(in_an_hour(&scene)))
        .await
        .expect("planned");

    let lock = scene.database.lock_changes_of(bob.as_uuid()).await;
    let mut waiting = pin!(change(ExpiryChange::Remove));
    assert!(poll!(waiting.as_mut()).is_pending());
    scene.make.clock.advance(HOUR);
    drop(lock);
    let late = waiting.await;
    assert!(
        matches!(late, Err(ChangeMembershipExpiryError::NotFound)),
        "{late:?}"
    );
}

async fn key_whose_creation_waits_until_its_end_is_not_created(database: Database) {
    let scene = Scene::new(database).await;
    let (keys, bob) = (&scene.use_cases.keys, scene.bob.as_holder());
    let draft = KeyDraft {
        expiry: Some(in_an_hour(&scene)),
        ..KeyDraft::named(KeyName::parse("late").expect("a name"))
    };
    let before = scene.database.count("api_keys").await;

    let lock = scene
        .database
        .lock_changes_of(scene.bob.membership.id.as_uuid())
        .await;
    let mut waiting = pin!(keys.issue(&bob, draft, None, RequestSource::default()));
    assert!(poll!(waiting.as_mut()).is_pending());
    scene.make.clock.advance(HOUR);
    drop(lock);
    let late = waiting.await.map(|issued| issued.key);
    assert!(
        matches!(late, Err(AddKeyError::InvalidExpiry(InvalidExpiry::Past))),
        "{late:?}"
    );
    assert_eq!(scene.database.count("api_keys").await, before);
}

async fn person_whose_membership_ends_during_the_wait_creates_no_key(database: Database) {
    let scene = Scene::new(database).await;
    let authority = Authority::of_administrator(scene.ada.organization.id);
    let (keys, members, bob) = (&scene.use_cases.keys, &scene.use_cases.members, &scene.bob);
    let end = ExpiryChange::Set(in_an_hour(&scene));
    let planned = members.change_expiry(&authority, bob.membership.id, end, RequestSource::default());
    planned.await.expect("planned");
    let before = scene.database.count("api_keys").await;

    let lock = scene.database.lock_changes_of(bob.membership.id.as_uuid()).await;
    let draft = KeyDraft::named(KeyName::parse("late").expect("a name"));
    let holder = bob.as_holder();
    let mut waiting = pin!(keys.issue(&holder, draft, None, RequestSource::default()));
    assert!(poll!(waiting.as_mut()).is_pending());
    scene.make.clock.advance(HOUR);
    drop(lock);
    let late = waiting.await.map(|issued| issued.key);
    assert!(matches!(late, Err(AddKeyError::HolderGone)), "{late:?}");
    assert_eq!(scene.database.count("api_keys").await, before);
}

async fn longest_life_that_waits_gives_seven_days_notice_from_then(database: Database) {
    let scene = Scene::new(database).await;
    let authority = Authority::of_administrator(scene.ada.organization.id);
    let longest = LongestLife::of_days(1).expect("a longest life");
    let (organizations, keys) = (&scene.use_cases.organizations, &scene.use_cases.organization_keys);
    let set = organizations.limit_key_life(&authority, Some(longest), RequestSource::default());
    set.await.expect("set");

    let lock = scene
        .database
        .lock_changes_of(scene.bob.membership.id.as_uuid())
        .await;
    let source = RequestSource::default();
    let mut waiting = pin!(keys.apply_longest_life(&authority, longest, source, HOUR));
    assert!(poll!(waiting.as_mut()).is_pending());
    scene.make.clock.advance(HOUR);
    drop(lock);
    waiting.await.expect("applied");
    let store: &dyn ApiKeys = &*scene.database.store;
    let found = store.find(scene.bob.membership.id, scene.key).await;
    let end = found.expect("the store answers").and_then(|key| key.end());
    let notice = scene.make.sources.now() + TimeDelta::days(7);
    assert_eq!(end, Some(End::Planned(notice)));
}

async fn owner_who_ends_during_the_wait_changes_no_membership(database: Database) {
    let scene = Scene::new(database).await;
    let owner = owner_until_an_hour_from_now(&scene).await;
    let (members, bob) = (&scene.use_cases.members, scene.bob.membership.id);
    let end = Expiry::new(scene.make.sources.now() + HOUR * 2, scene.make.sources.now());
    let end = ExpiryChange::Set(end.expect("a time ahead"));

    let lock = scene.database.lock_changes_of(bob.as_uuid()).await;
    let mut waiting = pin!(members.change_expiry(&owner, bob, end, RequestSource::default()));
    assert!(poll!(waiting.as_mut()).is_pending());
    scene.make.clock.advance(HOUR);
    drop(lock);
    let late = waiting.await;
    assert!(
        matches!(late, Err(ChangeMembershipExpiryError::NotAllowed)),
        "{late:?}"
    );
}

async fn owner_until_an_hour_from_now(scene: &Scene) -> Authority {
    let end = scene.make.sources.now() + HOUR;
    let planned = format!(
        "UPDATE memberships SET ended_at = {} WHERE id = {}",
        scene.database.moment(end),
        scene.database.id(scene.ada.membership.id.as_uuid()),
    );
    scene.database.execute(&planned).await;
    let now = scene.make.sources.now();
    scene.ada.as_authority(now).expect("an owner")
}

async fn owner_who_ends_during_the_wait_applies_no_longest_life(database: Database) {
    let scene = Scene::new(database).await;
    let longest = LongestLife::of_days(1).expect("a longest life");
    let (organizations, keys) = (&scene.use_cases.organizations, &scene.use_cases.organization_keys);
    let authority = Authority::of_administrator(scene.ada.organization.id);
    let set = organizations.limit_key_life(&authority, Some(longest), RequestSource::default());
    set.await.expect("set");
    let owner = owner_until_an_hour_from_now(&scene).await;

    let lock = scene
        .database
        .lock_changes_of(scene.bob.membership.id.as_uuid())
        .await;
    let mut waiting = pin!(keys.apply_longest_life(&owner, longest, RequestSource::default(), HOUR));
    assert!(poll!(waiting.as_mut()).is_pending());
    scene.make.clock.advance(HOUR);
    drop(lock);
    let stopped = waiting.await.expect_err("the owner's end has come").why;
    assert!(
        matches!(stopped, StopReason::Refused(ApplyLongestLifeError::NotAllowed)),
        "{stopped:?}"
    );
}
