//! How [`InvitationStore`](crate::administration::ports::InvitationStore) keeps invitations.

use chrono::TimeDelta;

use super::super::Stores;
use super::super::pages::{all_pages, size_of};
use super::super::parallel::{abandon, eventually};
use super::super::scene::{Scene, similar_to};
use super::scene::as_user;
use crate::administration::ports::{AddInvitationError, NewInvitation, RevokeInvitationError};
use crate::audit::{Action, Actor, Subject};
use crate::id::OrganizationId;
use crate::invitation::{Invitation, InvitationDigest, InvitationToken};
use crate::membership::{Member, Role};
use crate::page::PageSize;
use crate::sign_in::ports::PendingInvitation;

pub(super) async fn invitation_reads_back_as_added(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let (here, invitations) = (&ada.organization, &scene.stores.invitations);
    for (actor, role) in [(as_user(&ada), Role::Member), (Actor::Administrator, Role::Owner)] {
        let new = scene.new_invitation(here, actor, role);
        let act = scene.act_as(actor, Some(here.id));
        invitations.add(new.clone(), act.clone()).await.expect("added");

        let open = PendingInvitation {
            invitation: new.invitation.clone(),
            organization: here.clone(),
        };
        assert_eq!(scene.open_invitation(&new).await, Some(open));
        let subject = Subject::Invitation(new.invitation.id);
        let recorded = scene
            .events_about(Some(here.id), Action::CreateInvitation, subject)
            .await;
        let expected = act.event(Action::CreateInvitation, subject);
        scene.assert_recorded(recorded, expected).await;
    }
}

pub(super) async fn unknown_digest_finds_no_invitation(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    scene.invite(&ada, Role::Member).await;
    let digest = InvitationToken::generate(&*scene.make.random).digest();

    let found = scene
        .stores
        .open_invitations
        .find(&digest, None, scene.now())
        .await;
    assert_eq!(found.expect("the store answers"), None);
}

pub(super) async fn invitation_lookup_compares_every_byte_of_the_digest(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let first = scene.invite(&ada, Role::Member).await;
    let similar = similar_to(first.digest.as_bytes()).map(InvitationDigest::from_bytes);
    let invitations = &scene.stores.open_invitations;
    for (byte, digest) in similar.iter().enumerate() {
        let found = invitations.find(digest, None, scene.now()).await;
        assert_eq!(
            found.expect("the store answers"),
            None,
            "byte {byte} is another one"
        );
    }
    let second = NewInvitation {
        digest: similar[31],
        ..scene.new_invitation(&ada.organization, as_user(&ada), Role::Member)
    };
    let act = scene.act(&ada);
    let added = scene.stores.invitations.add(second.clone(), act).await;
    added.expect("added");

    for new in [&first, &second] {
        let found = scene.open_invitation(new).await.expect("a known digest");
        assert_eq!(found.invitation.id, new.invitation.id);
    }
}

pub(super) async fn expired_invitation_is_still_found(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = scene.invite(&ada, Role::Member).await;
    scene.later(Invitation::LIFETIME + TimeDelta::days(1));

    assert!(scene.open_invitation(&new).await.is_some());
    assert_eq!(
        pending(&scene, ada.organization.id, PageSize::MAX).await,
        [new.invitation]
    );
}

pub(super) async fn pending_invitations_are_listed_newest_first(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let [first, revoked, accepted, last] = [
        scene.invite(&ada, Role::Member).await,
        scene.invite(&ada, Role::Member).await,
        scene.invite(&ada, Role::Member).await,
        scene.invite(&ada, Role::Owner).await,
    ];
    revoke(&scene, as_user(&ada), &revoked).await.expect("revoked");
    scene.accept_as_newcomer(&accepted, "bob").await.expect("joined");
    let other = scene.add_organization("Difference Engines").await;

    let here = ada.organization.id;
    assert_eq!(
        pending(&scene, here, PageSize::MAX).await,
        [last.invitation, first.invitation]
    );
    assert_eq!(pending(&scene, other.id, PageSize::MAX).await, []);
}

pub(super) async fn pages_of_pending_invitations_form_the_whole_list(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for _ in 0..7 {
        scene.invite(&ada, Role::Member).await;
    }
    let all = pending(&scene, ada.organization.id, PageSize::MAX).await;

    assert_eq!(all.len(), 7);
    for size in 1..=8 {
        assert_eq!(pending(&scene, ada.organization.id, size).await, all, "by {size}");
    }
}

pub(super) async fn organization_has_a_maximum_number_of_open_invitations(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let elsewhere = scene.add_organization("Elsewhere").await;
    let eve = scene.join_as(&elsewhere, "eve", Role::Owner).await;
    let mut last = scene.invite(&ada, Role::Member).await;
    scene.later(TimeDelta::days(1));
    for _ in 1..Invitation::MAX_OPEN {
        last = scene.invite(&ada, Role::Member).await;
    }
    assert_limit_reached(&scene, &ada).await;
    scene.invite(&eve, Role::Member).await;

    revoke(&scene, as_user(&ada), &last).await.expect("revoked");
    scene.invite(&ada, Role::Member).await;
    assert_limit_reached(&scene, &ada).await;

    // The first one expires.
    scene.later(Invitation::LIFETIME - TimeDelta::days(1));
    scene.invite(&ada, Role::Member).await;
    assert_limit_reached(&scene, &ada).await;
}

async fn assert_limit_reached(scene: &Scene<Stores>, owner: &Member) {
    let refused = scene.try_invite(owner, Role::Member).await;
    assert!(
        matches!(refused, Err(AddInvitationError::LimitReached)),
        "{refused:?}"
    );
}

pub(super) async fn revoked_invitation_disappears_with_one_event(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let [new, other] = [
        scene.invite(&ada, Role::Member).await,
        scene.invite(&ada, Role::Member).await,
    ];
    for _ in 0..2 {
        revoke(&scene, as_user(&ada), &new).await.expect("revoked");
    }

    assert_eq!(scene.open_invitation(&new).await, None);
    assert!(scene.open_invitation(&other).await.is_some());
    assert_eq!(revocations(&scene, &new).await, 1);
}

pub(super) async fn accepted_invitation_cannot_be_revoked_in_store(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = scene.invite(&ada, Role::Member).await;
    let bob = scene.accept_as_newcomer(&new, "bob").await.expect("joined");
    let refused = revoke(&scene, as_user(&ada), &new).await;

    assert!(
        matches!(refused, Err(RevokeInvitationError::Accepted)),
        "{refused:?}"
    );
    assert_eq!(revocations(&scene, &new).await, 0);
    let roles = scene.roles(ada.organization.id).await;
    assert!(roles.contains(&(bob.id, Role::Member)));
}

pub(super) async fn only_invitations_of_the_organization_are_revoked(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let stranger = scene.join_as(&other, "stranger", Role::Owner).await;
    let theirs = scene.invite(&stranger, Role::Member).await;
    for id in [theirs.invitation.id, scene.id()] {
        let act = scene.act(&ada);
        let refused = scene
            .stores
            .invitations
            .revoke(ada.organization.id, id, act)
            .await;
        assert!(
            matches!(refused, Err(RevokeInvitationError::NotFound)),
            "{refused:?}"
        );
    }

    assert!(scene.open_invitation(&theirs).await.is_some());
}

pub(super) async fn only_active_owners_and_administrators_invite(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let outsiders = scene.outsiders(&ada.organization).await;
    let open = scene.invite(&ada, Role::Member).await;
    let here = Some(ada.organization.id);
    let before = scene.events(here).await;
    for (who, actor) in outsiders {
        // Only the actor is wrong: the invitation itself could be stored.
        let new = scene.new_invitation(&ada.organization, as_user(&ada), Role::Owner);
        let act = scene.act_as(actor, here);
        let refused = scene.stores.invitations.add(new.clone(), act).await;
        assert!(
            matches!(refused, Err(AddInvitationError::NotAllowed)),
            "{who}: {refused:?}"
        );
        assert_eq!(scene.open_invitation(&new).await, None);
        let refused = revoke(&scene, actor, &open).await;
        assert!(
            matches!(refused, Err(RevokeInvitationError::NotAllowed)),
            "{who}: {refused:?}"
        );
    }
    assert!(scene.open_invitation(&open).await.is_some());
    assert_eq!(scene.events(here).await, before);

    revoke(&scene, Actor::Administrator, &open)
        .await
        .expect("an administrator may");
}

pub(super) async fn invitation_is_unchanged_when_its_event_cannot_be_written(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = scene.new_invitation(&ada.organization, as_user(&ada), Role::Member);
    let act = scene.unwritable_act(scene.act(&ada)).await;
    let failed = scene.stores.invitations.add(new.clone(), act).await;
    assert!(
        matches!(failed, Err(AddInvitationError::Storage(_))),
        "{failed:?}"
    );
    assert_eq!(scene.open_invitation(&new).await, None);

    let open = scene.invite(&ada, Role::Member).await;
    let act = scene.unwritable_act(scene.act(&ada)).await;
    let (here, invitations) = (ada.organization.id, &scene.stores.invitations);
    let failed = invitations.revoke(here, open.invitation.id, act).await;
    assert!(
        matches!(failed, Err(RevokeInvitationError::Storage(_))),
        "{failed:?}"
    );
    assert!(scene.open_invitation(&open).await.is_some());
}

pub(super) async fn invitation_change_completes_after_caller_cancellation(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = scene.new_invitation(&ada.organization, as_user(&ada), Role::Member);
    abandon(scene.stores.invitations.add(new.clone(), scene.act(&ada))).await;
    eventually("the abandoned invitation is added", async || {
        scene.open_invitation(&new).await.is_some()
    })
    .await;

    abandon(revoke(&scene, as_user(&ada), &new)).await;
    eventually("the abandoned invitation is revoked", async || {
        scene.open_invitation(&new).await.is_none()
    })
    .await;
    assert_eq!(revocations(&scene, &new).await, 1);
}

async fn revoke(
    scene: &Scene<Stores>,
    actor: Actor,
    new: &NewInvitation,
) -> Result<(), RevokeInvitationError> {
    let Invitation {
        id, organization_id, ..
    } = new.invitation;
    let act = scene.act_as(actor, Some(organization_id));
    scene.stores.invitations.revoke(organization_id, id, act).await
}

async fn revocations(scene: &Scene<Stores>, new: &NewInvitation) -> usize {
    let subject = Subject::Invitation(new.invitation.id);
    let here = Some(new.invitation.organization_id);
    scene
        .events_about(here, Action::RevokeInvitation, subject)
        .await
        .len()
}

/// The pending invitations of an organization, over all pages of that size.
async fn pending(scene: &Scene<Stores>, organization: OrganizationId, size: u16) -> Vec<Invitation> {
    let invitations = &scene.stores.invitations;
    all_pages(size_of(size), |page| invitations.pending(organization, page)).await
}
