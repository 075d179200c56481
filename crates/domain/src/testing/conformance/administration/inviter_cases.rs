//! An invitation is valid only while its inviter may invite.

use chrono::TimeDelta;
use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::scene::Scene;
use super::scene::{as_user, assert_closed_to_newcomer, assert_closed_to_user};
use crate::administration::ports::{NewInvitation, OpenInvitationCounts};
use crate::audit::{Action, Actor, AuditEvent, Subject};
use crate::invitation::Invitation;
use crate::membership::{Member, Role};
use crate::sign_in::ports::AcceptAsNewcomerError;

pub(super) async fn owners_invitations_are_revoked_on_removal_leaving_or_demotion(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for username in ["removed", "left", "demoted", "stepped-back"] {
        let owner = scene.join_as(&ada.organization, username, Role::Owner).await;
        let theirs = [
            scene.invite(&owner, Role::Owner).await,
            scene.invite(&owner, Role::Member).await,
        ];
        scene.later(TimeDelta::milliseconds(3));
        let actor = match username {
            "removed" | "demoted" => as_user(&ada),
            _ => as_user(&owner),
        };
        match username {
            "removed" | "left" => scene.end_as(actor, &owner).await.expect("ended"),
            _ => scene
                .change_role(actor, &owner, Role::Member)
                .await
                .expect("demoted"),
        }

        for new in &theirs {
            assert_eq!(scene.open_invitation(new).await, None, "{username}");
            assert_closed_to_newcomer(&scene.accept_as_newcomer(new, "newcomer").await);
            let events = revocations(&scene, new).await;
            let revoked: Vec<_> = events.iter().map(|event| (event.actor, event.at)).collect();
            assert_eq!(revoked, [(actor, scene.now())], "{username}");
        }
    }
}

pub(super) async fn removed_owner_cannot_return_with_own_invitation(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join_as(&ada.organization, "bob", Role::Owner).await;
    let his = scene.invite(&bob, Role::Owner).await;
    scene.end_as(as_user(&ada), &bob).await.expect("removed");

    assert_closed_to_user(&scene.accept_as_user(&his, &bob, &ada.organization).await);
    assert_eq!(
        scene.roles(ada.organization.id).await,
        [(ada.membership.id, Role::Owner)]
    );
}

pub(super) async fn reinstated_owner_finds_old_invitations_revoked(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join_as(&ada.organization, "bob", Role::Owner).await;
    let old = scene.invite(&bob, Role::Member).await;
    for role in [Role::Member, Role::Owner] {
        let changed = scene.change_role(as_user(&ada), &bob, role).await;
        changed.expect("changed");
    }

    assert_closed_to_newcomer(&scene.accept_as_newcomer(&old, "newcomer").await);
    let new = scene.invite(&bob, Role::Member).await;
    scene
        .accept_as_newcomer(&new, "newcomer")
        .await
        .expect("an owner invites");
}

pub(super) async fn unrelated_invitations_remain_valid_after_an_owners_removal(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join_as(&ada.organization, "bob", Role::Owner).await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&bob.user, &other).await;
    scene
        .change_role(Actor::Administrator, &elsewhere, Role::Owner)
        .await
        .expect("promoted");
    let expired = scene.invite(&bob, Role::Member).await;
    scene.later(Invitation::LIFETIME);
    let accepted = scene.invite(&bob, Role::Member).await;
    scene
        .accept_as_newcomer(&accepted, "early")
        .await
        .expect("joined");
    let hers = scene.invite(&ada, Role::Member).await;
    let his_elsewhere = scene.invite(&elsewhere, Role::Member).await;
    let by_administrator = scene.new_invitation(&ada.organization, Actor::Administrator, Role::Member);
    let act = scene.act_as(Actor::Administrator, Some(ada.organization.id));
    let invitations = &scene.stores.invitations;
    let added = invitations.add(by_administrator.clone(), act).await;
    added.expect("an administrator invites");
    let cleo = scene.join(&ada.organization, "cleo").await;
    scene.end_as(as_user(&ada), &bob).await.expect("removed");
    scene.end_as(as_user(&ada), &cleo).await.expect("removed");

    for (new, username) in [
        (&hers, "by-ada"),
        (&his_elsewhere, "by-bob"),
        (&by_administrator, "by-an-administrator"),
    ] {
        scene.accept_as_newcomer(new, username).await.expect(username);
    }
    for new in [&expired, &accepted, &hers, &his_elsewhere] {
        assert_eq!(
            revocations(&scene, new).await,
            [],
            "its inviter's removal revoked no invitation"
        );
    }
}

/// The inviter's membership decides, even if the invitation was not revoked when that membership ended.
pub(super) async fn invitation_is_invalid_once_its_inviter_may_not_invite(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let former = scene.join_as(&ada.organization, "former", Role::Owner).await;
    let new = scene.invite(&former, Role::Owner).await;
    scene.end_membership(&former).await;

    assert_eq!(scene.open_invitation(&new).await, None);
    assert_closed_to_newcomer(&scene.accept_as_newcomer(&new, "newcomer").await);
    assert_closed_to_user(&scene.accept_as_user(&new, &former, &ada.organization).await);
    let again = scene.join_also(&former.user, &ada.organization).await;
    assert_eq!(scene.open_invitation(&new).await, None, "a plain member");
    assert_closed_to_newcomer(&scene.accept_as_newcomer(&new, "newcomer").await);
    scene.end_as(as_user(&ada), &again).await.expect("removed");
    assert_eq!(scene.roles(ada.organization.id).await.len(), 1);
}

pub(super) async fn failed_membership_end_revokes_no_invitation(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join_as(&ada.organization, "bob", Role::Owner).await;
    let new = scene.invite(&bob, Role::Member).await;
    let act = scene.unwritable_act(scene.act(&ada)).await;
    let (here, him) = (ada.organization.id, bob.membership.id);
    let failed = scene.stores.members.end(here, him, act).await;
    failed.expect_err("not written");

    assert!(scene.open_invitation(&new).await.is_some());
    scene
        .accept_as_newcomer(&new, "newcomer")
        .await
        .expect("bob is an owner");
}

pub(super) async fn open_invitations_of_a_user_are_counted(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join_as(&ada.organization, "bob", Role::Owner).await;
    scene.invite(&bob, Role::Member).await;
    scene.later(Invitation::LIFETIME);
    assert_eq!(open_invitations(&scene, &bob).await, 0, "it has expired");
    let first = scene.invite(&bob, Role::Member).await;
    scene.invite(&bob, Role::Owner).await;
    scene.invite(&ada, Role::Owner).await;
    assert_eq!(open_invitations(&scene, &bob).await, 2);
    scene
        .accept_as_newcomer(&first, "newcomer")
        .await
        .expect("joined");
    assert_eq!(open_invitations(&scene, &bob).await, 1);
    scene.end_as(as_user(&ada), &bob).await.expect("removed");
    assert_eq!(open_invitations(&scene, &bob).await, 0);
    assert_eq!(open_invitations(&scene, &ada).await, 1);
}

pub(super) async fn open_invitations_created_by_others_are_counted(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join_as(&ada.organization, "bob", Role::Owner).await;
    let other = scene.add_organization("Difference Engines").await;
    let stranger = scene.join_as(&other, "stranger", Role::Owner).await;
    scene.invite(&ada, Role::Member).await;
    scene.later(Invitation::LIFETIME);
    scene.invite(&stranger, Role::Member).await;
    assert_eq!(open_by_others(&scene, &bob).await, 0, "expired, or elsewhere");
    scene.invite(&bob, Role::Member).await;
    let hers = [
        scene.invite(&ada, Role::Member).await,
        scene.invite(&ada, Role::Owner).await,
    ];
    let by_administrator = scene.new_invitation(&ada.organization, Actor::Administrator, Role::Member);
    let act = scene.act_as(Actor::Administrator, Some(ada.organization.id));
    let added = scene.stores.invitations.add(by_administrator, act).await;
    added.expect("an administrator invites");
    assert_eq!(open_by_others(&scene, &bob).await, 3);
    assert_eq!(open_by_others(&scene, &ada).await, 2);
    let joined = scene.accept_as_newcomer(&hers[0], "newcomer").await;
    joined.expect("joined");
    assert_eq!(open_by_others(&scene, &bob).await, 2);
}

pub(super) async fn invitation_admits_no_user_after_inviters_confirmed_removal_or_demotion(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..8 {
        let bob = scene
            .join_as(&ada.organization, &format!("bob{round}"), Role::Owner)
            .await;
        let first = scene.invite(&bob, Role::Owner).await;
        let mut tasks: Vec<BoxFuture<'static, Option<NewInvitation>>> = Vec::new();
        for number in 0..8 {
            let (joining, new) = (scene.clone(), first.clone());
            tasks.push(Box::pin(async move {
                let username = format!("newcomer{round}-{number}");
                let joined = joining.accept_as_newcomer(&new, &username).await;
                assert!(
                    matches!(joined, Ok(_) | Err(AcceptAsNewcomerError::NotOpen)),
                    "{joined:?}"
                );
                None
            }));
            let (inviting, owner) = (scene.clone(), bob.clone());
            tasks.push(Box::pin(async move {
                inviting.try_invite(&owner, Role::Owner).await.ok()
            }));
        }
        let (removing, owner, ada) = (scene.clone(), bob.clone(), ada.clone());
        tasks.insert(
            8,
            Box::pin(async move {
                if round % 2 == 0 {
                    removing.end_as(as_user(&ada), &owner).await.expect("removed");
                } else {
                    let demoted = removing.change_role(as_user(&ada), &owner, Role::Member).await;
                    demoted.expect("demoted");
                }
                None
            }),
        );
        let created = scene.in_parallel(tasks).await;

        for new in created.into_iter().flatten().chain([first]) {
            assert_eq!(scene.open_invitation(&new).await, None);
            let subject = Subject::Invitation(new.invitation.id);
            let here = Some(bob.organization.id);
            let accepted = scene.events_about(here, Action::AcceptInvitation, subject).await;
            let revoked = revocations(&scene, &new).await;
            assert_eq!(
                accepted.len() + revoked.len(),
                1,
                "each was either accepted before or revoked"
            );
        }
    }
}

async fn open_invitations(scene: &Scene<Stores>, inviter: &Member) -> u64 {
    count_open(scene, inviter).await.by_user
}

async fn open_by_others(scene: &Scene<Stores>, member: &Member) -> u64 {
    count_open(scene, member).await.by_others
}

async fn count_open(scene: &Scene<Stores>, member: &Member) -> OpenInvitationCounts {
    let (here, now) = (member.organization.id, scene.now());
    let counted = scene.stores.invitations.count_open(here, member.user.id, now);
    counted.await.expect("the store answers")
}

/// The events of this invitation's revocation.
async fn revocations(scene: &Scene<Stores>, new: &NewInvitation) -> Vec<AuditEvent> {
    let subject = Subject::Invitation(new.invitation.id);
    let here = Some(new.invitation.organization_id);
    scene.events_about(here, Action::RevokeInvitation, subject).await
}
