//! How [`OrganizationKeyStore`](crate::administration::ports::OrganizationKeyStore) applies the longest life
//! to keys that exist.

use std::num::NonZeroU32;

use chrono::{DateTime, TimeDelta, Utc};

use super::super::Stores;
use super::super::pages::all_pages;
use super::super::scene::Scene;
use super::key_scene::ALL;
use super::longest_life_cases::{days, ending_in, limit};
use super::scene::as_user;
use crate::administration::ports::{
    ApplyLongestLifeError, OrganizationKeyFilter, PreviewedKeys, ShortenedBatch,
};
use crate::api_key::{ApiKey, LastUse, LongestLife, RevocationReason};
use crate::audit::{Act, Action, Actor, AuditEvent, Subject};
use crate::id::ApiKeyId;
use crate::membership::{Member, Role};
use crate::page::PageSize;
use crate::ports::{DescendantKeys, KeyUse, StatusFilter};
use crate::validity::End;

const DAY: TimeDelta = TimeDelta::days(1);

async fn apply(
    scene: &Scene<Stores>,
    owner: &Member,
    longest: LongestLife,
    act: Act,
) -> Result<ShortenedBatch, ApplyLongestLifeError> {
    let store = &scene.stores.organization_keys;
    let here = owner.organization.id;
    store.apply_longest_life(here, longest, None, ALL, act).await
}

async fn preview(scene: &Scene<Stores>, owner: &Member, longest: LongestLife) -> PreviewedKeys {
    let store = &scene.stores.organization_keys;
    let preview = store
        .longest_life_preview(owner.organization.id, longest, scene.now())
        .await;
    preview.expect("the store answers")
}

/// The keys that it shortens, as owners list them, page by page.
async fn listed(scene: &Scene<Stores>, owner: &Member, longest: LongestLife) -> Vec<ApiKeyId> {
    let store = &scene.stores.organization_keys;
    let filter = OrganizationKeyFilter::new(StatusFilter::All, None).shortened_by(longest);
    let keys = all_pages(PageSize::ONE, |page| {
        store.list(owner.organization.id, filter.clone(), page, scene.now())
    });
    keys.await.into_iter().map(|key| key.id).collect()
}

async fn set_limit(scene: &Scene<Stores>, owner: &Member, longest: LongestLife) {
    let set = limit(scene, as_user(owner), owner, Some(longest)).await;
    set.expect("set");
}

/// A key whose holder planned its end after this time.
async fn ending(scene: &Scene<Stores>, member: &Member, time: TimeDelta) -> ApiKey {
    scene.store(member, &ending_in(scene, member, time)).await
}

async fn recorded(scene: &Scene<Stores>, key: &ApiKey, owner: &Member) -> Vec<AuditEvent> {
    let here = Some(owner.organization.id);
    scene
        .events_about(here, Action::ChangeExpiry, Subject::ApiKey(key.id))
        .await
}

fn text(at: DateTime<Utc>) -> Option<String> {
    Some(at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true))
}

pub(super) async fn applied_longest_life_ends_only_keys_that_would_outlive_it(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let gone = scene.join(&ada.organization, "gone").await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&ada.user, &other).await;
    let old = scene.add_key(&bob, "old").await;
    let old_and_soon = ending(&scene, &bob, DAY * 47).await;
    scene.later(DAY * 40);
    let new = scene.new_key(&ada, "new");
    let new = (scene.store(&ada, &new).await, new.digest);
    let long = ending(&scene, &ada, DAY * 31).await;
    let exact = ending(&scene, &ada, DAY * 30).await;
    let short = ending(&scene, &ada, DAY).await;
    let revoked = scene.add_key(&ada, "revoked").await;
    scene.revoke(&ada, &revoked, DescendantKeys::Keep).await;
    let over = ending(&scene, &ada, TimeDelta::milliseconds(1)).await;
    let of_former = scene.add_key(&gone, "of a former member").await;
    scene.end_membership(&gone).await;
    let foreign = scene.add_key(&elsewhere, "elsewhere").await;
    scene.later(TimeDelta::milliseconds(1));
    let mut kept = Vec::new();
    for key in [
        &old_and_soon,
        &exact,
        &short,
        &revoked,
        &over,
        &of_former,
        &foreign,
    ] {
        kept.push(scene.stored(key).await);
    }
    set_limit(&scene, &ada, days(30)).await;

    let applied = apply(&scene, &ada, days(30), scene.act(&ada)).await;
    let expected = ShortenedBatch {
        keys: 3,
        continues_after: None,
    };
    assert_eq!(applied.expect("applied"), expected);
    let changed = [
        (&old, scene.now() + DAY * 7),
        (&new.0, new.0.created_at + DAY * 30),
        (&long, long.created_at + DAY * 30),
    ];
    for (key, end) in changed {
        let stored = scene.stored(key).await;
        let planned = stored.revocation.as_ref().expect("a planned end");
        assert_eq!(planned.end, End::Planned(end), "{}", key.name);
        assert_eq!(
            (planned.by, planned.reason, &planned.note),
            (as_user(&ada), RevocationReason::Expired, &None)
        );
        let unchanged = ApiKey {
            revocation: key.revocation.clone(),
            ..stored
        };
        assert_eq!(unchanged, *key);
    }
    let found = scene.stores.keys.credentials.find(&new.1).await;
    let found = found.expect("the store answers").expect("a known token");
    assert_eq!(found.key_end, Some(End::Planned(new.0.created_at + DAY * 30)));
    for key in &kept {
        assert_eq!(scene.stored(key).await, *key);
    }

    // Nothing is put off, however late it is repeated.
    scene.later(DAY);
    let again = apply(&scene, &ada, days(30), scene.act(&ada)).await;
    assert_eq!(again.expect("applied").keys, 0);
    for (key, end) in changed {
        assert_eq!(scene.stored(key).await.end(), Some(End::Planned(end)));
    }
}

pub(super) async fn applied_longest_life_writes_one_event_for_each_key(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let without_end = scene.add_key(&bob, "without an end").await;
    let long = ending(&scene, &ada, DAY * 90).await;
    let short = ending(&scene, &ada, DAY * 2).await;
    set_limit(&scene, &ada, days(30)).await;
    for _ in 0..2 {
        let applied = apply(&scene, &ada, days(30), scene.act(&ada)).await;
        applied.expect("applied");
    }
    let end = text(scene.now() + DAY * 30);
    for (key, before) in [(&without_end, None), (&long, text(scene.now() + DAY * 90))] {
        let recorded = recorded(&scene, key, &ada).await;
        let [event] = recorded.as_slice() else {
            panic!("{recorded:?}")
        };
        assert_eq!((&event.old_value, &event.new_value), (&before, &end));
        assert_eq!((event.actor, event.at), (as_user(&ada), scene.now()));
    }
    assert_eq!(recorded(&scene, &short, &ada).await, []);
}

pub(super) async fn longest_life_is_applied_in_batches(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let mut ids = Vec::new();
    for number in 0..6 {
        let member = if number % 2 == 0 { &ada } else { &bob };
        ids.push(scene.add_key(member, &format!("key {number}")).await.id);
    }
    set_limit(&scene, &ada, days(30)).await;
    let (store, two) = (
        &scene.stores.organization_keys,
        NonZeroU32::new(2).expect("more than none"),
    );
    let batches = [
        (Some(2), 2, Some(4), 4),
        (Some(4), 1, None, 3),
        (None, 2, Some(1), 1),
        (Some(1), 1, None, 0),
        (None, 0, None, 0),
    ];
    for (after, keys, continues_after, left) in batches {
        let [after, continues_after] =
            [after, continues_after].map(|place: Option<usize>| place.map(|place| ids[place]));
        let act = scene.act(&ada);
        let applied = store
            .apply_longest_life(ada.organization.id, days(30), after, two, act)
            .await;
        let expected = ShortenedBatch {
            keys,
            continues_after,
        };
        assert_eq!(applied.expect("applied"), expected);
        assert_eq!(preview(&scene, &ada, days(30)).await.keys, left);
    }
}

pub(super) async fn longest_life_is_applied_by_the_clock_under_the_lock(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let old = scene.add_key(&ada, "old").await;
    scene.later(DAY * 60);
    let over = ending(&scene, &ada, DAY * 31).await;
    set_limit(&scene, &ada, days(30)).await;
    let before = scene.stored(&over).await;
    let act = scene.act(&ada);
    scene.later(DAY * 31);
    let applied = apply(&scene, &ada, days(30), act).await;
    assert_eq!(applied.expect("applied").keys, 1);
    assert_eq!(scene.stored(&over).await, before);
    let end = scene.stored(&old).await.end();
    assert_eq!(end, Some(End::Planned(scene.now() + DAY * 7)));
}

pub(super) async fn owner_whose_end_came_meanwhile_applies_no_longest_life(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let owner = scene.join_as(&ada.organization, "owner", Role::Owner).await;
    let key = scene.add_key(&ada, "key").await;
    set_limit(&scene, &ada, days(30)).await;
    scene.plan_end_of_membership(&owner, scene.now() + DAY).await;
    let act = scene.act(&owner);
    scene.later(DAY);
    let late = apply(&scene, &ada, days(30), act).await;
    assert!(matches!(late, Err(ApplyLongestLifeError::NotAllowed)), "{late:?}");
    assert_eq!(scene.stored(&key).await, key);
}

pub(super) async fn only_the_chosen_longest_life_is_applied(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    for chosen in [None, Some(days(31)), Some(days(29))] {
        let set = limit(&scene, as_user(&ada), &ada, chosen).await;
        set.expect("set");
        let refused = apply(&scene, &ada, days(30), scene.act(&ada)).await;
        assert!(
            matches!(refused, Err(ApplyLongestLifeError::LimitChanged)),
            "{refused:?}"
        );
        assert_eq!(scene.stored(&key).await, key);
    }
    assert_eq!(recorded(&scene, &key, &ada).await, []);
}

pub(super) async fn only_active_owners_and_administrators_apply_the_longest_life(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    set_limit(&scene, &ada, days(30)).await;
    let here = Some(ada.organization.id);
    for (who, actor) in scene.outsiders(&ada.organization).await {
        let act = scene.act_as(actor, here);
        let refused = apply(&scene, &ada, days(30), act).await;
        assert!(
            matches!(refused, Err(ApplyLongestLifeError::NotAllowed)),
            "{who}: {refused:?}"
        );
    }
    assert_eq!(scene.stored(&key).await, key);
    let act = scene.act_as(Actor::Administrator, here);
    let applied = apply(&scene, &ada, days(30), act).await;
    applied.expect("an administrator may");
    let planned = scene.stored(&key).await.revocation.expect("a planned end");
    assert_eq!(planned.by, Actor::Administrator);
}

pub(super) async fn longest_life_ends_no_key_when_events_cannot_be_written(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    set_limit(&scene, &ada, days(30)).await;
    let act = scene.unwritable_act(scene.act(&ada)).await;
    let failed = apply(&scene, &ada, days(30), act).await;
    assert!(
        matches!(failed, Err(ApplyLongestLifeError::Storage(_))),
        "{failed:?}"
    );
    assert_eq!(scene.stored(&key).await, key);
}

pub(super) async fn longest_life_preview_equals_what_is_applied(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let carl = scene.join(&ada.organization, "carl").await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&ada.user, &other).await;
    scene.add_key(&elsewhere, "elsewhere").await;
    scene.add_key(&carl, "of a former member").await;
    scene.end_membership(&carl).await;
    let hers = scene.add_key(&ada, "hers").await;
    let his = ending(&scene, &bob, DAY * 60).await;
    let short = ending(&scene, &bob, DAY * 8).await;
    set_limit(&scene, &ada, days(30)).await;
    let shown = preview(&scene, &ada, days(30)).await;
    assert_eq!(
        (shown.keys, shown.has_more, shown.holders, shown.without_access),
        (2, false, 2, 0)
    );
    let shown: Vec<ApiKeyId> = shown.first.iter().map(|key| key.id).collect();
    assert_eq!(shown, [hers.id, his.id]);
    assert_eq!(listed(&scene, &ada, days(30)).await, [his.id, hers.id]);
    for key in [&hers, &his, &short] {
        assert_eq!(scene.stored(key).await, *key, "nothing has changed");
    }
    let applied = apply(&scene, &ada, days(30), scene.act(&ada)).await;
    assert_eq!(applied.expect("applied").keys, 2);
    assert_eq!(preview(&scene, &ada, days(30)).await, PreviewedKeys::default());
    assert_eq!(listed(&scene, &ada, days(30)).await, []);
}

pub(super) async fn longest_life_preview_shows_latest_used_keys_first(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let mut keys = Vec::new();
    for number in 0..PreviewedKeys::SHOWN_OF_SHORTENED + 2 {
        keys.push(scene.add_key(&ada, &format!("key {number}")).await);
    }
    let mut expected: Vec<ApiKeyId> = keys.iter().map(|key| key.id).collect();
    for used in [7, 3, 51] {
        let at = scene.later(TimeDelta::minutes(2));
        let (key, last) = (keys[used].id, LastUse { at, from: None });
        let recorded = scene
            .stores
            .last_uses
            .record(vec![KeyUse { key, last }], scene.now())
            .await;
        recorded.expect("recorded");
        expected.retain(|id| *id != key);
        expected.insert(0, key);
    }
    set_limit(&scene, &ada, days(30)).await;
    let shown = preview(&scene, &ada, days(30)).await;
    assert_eq!(shown.keys as usize, keys.len());
    expected.truncate(PreviewedKeys::SHOWN_OF_SHORTENED);
    let first: Vec<ApiKeyId> = shown.first.iter().map(|key| key.id).collect();
    assert_eq!(first, expected);
}
