//! How [`MemberStore`](crate::administration::ports::MemberStore) plans the ends of memberships.

use chrono::TimeDelta;

use super::super::Stores;
use super::super::parallel::{abandon, eventually};
use super::super::scene::{Scene, expiry_in};
use super::scene::as_user;
use crate::administration::ports::ChangeMembershipExpiryError;
use crate::api_key::{ExpiryChange, InvalidExpiry};
use crate::audit::{Action, Actor, AuditEvent, Subject};
use crate::membership::{Member, Role};
use crate::validity::End;

const HOUR: TimeDelta = TimeDelta::hours(1);

fn in_hours(scene: &Scene<Stores>, hours: i32) -> ExpiryChange {
    expiry_in(HOUR * hours, scene.now())
}

/// The end of a live membership.
async fn end_of(scene: &Scene<Stores>, member: &Member) -> Option<End> {
    let live = scene.live_member(member.user.id, &member.organization).await;
    live.membership.end
}

async fn recorded(scene: &Scene<Stores>, member: &Member) -> Vec<AuditEvent> {
    let subject = Subject::Membership(member.membership.id);
    let here = Some(member.organization.id);
    scene
        .events_about(here, Action::ChangeMembershipExpiry, subject)
        .await
}

pub(super) async fn planned_end_of_a_member_is_set_moved_and_removed(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&bob.user, &other).await;
    let new = scene.new_key(&bob, "key");
    scene.store(&bob, &new).await;
    let begun = scene.now();
    let in_hours = |hours| (in_hours(&scene, hours), Some(begun + HOUR * hours));
    for (change, after) in [
        in_hours(2),
        in_hours(1),
        in_hours(3),
        (ExpiryChange::Remove, None),
    ] {
        scene.later(TimeDelta::seconds(1));
        // The second time, nothing changes.
        for _ in 0..2 {
            let changed = scene.change_member_expiry(as_user(&ada), &bob, change).await;
            changed.expect("changed");
            let end = after.map(End::Planned);
            assert_eq!(end_of(&scene, &bob).await, end);
            let found = scene.stores.keys.credentials.find(&new.digest).await;
            let found = found.expect("the store answers").expect("a known token");
            assert_eq!(found.membership_end, end);
        }
    }
    assert_eq!(end_of(&scene, &elsewhere).await, None);
    let recorded = recorded(&scene, &bob).await;
    // Newest first.
    let values = recorded.iter().map(|event| event.new_value.is_some());
    assert_eq!(values.collect::<Vec<_>>(), [false, true, true, true]);
}

pub(super) async fn last_permanent_owner_gets_no_planned_end(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    scene.join(&ada.organization, "bob").await;
    let carl = scene.join_as(&ada.organization, "carl", Role::Owner).await;
    let set = scene.change_member_expiry(as_user(&carl), &carl, in_hours(&scene, 1));
    set.await.expect("ada stays");
    for actor in [as_user(&ada), as_user(&carl), Actor::Administrator] {
        let refused = scene.change_member_expiry(actor, &ada, in_hours(&scene, 2)).await;
        assert!(
            matches!(refused, Err(ChangeMembershipExpiryError::LastOwner)),
            "{refused:?}"
        );
    }
    assert_eq!(end_of(&scene, &ada).await, None);
    assert_eq!(recorded(&scene, &ada).await, []);

    let moved = scene.change_member_expiry(as_user(&ada), &carl, in_hours(&scene, 2));
    moved.await.expect("ada stays");
    let removed = scene.change_member_expiry(as_user(&ada), &carl, ExpiryChange::Remove);
    removed.await.expect("removed");
    let set = scene.change_member_expiry(as_user(&ada), &ada, in_hours(&scene, 1));
    set.await.expect("carl stays");
}

pub(super) async fn two_owners_who_plan_each_others_end_leave_one(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join_as(&ada.organization, "bob", Role::Owner).await;
    let change = in_hours(&scene, 1);
    let (first, second) = futures_util::future::join(
        scene.change_member_expiry(as_user(&ada), &bob, change),
        scene.change_member_expiry(as_user(&bob), &ada, change),
    )
    .await;
    let planned = [end_of(&scene, &ada).await, end_of(&scene, &bob).await];
    assert_eq!(planned.iter().flatten().count(), 1, "{first:?} {second:?}");
    assert!(
        matches!(
            (&first, &second),
            (Ok(()), Err(ChangeMembershipExpiryError::LastOwner))
                | (Err(ChangeMembershipExpiryError::LastOwner), Ok(()))
        ),
        "{first:?} {second:?}"
    );
}

pub(super) async fn only_active_owners_and_administrators_plan_ends_of_members(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let outsiders = scene.outsiders(&ada.organization).await;
    let own = ("a member for themselves", as_user(&bob));
    for (who, actor) in outsiders.into_iter().chain([own]) {
        let refused = scene.change_member_expiry(actor, &bob, in_hours(&scene, 1)).await;
        assert!(
            matches!(refused, Err(ChangeMembershipExpiryError::NotAllowed)),
            "{who}: {refused:?}"
        );
    }
    assert_eq!(end_of(&scene, &bob).await, None);
    assert_eq!(recorded(&scene, &bob).await, []);
    let set = scene.change_member_expiry(Actor::Administrator, &bob, in_hours(&scene, 1));
    set.await.expect("an administrator may");
}

pub(super) async fn planned_end_of_a_member_that_has_come_is_final(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let (soon, later) = (in_hours(&scene, 1), in_hours(&scene, 2));
    let set = scene.change_member_expiry(as_user(&ada), &bob, soon).await;
    set.expect("set");
    let former = scene.join(&ada.organization, "former").await;
    scene.end_membership(&former).await;
    let other = scene.add_organization("Difference Engines").await;
    let stranger = scene.join(&other, "stranger").await;
    scene.later(HOUR);
    for change in [later, ExpiryChange::Remove] {
        for id in [bob.membership.id, former.membership.id, stranger.membership.id] {
            let (here, act) = (ada.organization.id, scene.act(&ada));
            let refused = scene.stores.members.change_expiry(here, id, change, act).await;
            assert!(
                matches!(refused, Err(ChangeMembershipExpiryError::NotFound)),
                "{refused:?}"
            );
        }
    }
    let refused = scene.change_member_expiry(as_user(&ada), &ada, soon).await;
    assert!(
        matches!(
            refused,
            Err(ChangeMembershipExpiryError::InvalidExpiry(InvalidExpiry::Past))
        ),
        "{refused:?}"
    );
    assert_eq!(recorded(&scene, &bob).await.len(), 1);
}

pub(super) async fn planned_end_is_unchanged_when_event_cannot_be_written(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let act = scene.unwritable_act(scene.act(&ada)).await;
    let (here, change) = (ada.organization.id, in_hours(&scene, 1));
    let members = &scene.stores.members;
    let failed = members.change_expiry(here, bob.membership.id, change, act).await;
    assert!(
        matches!(failed, Err(ChangeMembershipExpiryError::Storage(_))),
        "{failed:?}"
    );
    assert_eq!(end_of(&scene, &bob).await, None);
}

pub(super) async fn planned_end_is_changed_after_caller_cancellation(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    abandon(scene.change_member_expiry(as_user(&ada), &bob, in_hours(&scene, 1))).await;

    eventually("the abandoned end is planned", async || {
        recorded(&scene, &bob).await.len() == 1
    })
    .await;
    assert!(end_of(&scene, &bob).await.is_some());
}

pub(super) async fn member_end_that_came_meanwhile_is_final(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let carl = scene.join(&ada.organization, "carl").await;
    let here = ada.organization.id;
    let planned = scene.change_member_expiry(as_user(&ada), &bob, in_hours(&scene, 1));
    planned.await.expect("planned");
    let (later, soon) = (in_hours(&scene, 2), in_hours(&scene, 1));
    let (postpones, plans) = (scene.act(&ada), scene.act(&ada));
    scene.later(HOUR);
    let members = &scene.stores.members;
    let late = members.change_expiry(here, bob.membership.id, later, postpones);
    let late = late.await;
    assert!(
        matches!(late, Err(ChangeMembershipExpiryError::NotFound)),
        "{late:?}"
    );
    let past = members.change_expiry(here, carl.membership.id, soon, plans).await;
    let expected = InvalidExpiry::Past;
    assert!(
        matches!(past, Err(ChangeMembershipExpiryError::InvalidExpiry(error)) if error == expected),
        "{past:?}"
    );
    assert_eq!(end_of(&scene, &carl).await, None);
}

pub(super) async fn owner_whose_end_came_meanwhile_plans_no_end(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let owner = scene.join_as(&ada.organization, "owner", Role::Owner).await;
    let bob = scene.join(&ada.organization, "bob").await;
    scene.plan_end_of_membership(&owner, scene.now() + HOUR).await;
    let (here, end, act) = (ada.organization.id, in_hours(&scene, 2), scene.act(&owner));
    scene.later(HOUR);
    let late = scene
        .stores
        .members
        .change_expiry(here, bob.membership.id, end, act)
        .await;
    assert!(
        matches!(late, Err(ChangeMembershipExpiryError::NotAllowed)),
        "{late:?}"
    );
    assert_eq!(end_of(&scene, &bob).await, None);
}
