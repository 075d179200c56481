//! Cases of the store of keys: ends that holders plan.

use chrono::{DateTime, TimeDelta, Utc};

use super::super::KeyStores;
use super::super::scene::{AMPLE, MANY_CHANGES, Scene, as_value, expiry_in, within};
use crate::api_key::{ApiKey, ExpiryChange, InvalidExpiry, KeyEdit, KeyName, KeyPrecondition};
use crate::audit::{Act, Action, Actor, Subject};
use crate::id::ApiKeyId;
use crate::membership::Member;
use crate::page::{PageRequest, PageSize};
use crate::ports::{AddKeyError, EditKeyError, KeyFilter, NewApiKey, StatusFilter};
use crate::validity::End;

const HOUR: TimeDelta = TimeDelta::hours(1);

pub(super) fn planned_in(time: TimeDelta, now: DateTime<Utc>) -> KeyEdit {
    KeyEdit {
        expiry: Some(expiry_in(time, now)),
        ..KeyEdit::default()
    }
}

pub(super) fn without_end() -> KeyEdit {
    KeyEdit {
        expiry: Some(ExpiryChange::Remove),
        ..KeyEdit::default()
    }
}

pub(super) async fn edit(
    scene: &Scene,
    member: &Member,
    actor: Actor,
    id: ApiKeyId,
    edit: KeyEdit,
) -> Result<ApiKey, EditKeyError> {
    let act = scene.act_as(actor, Some(member.organization.id));
    edit_by(scene, member, id, edit, act).await
}

async fn edit_by(
    scene: &Scene,
    member: &Member,
    id: ApiKeyId,
    edit: KeyEdit,
    act: Act,
) -> Result<ApiKey, EditKeyError> {
    let (store, any) = (&scene.stores.api_keys, KeyPrecondition::AnyVersion);
    store
        .edit(member.membership.id, id, edit, any, MANY_CHANGES, act)
        .await
}

async fn end_of_credential(scene: &Scene, new: &NewApiKey) -> Option<End> {
    let found = scene.stores.credentials.find(&new.digest).await;
    found.expect("the store answers").expect("a known token").key_end
}

pub(super) async fn planned_end_is_set_moved_and_removed(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = scene.new_key(&ada, "key");
    let key = scene.store(&ada, &new).await;
    let other = scene.add_key(&ada, "other").await;
    let person = Actor::User(ada.user.id);
    let edits = [
        (person, planned_in(HOUR * 2, scene.now())),
        (Actor::ApiKey(other.id), planned_in(HOUR * 3, scene.now())),
        (Actor::ApiKey(key.id), planned_in(HOUR, scene.now())),
        (person, without_end()),
        (person, planned_in(HOUR, scene.now())),
    ];
    let mut expected = key.clone();
    for (number, (actor, change)) in edits.into_iter().enumerate() {
        let before = expected.expires_at(scene.now());
        expected.apply(&change, None, None, actor).expect("applied");
        let edited = edit(&scene, &ada, actor, key.id, change).await.expect("edited");
        assert_eq!(edited, expected);
        let (here, subject) = (Some(ada.organization.id), Subject::ApiKey(key.id));
        let events = scene.events_about(here, Action::ChangeExpiry, subject).await;
        let values = [before, expected.expires_at(scene.now())].map(|at| at.map(as_value));
        assert_eq!(
            [&events[0].old_value, &events[0].new_value],
            [&values[0], &values[1]]
        );
        assert_eq!(scene.stored(&key).await, expected);
        assert_eq!(end_of_credential(&scene, &new).await, expected.end());
        let recorded = scene.count_of(&ada, Action::ChangeExpiry, &key).await;
        assert_eq!(recorded, number + 1);
    }
    assert_eq!(scene.count_of(&ada, Action::EditApiKey, &key).await, 0);
    assert_eq!(scene.stored(&other).await, other);
}

pub(super) async fn unchanged_planned_end_writes_no_event(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    let person = Actor::User(ada.user.id);
    let unchanged = edit(&scene, &ada, person, key.id, without_end()).await;
    assert_eq!(unchanged.expect("edited"), key);
    let in_an_hour = planned_in(HOUR, scene.now());
    let planned = edit(&scene, &ada, person, key.id, in_an_hour.clone()).await;
    let other = scene.add_key(&ada, "other").await;
    let again = edit(&scene, &ada, Actor::ApiKey(other.id), key.id, in_an_hour).await;
    assert_eq!(again.expect("edited"), planned.expect("edited"));
    assert_eq!(scene.count_of(&ada, Action::ChangeExpiry, &key).await, 1);
}

pub(super) async fn edit_of_name_and_end_writes_an_event_for_each(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    let renamed_and_planned = KeyEdit {
        name: KeyName::parse("renamed").ok(),
        ..planned_in(HOUR, scene.now())
    };
    let person = Actor::User(ada.user.id);
    let edited = edit(&scene, &ada, person, key.id, renamed_and_planned).await;
    assert_eq!(scene.stored(&key).await, edited.expect("edited"));
    let counts = [
        scene.count_of(&ada, Action::EditApiKey, &key).await,
        scene.count_of(&ada, Action::ChangeExpiry, &key).await,
    ];
    assert_eq!(counts, [1, 1]);
}

pub(super) async fn edit_keeps_the_planned_end_unless_it_changes_it(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    let person = Actor::User(ada.user.id);
    let planned = edit(&scene, &ada, person, key.id, planned_in(HOUR, scene.now())).await;
    let planned = planned.expect("edited");
    let rename = KeyEdit {
        name: KeyName::parse("renamed").ok(),
        ..KeyEdit::default()
    };
    let renamed = edit(&scene, &ada, person, key.id, rename).await.expect("edited");
    assert_eq!(renamed.revocation, planned.revocation);
    assert_eq!(scene.stored(&key).await, renamed);
    assert_eq!(scene.count_of(&ada, Action::EditApiKey, &key).await, 1);
}

pub(super) async fn key_extends_itself_in_no_store(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    let itself = Actor::ApiKey(key.id);
    let planned = edit(&scene, &ada, itself, key.id, planned_in(HOUR, scene.now())).await;
    let planned = planned.expect("edited");
    for longer in [planned_in(HOUR * 2, scene.now()), without_end()] {
        let longer = KeyEdit {
            name: KeyName::parse("renamed").ok(),
            ..longer
        };
        let refused = edit(&scene, &ada, itself, key.id, longer).await;
        assert!(
            matches!(refused, Err(EditKeyError::CannotExtendLife(_))),
            "{refused:?}"
        );
    }
    assert_eq!(scene.stored(&key).await, planned);
    assert_eq!(scene.count_of(&ada, Action::ChangeExpiry, &key).await, 1);
}

pub(super) async fn planned_end_that_came_does_not_change(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    let person = Actor::User(ada.user.id);
    let planned = edit(&scene, &ada, person, key.id, planned_in(HOUR, scene.now())).await;
    let planned = planned.expect("edited");
    scene.later(HOUR);
    for change in [planned_in(HOUR, scene.now()), without_end()] {
        let refused = edit(&scene, &ada, person, key.id, change).await;
        assert!(matches!(refused, Err(EditKeyError::Revoked)), "{refused:?}");
    }
    assert_eq!(scene.stored(&key).await, planned);
}

pub(super) async fn edit_that_began_before_an_end_comes_too_late(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let [ending, acting] = [
        scene.add_key(&ada, "ending").await,
        scene.add_key(&ada, "acting").await,
    ];
    let (person, key) = (Actor::User(ada.user.id), Actor::ApiKey(acting.id));
    let mut planned = Vec::new();
    for key in [&ending, &acting] {
        let in_an_hour = planned_in(HOUR, scene.now());
        planned.push(
            edit(&scene, &ada, person, key.id, in_an_hour)
                .await
                .expect("edited"),
        );
    }
    let other = scene.add_key(&ada, "other").await;
    let early = |actor| scene.act_as(actor, Some(ada.organization.id));
    let [by_person, by_key] = [early(person), early(key)];
    scene.later(HOUR);

    for change in [planned_in(HOUR, scene.now()), without_end()] {
        let late = edit_by(&scene, &ada, ending.id, change.clone(), by_person.clone()).await;
        assert!(matches!(late, Err(EditKeyError::Revoked)), "{late:?}");
        let late = edit_by(&scene, &ada, other.id, change, by_key.clone()).await;
        assert!(matches!(late, Err(EditKeyError::HolderGone)), "{late:?}");
    }
    assert_eq!(scene.stored(&ending).await, planned[0]);
    assert_eq!(scene.stored(&other).await, other);
}

pub(super) async fn planned_end_that_passed_meanwhile_is_not_set(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    let in_an_hour = planned_in(HOUR, scene.now());
    let mut new = scene.new_key(&ada, "new");
    new.key
        .apply(&in_an_hour, None, None, new.key.origin.actor())
        .expect("applied");
    let act = scene.act(&ada);
    scene.later(HOUR);

    let late = edit_by(&scene, &ada, key.id, in_an_hour, act.clone()).await;
    let past = InvalidExpiry::Past;
    assert!(
        matches!(late, Err(EditKeyError::InvalidExpiry(ref why)) if *why == past),
        "{late:?}"
    );
    let keys = &scene.stores.api_keys;
    let late = keys.add(new.clone(), within(AMPLE), act).await;
    assert!(
        matches!(late, Err(AddKeyError::InvalidExpiry(ref why)) if *why == past),
        "{late:?}"
    );
    assert_eq!(scene.stored(&key).await, key);
    let found = keys.find(ada.membership.id, new.key.id).await;
    assert_eq!(found.expect("the store answers"), None);
}

pub(super) async fn key_whose_parent_ended_meanwhile_is_not_added(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let parent = scene.add_key(&ada, "parent").await;
    let person = Actor::User(ada.user.id);
    let planned = edit(&scene, &ada, person, parent.id, planned_in(HOUR, scene.now())).await;
    planned.expect("edited");
    let child = scene.new_child(&ada, parent.id, "child");
    let act = scene.act_as(Actor::ApiKey(parent.id), Some(ada.organization.id));
    scene.later(HOUR);

    let late = scene.stores.api_keys.add(child, within(AMPLE), act).await;
    assert!(matches!(late, Err(AddKeyError::HolderGone)), "{late:?}");
}

pub(super) async fn list_filters_by_planned_end(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let start = scene.now();
    let mut keys = Vec::new();
    for (name, hours) in [
        ("first", Some(1)),
        ("never", None),
        ("second", Some(2)),
        ("third", Some(3)),
    ] {
        let mut new = scene.new_key(&ada, name);
        if let Some(hours) = hours {
            let change = planned_in(HOUR * hours, start);
            let by = new.key.origin.actor();
            new.key.apply(&change, None, None, by).expect("applied");
        }
        keys.push(scene.store(&ada, &new).await);
    }
    let [first, _never, second, third] = [0, 1, 2, 3].map(|number: usize| keys[number].id);
    let all = TimeDelta::days(1);
    for (status, term, before, at, expected) in [
        (StatusFilter::Valid, None, HOUR, TimeDelta::zero(), vec![]),
        (
            StatusFilter::Valid,
            None,
            HOUR * 3,
            TimeDelta::zero(),
            vec![second, first],
        ),
        (
            StatusFilter::All,
            None,
            HOUR * 3,
            TimeDelta::zero(),
            vec![second, first],
        ),
        (StatusFilter::Revoked, None, all, HOUR, vec![]),
        (StatusFilter::All, None, all, HOUR, vec![third, second]),
        (
            StatusFilter::Valid,
            Some("ir"),
            all,
            TimeDelta::zero(),
            vec![third, first],
        ),
        (StatusFilter::Valid, None, all, HOUR * 3, vec![]),
    ] {
        let filter = KeyFilter::new(status, term).expiring_before(Some(start + before));
        let (store, page) = (&scene.stores.api_keys, PageRequest::first(PageSize::DEFAULT));
        let found = store
            .list(ada.membership.id, filter.clone(), page, start + at)
            .await;
        let found: Vec<ApiKeyId> = found
            .expect("the store answers")
            .items
            .iter()
            .map(|key| key.id)
            .collect();
        assert_eq!(found, expected, "{filter:?}");
    }
}
