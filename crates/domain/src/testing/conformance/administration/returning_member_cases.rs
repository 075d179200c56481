//! Former members who return with an invitation: only one created after the end of the membership makes a new
//! one.

use chrono::TimeDelta;
use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::scene::Scene;
use super::scene::{as_user, assert_closed_to_user};
use crate::administration::ports::NewInvitation;
use crate::membership::{Member, Role};
use crate::sign_in::ports::AcceptAsUserError;

pub(super) async fn former_member_cannot_return_with_an_earlier_invitation(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for (username, newcomer) in [("left", "lea"), ("removed", "remy")] {
        let bob = scene.join(&ada.organization, username).await;
        let kept = scene.invite(&ada, Role::Owner).await;
        assert!(scene.open_invitation_for(&kept, &bob).await.is_some());
        scene.later(TimeDelta::milliseconds(1));
        let actor = as_user(if username == "left" { &bob } else { &ada });
        scene.end_as(actor, &bob).await.expect("ended");
        scene.later(TimeDelta::days(1));
        let (members, events) = (
            scene.roles(ada.organization.id).await,
            scene.events(Some(ada.organization.id)).await,
        );

        assert_is_dead(&scene, &kept, &bob).await;
        assert_eq!(scene.roles(ada.organization.id).await, members);
        assert_eq!(scene.events(Some(ada.organization.id)).await, events);
        let joined = scene.accept_as_newcomer(&kept, newcomer).await;
        joined.expect("it is still open for others");
    }
}

pub(super) async fn invitation_between_two_memberships_is_refused_after_the_second(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    scene.end_as(as_user(&ada), &bob).await.expect("removed");
    scene.later(TimeDelta::milliseconds(1));
    let [used, kept] = [
        scene.invite(&ada, Role::Member).await,
        scene.invite(&ada, Role::Member).await,
    ];
    let again = scene.accept_as_user(&used, &bob, &ada.organization).await;
    let again = again.expect("joined");
    scene.later(TimeDelta::milliseconds(1));
    scene.end_as(as_user(&ada), &again).await.expect("removed");
    scene.later(TimeDelta::milliseconds(1));

    assert_is_dead(&scene, &kept, &bob).await;
}

pub(super) async fn later_invitation_admits_a_former_member(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let mut bob = scene.join(&ada.organization, "bob").await;
    for _ in 0..2 {
        scene.end_as(as_user(&ada), &bob).await.expect("removed");
        scene.later(TimeDelta::milliseconds(1));
        let new = scene.invite(&ada, Role::Member).await;
        assert!(scene.open_invitation_for(&new, &bob).await.is_some());
        let again = scene.accept_as_user(&new, &bob, &ada.organization).await;
        let again = again.expect("joined");
        assert_ne!(again.membership.id, bob.membership.id);
        bob = again;
    }
}

pub(super) async fn unrelated_membership_end_invalidates_no_invitation(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let stranger = scene.join(&other, "stranger").await;
    let cleo = scene.join(&ada.organization, "cleo").await;
    let new = scene.invite(&ada, Role::Member).await;
    scene.later(TimeDelta::milliseconds(1));
    scene.end_membership(&stranger).await;
    scene.end_as(as_user(&ada), &cleo).await.expect("removed");

    assert!(scene.open_invitation_for(&new, &stranger).await.is_some());
    let joined = scene.accept_as_user(&new, &stranger, &ada.organization).await;
    joined.expect("joined");
}

pub(super) async fn earlier_invitation_is_reported_closed_even_to_a_member(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let kept = scene.invite(&ada, Role::Member).await;
    scene.end_as(as_user(&ada), &bob).await.expect("removed");
    scene.later(TimeDelta::milliseconds(1));
    let new = scene.invite(&ada, Role::Member).await;
    let again = scene.accept_as_user(&new, &bob, &ada.organization).await;
    again.expect("joined");

    assert_is_dead(&scene, &kept, &bob).await;
}

pub(super) async fn concurrent_joining_does_not_undo_a_removal(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..8 {
        let bob = scene.join(&ada.organization, &format!("bob{round}")).await;
        let mut kept = Vec::new();
        for _ in 0..8 {
            kept.push(scene.invite(&ada, Role::Member).await);
        }
        let mut tasks: Vec<BoxFuture<'static, ()>> = Vec::new();
        for new in kept {
            let (scene, bob) = (scene.clone(), bob.clone());
            tasks.push(Box::pin(async move {
                let refused = scene.accept_as_user(&new, &bob, &bob.organization).await;
                assert!(
                    matches!(
                        refused,
                        Err(AcceptAsUserError::AlreadyMember | AcceptAsUserError::NotOpen)
                    ),
                    "{refused:?}"
                );
            }));
        }
        let (removing, owner) = (scene.clone(), as_user(&ada));
        tasks.insert(
            4,
            Box::pin(async move {
                removing.end_as(owner, &bob).await.expect("removed");
            }),
        );
        scene.in_parallel(tasks).await;

        assert_eq!(
            scene.roles(ada.organization.id).await,
            [(ada.membership.id, Role::Owner)]
        );
    }
}

/// A former member neither sees the invitation nor joins with it.
pub(super) async fn assert_is_dead(scene: &Scene<Stores>, new: &NewInvitation, former: &Member) {
    assert_eq!(scene.open_invitation_for(new, former).await, None);
    assert_closed_to_user(&scene.accept_as_user(new, former, &former.organization).await);
}
