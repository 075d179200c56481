//! Cases of removing ended invitations.

use chrono::{DateTime, TimeDelta, Utc};

use super::super::Stores;
use super::super::scene::Scene;
use super::scene::{ALL, MILLISECOND};
use crate::administration::ports::NewInvitation;
use crate::invitation::Invitation;
use crate::membership::{Member, Role};

pub(super) async fn invitations_are_removed_after_their_retention(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let expiring = scene.invite(&ada, Role::Member).await;
    let used = scene.invite(&ada, Role::Member).await;
    let revoked = scene.invite(&ada, Role::Member).await;
    let expires_at = scene.now() + Invitation::LIFETIME;
    let used_at = scene.later(TimeDelta::hours(1));
    scene
        .accept_as_newcomer(&used, "bob")
        .await
        .expect("somebody joins");
    let revoked_at = scene.later(TimeDelta::hours(1));
    revoke(&scene, &ada, &revoked).await;
    let open = scene.invite(&ada, Role::Member).await;

    for over_at in [used_at, revoked_at, expires_at] {
        assert_eq!(remove(&scene, over_at, ALL).await, 0);
        assert_eq!(remove(&scene, over_at + MILLISECOND, ALL).await, 1);
    }
    assert!(scene.open_invitation(&open).await.is_some());
    assert!(scene.open_invitation(&expiring).await.is_none());
    for _ in 0..5 {
        scene.invite(&ada, Role::Member).await;
    }
    let long_after = scene.later(TimeDelta::days(400));
    for removed in [4, 2, 0] {
        assert_eq!(remove(&scene, long_after, 4).await, removed);
    }
}

pub(super) async fn member_who_joined_with_a_removed_invitation_remains(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let used = scene.invite(&ada, Role::Member).await;
    let bob = scene
        .accept_as_newcomer(&used, "bob")
        .await
        .expect("somebody joins");
    let here = Some(ada.organization.id);
    let events = scene.events(here).await;
    let now = scene.later(TimeDelta::days(400));

    assert_eq!(remove(&scene, now, ALL).await, 1);
    let members = scene.roles(ada.organization.id).await;
    assert_eq!(
        members,
        [(ada.membership.id, Role::Owner), (bob.id, Role::Member)]
    );
    assert_eq!(scene.events(here).await, events);
    assert!(
        scene.accept_as_newcomer(&used, "carol").await.is_err(),
        "it cannot be used again"
    );
}

async fn revoke(scene: &Scene<Stores>, owner: &Member, new: &NewInvitation) {
    let (id, organization) = (new.invitation.id, owner.organization.id);
    let act = scene.act(owner);
    let revoked = scene.stores.invitations.revoke(organization, id, act).await;
    revoked.expect("an owner takes it back");
}

async fn remove(scene: &Scene<Stores>, before: DateTime<Utc>, at_most: u32) -> u32 {
    let retention = &scene.stores.retention;
    let removed = retention.remove_ended_invitations(before, at_most).await;
    removed.expect("ended invitations are removed")
}
