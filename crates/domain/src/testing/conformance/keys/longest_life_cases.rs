//! Cases of the store of keys: the longest life that an organization's owners allow.

use chrono::TimeDelta;

use super::super::KeyStores;
use super::super::scene::{AMPLE, Scene, expiry_in};
use super::expiry_cases::{edit, planned_in, without_end};
use crate::api_key::{CannotExtendLife, InvalidExpiry, KeyEdit, LongestLife, OldKeyEnd};
use crate::audit::Actor;
use crate::membership::{Member, Role};
use crate::organization::Organization;
use crate::ports::{AddKeyError, EditKeyError, NewApiKey, RotateKeyError, RotationDraft};
use crate::validity::End;

const DAY: TimeDelta = TimeDelta::days(1);
const LONGEST: TimeDelta = TimeDelta::days(30);
const MILLISECOND: TimeDelta = TimeDelta::milliseconds(1);

fn longest() -> LongestLife {
    LongestLife::of_days(LONGEST.num_days()).expect("a longest life")
}

/// A member of an organization with a longest life for new keys.
async fn member_with_longest_life(stores: KeyStores) -> (Scene, Member) {
    let scene = Scene::new(stores);
    let organization = Organization {
        longest_key_life: Some(longest()),
        ..scene.make.organization("Analytical Engines")
    };
    let arrange = &scene.stores.arrange;
    arrange.add_organization(organization.clone()).await;
    let ada = scene.join_as(&organization, "ada", Role::Owner).await;
    (scene, ada)
}

fn new_key_ending_in(scene: &Scene, member: &Member, time: TimeDelta) -> NewApiKey {
    let mut new = scene.new_key(member, "key");
    let by = new.key.origin.actor();
    let planned = new.key.apply(&planned_in(time, scene.now()), None, None, by);
    planned.expect("applied");
    new
}

pub(super) async fn new_key_ends_within_the_longest_life(stores: KeyStores) {
    let (scene, ada) = member_with_longest_life(stores).await;
    let latest = Some(End::Planned(scene.now() + LONGEST));
    let without_end = scene.new_key(&ada, "key");
    assert_eq!(scene.store(&ada, &without_end).await.end(), latest);
    let found = scene.stores.credentials.find(&without_end.digest).await;
    let found = found.expect("the store answers").expect("a known token");
    assert_eq!(found.key_end, latest);

    let at_most = new_key_ending_in(&scene, &ada, LONGEST);
    assert_eq!(scene.store(&ada, &at_most).await.end(), latest);
    let longer = new_key_ending_in(&scene, &ada, LONGEST + MILLISECOND);
    let refused = scene.try_add(&ada, &longer, AMPLE).await;
    let expected = InvalidExpiry::LongerThanAllowed(longest());
    assert!(
        matches!(refused, Err(AddKeyError::InvalidExpiry(why)) if why == expected),
        "{refused:?}"
    );
    assert!(!scene.is_stored(&longer.key).await);
}

pub(super) async fn planned_end_stays_within_the_longest_life(stores: KeyStores) {
    let (scene, ada) = member_with_longest_life(stores).await;
    let key = scene.store(&ada, &new_key_ending_in(&scene, &ada, DAY)).await;
    let person = Actor::User(ada.user.id);
    let begin = scene.now();
    let change = async |change: KeyEdit| edit(&scene, &ada, person, key.id, change).await;

    for longer in [planned_in(LONGEST + MILLISECOND, begin), without_end()] {
        let refused = change(longer).await;
        let expected = CannotExtendLife::BeyondLongestLife(longest());
        assert!(
            matches!(refused, Err(EditKeyError::CannotExtendLife(why)) if why == expected),
            "{refused:?}"
        );
    }
    assert_eq!(scene.stored(&key).await, key);
    let postponed = change(planned_in(LONGEST, begin)).await.expect("edited");
    assert_eq!(postponed.end(), Some(End::Planned(begin + LONGEST)));
    assert_eq!(scene.stored(&key).await, postponed);
}

pub(super) async fn successor_ends_within_the_longest_life(stores: KeyStores) {
    let (scene, ada) = member_with_longest_life(stores).await;
    let [short, long] = [
        scene.store(&ada, &new_key_ending_in(&scene, &ada, DAY * 2)).await,
        scene.add_key(&ada, "long").await,
    ];
    // From before owners chose the longest life.
    let long = scene.plan_revocation(&long, scene.now() + LONGEST * 3).await;
    let now = scene.later(DAY);
    let asked = |time| RotationDraft {
        old_key_ends: OldKeyEnd::AtOnce,
        expiry: expiry_in(time, now).expiry(),
    };

    let new = scene.rotation_of(&ada, &short, asked(LONGEST + MILLISECOND));
    let refused = scene.rotate_as(&new, scene.act(&ada)).await;
    let expected = InvalidExpiry::LongerThanAllowed(longest());
    assert!(
        matches!(refused, Err(RotateKeyError::InvalidExpiry(why)) if why == expected),
        "{refused:?}"
    );
    assert_eq!(scene.stored(&short).await, short);

    let as_before = RotationDraft::default();
    let mut key = short;
    for (draft, end) in [(as_before, DAY), (asked(LONGEST), LONGEST)] {
        key = scene.rotate(&ada, &key, draft).await;
        assert_eq!(key.end(), Some(End::Planned(now + end)));
        assert_eq!(scene.stored(&key).await, key);
    }
    let limited = scene.rotate(&ada, &long, as_before).await;
    assert_eq!(limited.end(), Some(End::Planned(now + LONGEST)));
}
