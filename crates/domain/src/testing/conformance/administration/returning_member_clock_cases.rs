//! Invitations and ends of memberships that are timed by different clocks, or at the same instant: an
//! invitation created before an end does not make a new membership, and one created after it does.

use chrono::TimeDelta;

use super::super::Stores;
use super::super::scene::Scene;
use super::returning_member_cases::assert_is_dead;
use super::scene::as_user;
use crate::audit::Actor;
use crate::membership::Role;

const AN_HOUR: TimeDelta = TimeDelta::hours(1);

pub(super) async fn invitation_made_right_after_the_end_admits_the_former_member(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let before = scene.invite(&ada, Role::Member).await;
    scene.end_as(as_user(&ada), &bob).await.expect("removed");
    let after = scene.invite(&ada, Role::Member).await;

    assert_is_dead(&scene, &before, &bob).await;
    let again = scene.accept_as_user(&after, &bob, &ada.organization).await;
    again.expect("joined");
}

pub(super) async fn invitation_after_removal_by_fast_clock_admits_the_former_member(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let mut bob = scene.join(&ada.organization, "bob").await;
    for ahead in [AN_HOUR, AN_HOUR, TimeDelta::zero(), TimeDelta::zero()] {
        let kept = scene.invite(&ada, Role::Member).await;
        scene.later(ahead);
        scene.end_as(as_user(&ada), &bob).await.expect("removed");
        scene.later(-ahead);
        let new = scene.invite(&ada, Role::Member).await;

        assert_is_dead(&scene, &kept, &bob).await;
        let open = scene.open_invitation_for(&new, &bob).await;
        let expires_at = open.map(|open| open.invitation.expires_at);
        assert_eq!(expires_at, Some(new.invitation.expires_at));
        let again = scene.accept_as_user(&new, &bob, &ada.organization).await;
        bob = again.expect("joined");
    }
}

pub(super) async fn unrelated_ends_leave_an_invitations_creation_time_unchanged(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let leaving = scene.join(&ada.organization, "leaving").await;
    scene
        .plan_end_of_membership(&leaving, scene.now() + AN_HOUR)
        .await;
    let other = scene.add_organization("Difference Engines").await;
    let removed = scene.join(&other, "removed").await;
    scene.later(AN_HOUR / 2);
    let removing = scene.end_as(Actor::Administrator, &removed).await;
    removing.expect("removed");
    scene.later(-AN_HOUR / 2);

    let new = scene.invite(&ada, Role::Member).await;
    let open = scene.open_invitation(&new).await.expect("an open invitation");
    assert_eq!(open.invitation, new.invitation);
}

pub(super) async fn invitation_from_fast_clock_admits_no_member_ended_before_it(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for username in ["leaver", "removed", "removed-by-administrator"] {
        let bob = scene.join(&ada.organization, username).await;
        scene.later(AN_HOUR);
        let latest = scene.invite(&ada, Role::Member).await;
        scene.later(-AN_HOUR);
        let latest_but_one = scene.invite(&ada, Role::Member).await;
        scene.later(TimeDelta::milliseconds(1));
        let actor = match username {
            "leaver" => as_user(&bob),
            "removed" => as_user(&ada),
            _ => Actor::Administrator,
        };
        scene.end_as(actor, &bob).await.expect("ended");

        for kept in [&latest, &latest_but_one] {
            assert_is_dead(&scene, kept, &bob).await;
        }
        scene.later(AN_HOUR);
        for kept in [&latest, &latest_but_one] {
            assert_is_dead(&scene, kept, &bob).await;
        }
        let after = scene.invite(&ada, Role::Member).await;
        let again = scene.accept_as_user(&after, &bob, &ada.organization).await;
        again.expect("joined");
    }
}

pub(super) async fn ended_invitation_from_fast_clock_does_not_block_later_ones(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_as(&other, "elsewhere", Role::Owner).await;
    let bob = scene.join(&ada.organization, "bob").await;
    scene.later(AN_HOUR);
    scene.invite(&elsewhere, Role::Member).await;
    let accepted = scene.invite(&ada, Role::Member).await;
    let revoked = scene.invite(&ada, Role::Member).await;
    scene.later(-AN_HOUR);
    let joined = scene.accept_as_newcomer(&accepted, "cleo").await;
    joined.expect("joined");
    let id = revoked.invitation.id;
    let act = scene.act(&ada);
    let revoked = scene.stores.invitations.revoke(ada.organization.id, id, act);
    revoked.await.expect("revoked");
    scene.end_as(as_user(&ada), &bob).await.expect("removed");
    scene.later(TimeDelta::milliseconds(1));

    let after = scene.invite(&ada, Role::Member).await;
    let again = scene.accept_as_user(&after, &bob, &ada.organization).await;
    again.expect("joined");
}
