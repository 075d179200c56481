//! Cases of the [key ports](super::super::KeyStores): ends that lie ahead.

use chrono::{DateTime, TimeDelta, Utc};

use super::super::KeyStores;
use super::super::scene::{AMPLE, MANY_CHANGES, Scene};
use crate::access::Credential;
use crate::api_key::{ApiKey, KeyEdit, KeyName, KeyPrecondition, RevocationReason};
use crate::audit::{Act, Action, Actor, Subject};
use crate::id::ApiKeyId;
use crate::membership::Member;
use crate::page::{PageRequest, PageSize};
use crate::ports::{
    AddKeyError, DescendantKeys, EditKeyError, KeyFilter, KeyLimit, NewApiKey, RevokeKeyError, StatusFilter,
};
use crate::validity::End;

const MILLISECOND: TimeDelta = TimeDelta::milliseconds(1);

/// Long enough for everything that happens before an end.
fn soon(scene: &Scene) -> DateTime<Utc> {
    scene.now() + TimeDelta::hours(1)
}

/// Lets the time pass until this moment.
fn wait_until(scene: &Scene, moment: DateTime<Utc>) {
    scene.later(moment - scene.now());
}

async fn credential(scene: &Scene, new: &NewApiKey) -> Credential {
    let found = scene.stores.credentials.find(&new.digest).await;
    found.expect("the store answers").expect("a known token")
}

async fn listed(scene: &Scene, member: &Member, filter: KeyFilter, now: DateTime<Utc>) -> Vec<ApiKey> {
    let first_page = PageRequest::first(PageSize::DEFAULT);
    let (store, consumer) = (&scene.stores.api_keys, member.membership.id);
    let page = store.list(consumer, filter, first_page, now).await;
    page.expect("the store answers").items
}

async fn edit_as(scene: &Scene, member: &Member, key: &ApiKey, act: Act) -> Result<ApiKey, EditKeyError> {
    let edit = KeyEdit {
        name: KeyName::parse("edited").ok(),
        ..KeyEdit::default()
    };
    let (store, any) = (&scene.stores.api_keys, KeyPrecondition::AnyVersion);
    store
        .edit(member.membership.id, key.id, edit, any, MANY_CHANGES, act)
        .await
}

async fn revoke_as(
    scene: &Scene,
    member: &Member,
    key: &ApiKey,
    act: Act,
) -> Result<Vec<ApiKeyId>, RevokeKeyError> {
    let (store, any) = (&scene.stores.api_keys, KeyPrecondition::AnyVersion);
    let (consumer, keep) = (member.membership.id, DescendantKeys::Keep);
    store
        .revoke(consumer, key.id, RevocationReason::Holder.into(), keep, any, act)
        .await
}

pub(super) async fn key_is_accepted_until_its_planned_end(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = scene.new_key(&ada, "key");
    let key = scene.store(&ada, &new).await;
    let end = soon(&scene);
    let planned = scene.plan_revocation(&key, end).await;

    assert_eq!(planned.end(), Some(End::Planned(end)));
    let found = credential(&scene, &new).await;
    assert_eq!(found.key_end, Some(End::Planned(end)));
    assert!(found.is_accepted(end - MILLISECOND));
    assert!(!found.is_accepted(end));
}

pub(super) async fn keys_are_accepted_until_their_memberships_planned_end(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let new = scene.new_key(&bob, "key");
    scene.store(&bob, &new).await;
    let end = soon(&scene);
    scene.plan_end_of_membership(&bob, end).await;

    let found = credential(&scene, &new).await;
    assert_eq!(found.membership_end, Some(End::Planned(end)));
    assert!(found.is_accepted(end - MILLISECOND));
    assert!(!found.is_accepted(end));
}

pub(super) async fn key_is_listed_as_valid_until_its_planned_end(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_key(&ada, "other").await;
    let key = scene.add_key(&ada, "planned").await;
    let end = soon(&scene);
    let key = scene.plan_revocation(&key, end).await;

    for search in [None, Some("e")] {
        let filter = |status| KeyFilter::new(status, search);
        for (now, valid, revoked) in [
            (end - MILLISECOND, vec![&key, &other], vec![]),
            (end, vec![&other], vec![&key]),
        ] {
            let shown = listed(&scene, &ada, filter(StatusFilter::Valid), now).await;
            assert_eq!(shown.iter().collect::<Vec<_>>(), valid);
            let shown = listed(&scene, &ada, filter(StatusFilter::Revoked), now).await;
            assert_eq!(shown.iter().collect::<Vec<_>>(), revoked);
            let shown = listed(&scene, &ada, filter(StatusFilter::All), now).await;
            assert_eq!(shown, [key.clone(), other.clone()]);
        }
    }
}

pub(super) async fn key_counts_toward_the_limit_until_its_planned_end(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "planned").await;
    let end = soon(&scene);
    scene.plan_revocation(&key, end).await;
    let (next, one) = (scene.new_key(&ada, "next"), KeyLimit(1));

    wait_until(&scene, end - MILLISECOND);
    let refused = scene.try_add(&ada, &next, one).await;
    assert!(
        matches!(refused, Err(AddKeyError::LimitReached(_))),
        "{refused:?}"
    );
    wait_until(&scene, end);
    let added = scene.try_add(&ada, &next, one).await;
    added.expect("there is room");
}

pub(super) async fn key_counts_toward_tree_depth_until_its_planned_end(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let chain = scene.add_chain(&ada, ApiKey::MAX_TREE_DEPTH as usize).await;
    let end = soon(&scene);
    scene.plan_revocation(&chain[10], end).await;
    let next = scene.new_child(&ada, chain[chain.len() - 1].id, "next");

    wait_until(&scene, end - MILLISECOND);
    let refused = scene.try_add(&ada, &next, AMPLE).await;
    assert!(matches!(refused, Err(AddKeyError::TreeTooDeep)), "{refused:?}");
    wait_until(&scene, end);
    let added = scene.try_add(&ada, &next, AMPLE).await;
    added.expect("there is room");
}

pub(super) async fn key_acts_until_its_planned_end(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let acting = scene.add_key(&ada, "acting").await;
    let [key, other] = [
        scene.add_key(&ada, "key").await,
        scene.add_key(&ada, "other").await,
    ];
    let end = soon(&scene);
    scene.plan_revocation(&acting, end).await;
    let as_key = || scene.act_as(Actor::ApiKey(acting.id), Some(ada.organization.id));

    wait_until(&scene, end - MILLISECOND);
    scene.add_child(&ada, &acting, "child").await;
    edit_as(&scene, &ada, &key, as_key()).await.expect("edited");
    let revoked = revoke_as(&scene, &ada, &key, as_key()).await;
    assert_eq!(revoked.expect("revoked"), [key.id]);
    wait_until(&scene, end);
    let late = scene.new_child(&ada, acting.id, "late");
    let refused = scene.try_add(&ada, &late, AMPLE).await;
    assert!(matches!(refused, Err(AddKeyError::HolderGone)), "{refused:?}");
    let refused = edit_as(&scene, &ada, &other, as_key()).await;
    assert!(matches!(refused, Err(EditKeyError::HolderGone)), "{refused:?}");
    let refused = revoke_as(&scene, &ada, &other, as_key()).await;
    assert!(matches!(refused, Err(RevokeKeyError::HolderGone)), "{refused:?}");
}

pub(super) async fn key_is_editable_until_its_planned_end(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let key = scene.add_key(&ada, "key").await;
    let end = soon(&scene);
    let planned = scene.plan_revocation(&key, end).await;

    wait_until(&scene, end - MILLISECOND);
    let edited = edit_as(&scene, &ada, &key, scene.act(&ada))
        .await
        .expect("edited");
    assert_eq!(edited.revocation, planned.revocation);
    assert_eq!(scene.stored(&key).await, edited);
    wait_until(&scene, end);
    let refused = edit_as(&scene, &ada, &key, scene.act(&ada)).await;
    assert!(matches!(refused, Err(EditKeyError::Revoked)), "{refused:?}");
}

pub(super) async fn revocation_before_the_planned_end_ends_the_key_immediately(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = scene.new_key(&ada, "key");
    let key = scene.store(&ada, &new).await;
    let end = soon(&scene);
    scene.plan_revocation(&key, end).await;
    let at = scene.later(MILLISECOND);

    assert_eq!(scene.revoke(&ada, &key, DescendantKeys::Keep).await, [key.id]);
    let revocation = scene.stored(&key).await.revocation.expect("revoked");
    assert_eq!(revocation.end, End::Come(at));
    assert_eq!(revocation.by, Actor::User(ada.user.id));
    assert_eq!(revocation.reason, RevocationReason::Holder);
    assert!(!credential(&scene, &new).await.is_accepted(at));
    assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, &key).await, 1);
}

pub(super) async fn revoking_an_elapsed_key_records_its_planned_end(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for descendants in [DescendantKeys::Keep, DescendantKeys::Revoke] {
        let new = scene.new_key(&ada, "key");
        let key = scene.store(&ada, &new).await;
        let end = soon(&scene);
        let planned = scene.plan_revocation(&key, end).await;
        wait_until(&scene, end + MILLISECOND);

        for _ in 0..2 {
            assert_eq!(scene.revoke(&ada, &key, descendants).await, []);
        }
        assert_recorded(&scene, &ada, &planned).await;
        assert_eq!(scene.count_of(&ada, Action::RevokeApiKey, &key).await, 0);
        let behind = end - TimeDelta::minutes(30);
        assert!(!credential(&scene, &new).await.is_accepted(behind));
    }
}

pub(super) async fn revoking_a_tree_records_elapsed_planned_ends_below(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for root_is_valid in [true, false] {
        let root = scene.add_key(&ada, "root").await;
        let [valid, due, later] = [
            scene.add_child(&ada, &root, "valid").await,
            scene.add_child(&ada, &root, "due").await,
            scene.add_child(&ada, &root, "later").await,
        ];
        let below = scene.add_child(&ada, &due, "due, too").await;
        let elsewhere = scene.add_key(&ada, "due, elsewhere").await;
        let end = soon(&scene);
        let [due, below] = [
            scene.plan_revocation(&due, end).await,
            scene.plan_revocation(&below, end - MILLISECOND).await,
        ];
        let later = scene.plan_revocation(&later, end + TimeDelta::hours(1)).await;
        let elsewhere = scene.plan_revocation(&elsewhere, end).await;
        wait_until(&scene, end);
        let mut expected = vec![root.id, valid.id, later.id];
        if !root_is_valid {
            for key in [&root, &valid, &later] {
                scene.revoke(&ada, key, DescendantKeys::Keep).await;
            }
            expected.clear();
        }

        let mut revoked = scene.revoke(&ada, &root, DescendantKeys::Revoke).await;
        revoked.sort_unstable();
        assert_eq!(revoked, expected);
        for key in [&due, &below] {
            assert_recorded(&scene, &ada, key).await;
        }
        assert_eq!(scene.stored(&elsewhere).await, elsewhere);
        assert_eq!(scene.count_of(&ada, Action::ExpireApiKey, &elsewhere).await, 0);
    }
}

/// The end of a key is recorded, and the log has one event of it.
async fn assert_recorded(scene: &Scene, member: &Member, planned: &ApiKey) {
    let mut recorded = planned.clone();
    if let Some(revocation) = &mut recorded.revocation {
        revocation.end = End::Come(revocation.end.at());
    }
    assert_eq!(scene.stored(planned).await, recorded);
    let (here, subject) = (Some(member.organization.id), Subject::ApiKey(planned.id));
    let events = scene.events_about(here, Action::ExpireApiKey, subject).await;
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(events[0].old_value.is_some(), "{events:?}");
}

pub(super) async fn descendants_are_valid_until_their_planned_end(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let root = scene.add_key(&ada, "root").await;
    let middle = scene.add_child(&ada, &root, "middle").await;
    let leaf = scene.add_child(&ada, &middle, "leaf").await;
    let end = soon(&scene);
    scene.plan_revocation(&middle, end).await;
    let valid_at = async |now| {
        let store = &scene.stores.api_keys;
        let found = store.valid_descendants(ada.membership.id, root.id, now).await;
        let ids = found.expect("the store answers").into_iter().map(|key| key.id);
        ids.collect::<Vec<ApiKeyId>>()
    };

    assert_eq!(valid_at(end - MILLISECOND).await, [leaf.id, middle.id]);
    assert_eq!(valid_at(end).await, [leaf.id]);
    wait_until(&scene, end);
    let mut revoked = scene.revoke(&ada, &root, DescendantKeys::Revoke).await;
    revoked.sort_unstable();
    assert_eq!(revoked, [root.id, leaf.id]);
}

pub(super) async fn member_is_active_until_the_planned_end(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let end = soon(&scene);
    let bob = scene.plan_end_of_membership(&bob, end).await;
    let store = &scene.stores.memberships;
    let (user, slug) = (bob.user.id, &bob.organization.slug);

    for (now, is_live) in [(end - MILLISECOND, true), (end, false)] {
        let found = store.find_live(user, slug, now).await.expect("the store answers");
        assert_eq!(found, is_live.then(|| bob.clone()));
        let listed = store.list_live(user, now).await.expect("the store answers");
        assert_eq!(listed, Vec::from_iter(is_live.then(|| bob.clone())));
    }
    wait_until(&scene, end - MILLISECOND);
    let key = scene.add_key(&bob, "in time").await;
    wait_until(&scene, end);
    let refused = scene.try_add(&bob, &scene.new_key(&bob, "late"), AMPLE).await;
    assert!(matches!(refused, Err(AddKeyError::HolderGone)), "{refused:?}");
    let refused = edit_as(&scene, &bob, &key, scene.act(&bob)).await;
    assert!(matches!(refused, Err(EditKeyError::HolderGone)), "{refused:?}");
}

pub(super) async fn revoked_and_ended_states_hold_on_a_slow_clock(stores: KeyStores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let [revoked, lost] = [scene.new_key(&ada, "revoked"), scene.new_key(&bob, "lost")];
    let [key, his] = [scene.store(&ada, &revoked).await, scene.store(&bob, &lost).await];
    let behind = scene.now();
    scene.later(TimeDelta::minutes(5));
    scene.revoke(&ada, &key, DescendantKeys::Keep).await;
    scene.end_membership(&bob).await;
    scene.later(behind - scene.now());

    for new in [&revoked, &lost] {
        assert!(!credential(&scene, new).await.is_accepted(behind));
    }
    let valid = KeyFilter::new(StatusFilter::Valid, None);
    assert_eq!(listed(&scene, &ada, valid, behind).await, []);
    let dead = KeyFilter::new(StatusFilter::Revoked, None);
    assert_eq!(
        listed(&scene, &ada, dead, behind).await,
        [scene.stored(&key).await]
    );
    let refused = edit_as(&scene, &ada, &key, scene.act(&ada)).await;
    assert!(matches!(refused, Err(EditKeyError::Revoked)), "{refused:?}");
    let memberships = &scene.stores.memberships;
    let found = memberships.list_live(bob.user.id, behind).await;
    assert_eq!(found.expect("the store answers"), []);
    let refused = edit_as(&scene, &bob, &his, scene.act(&bob)).await;
    assert!(matches!(refused, Err(EditKeyError::HolderGone)), "{refused:?}");
}
