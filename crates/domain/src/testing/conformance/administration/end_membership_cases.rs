//! How [`MemberStore`](crate::administration::ports::MemberStore) ends memberships.

use chrono::TimeDelta;

use super::super::Stores;
use super::super::parallel::{abandon, eventually};
use super::super::scene::{AMPLE, Scene};
use super::scene::as_user;
use crate::access::Credential;
use crate::administration::ports::EndMembershipError;
use crate::audit::{Action, Actor, Subject};
use crate::membership::{Member, Role};
use crate::ports::{AddKeyError, NewApiKey};
use crate::validity::End;

pub(super) async fn removed_member_and_their_keys_are_rejected(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let root = scene.new_key(&bob, "root");
    scene.store(&bob, &root).await;
    let child = scene.new_child(&bob, root.key.id, "child");
    scene.store(&bob, &child).await;
    scene.later(TimeDelta::milliseconds(7));
    let (here, him) = (ada.organization.id, bob.membership.id);
    scene.end_as(as_user(&ada), &bob).await.expect("removed");

    for key in [&root, &child] {
        let credential = credential(&scene, key).await;
        assert!(!credential.is_accepted(scene.now()));
        assert_eq!(credential.membership_end, Some(End::Come(scene.now())));
        assert!(
            scene.stored(&key.key).await.is_valid(scene.now()),
            "a key's state is its own"
        );
    }
    let refused = scene.try_add(&bob, &scene.new_key(&bob, "too late"), AMPLE).await;
    assert!(matches!(refused, Err(AddKeyError::HolderGone)), "{refused:?}");
    assert_eq!(live(&scene, &bob).await, None);
    assert_eq!(scene.roles(here).await, [(ada.membership.id, Role::Owner)]);
    let subject = Subject::Membership(him);
    let recorded = scene
        .events_about(Some(here), Action::RemoveMember, subject)
        .await;
    let recorded: Vec<_> = recorded.iter().map(|event| (event.actor, event.at)).collect();
    assert_eq!(recorded, [(as_user(&ada), scene.now())]);
}

pub(super) async fn ending_one_membership_keeps_other_memberships_and_keys(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let cleo = scene.join(&ada.organization, "cleo").await;
    let other = scene.add_organization("Difference Engines").await;
    let elsewhere = scene.join_also(&bob.user, &other).await;
    let keys = [&ada, &cleo, &elsewhere].map(|member| (member, scene.new_key(member, "key")));
    for (member, key) in &keys {
        scene.store(member, key).await;
    }
    scene.end_as(as_user(&ada), &bob).await.expect("removed");

    for (member, key) in &keys {
        assert!(credential(&scene, key).await.is_accepted(scene.now()));
        assert_eq!(live(&scene, member).await.as_ref(), Some(*member));
    }
}

pub(super) async fn member_of_any_role_may_leave(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let owner = scene.join_as(&ada.organization, "owner", Role::Owner).await;
    for member in [&bob, &owner] {
        scene.end_as(as_user(member), member).await.expect("left");
        assert_eq!(live(&scene, member).await, None);
        let subject = Subject::Membership(member.membership.id);
        let here = Some(ada.organization.id);
        let recorded = scene.events_about(here, Action::LeaveOrganization, subject).await;
        assert_eq!(recorded.len(), 1);
    }

    let again = scene.end_as(as_user(&bob), &bob).await;
    assert!(matches!(again, Err(EndMembershipError::NotAllowed)), "{again:?}");
}

pub(super) async fn last_owner_can_neither_leave_nor_be_removed(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    scene.join(&ada.organization, "bob").await;
    let former = scene.join_as(&ada.organization, "former", Role::Owner).await;
    scene.end_membership(&former).await;
    let other = scene.add_organization("Difference Engines").await;
    scene.join_as(&other, "stranger", Role::Owner).await;
    let before = scene.events(Some(ada.organization.id)).await;

    for actor in [as_user(&ada), Actor::Administrator] {
        let refused = scene.end_as(actor, &ada).await;
        assert!(
            matches!(refused, Err(EndMembershipError::LastOwner)),
            "{refused:?}"
        );
    }
    assert_eq!(live(&scene, &ada).await.as_ref(), Some(&ada));
    assert_eq!(scene.events(Some(ada.organization.id)).await, before);
}

pub(super) async fn only_owners_administrators_and_the_member_end_a_membership(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let his = scene.add_key(&bob, "his own key").await;
    let outsiders = scene.outsiders(&ada.organization).await;
    let before = scene.events(Some(ada.organization.id)).await;
    for (who, actor) in outsiders
        .into_iter()
        .chain([("a key of the member", Actor::ApiKey(his.id))])
    {
        let refused = scene.end_as(actor, &bob).await;
        assert!(
            matches!(refused, Err(EndMembershipError::NotAllowed)),
            "{who}: {refused:?}"
        );
        let act = scene.act_as(actor, Some(ada.organization.id));
        let (here, unknown) = (ada.organization.id, scene.id());
        let refused = scene.stores.members.end(here, unknown, act).await;
        assert!(
            matches!(refused, Err(EndMembershipError::NotAllowed)),
            "{who} learns nothing: {refused:?}"
        );
    }
    assert_eq!(live(&scene, &bob).await.as_ref(), Some(&bob));
    assert_eq!(scene.events(Some(ada.organization.id)).await, before);

    scene
        .end_as(Actor::Administrator, &bob)
        .await
        .expect("an administrator may");
}

pub(super) async fn only_active_memberships_of_the_organization_can_be_ended(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let former = scene.join(&ada.organization, "former").await;
    scene.end_membership(&former).await;
    let other = scene.add_organization("Difference Engines").await;
    let stranger = scene.join(&other, "stranger").await;
    let here = ada.organization.id;
    for id in [former.membership.id, stranger.membership.id, scene.id()] {
        let act = scene.act(&ada);
        let refused = scene.stores.members.end(here, id, act).await;
        assert!(
            matches!(refused, Err(EndMembershipError::NotFound)),
            "{refused:?}"
        );
    }
    // A member who may leave one organization cannot end a membership of another.
    let theirs = scene.act(&stranger);
    let refused = scene
        .stores
        .members
        .end(here, stranger.membership.id, theirs)
        .await;
    assert!(
        matches!(refused, Err(EndMembershipError::NotAllowed)),
        "{refused:?}"
    );

    assert_eq!(live(&scene, &stranger).await.as_ref(), Some(&stranger));
}

pub(super) async fn membership_continues_when_end_event_cannot_be_written(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let key = scene.new_key(&bob, "key");
    scene.store(&bob, &key).await;
    let act = scene.unwritable_act(scene.act(&ada)).await;
    let (here, him) = (ada.organization.id, bob.membership.id);
    let failed = scene.stores.members.end(here, him, act).await;

    assert!(
        matches!(failed, Err(EndMembershipError::Storage(_))),
        "{failed:?}"
    );
    assert_eq!(live(&scene, &bob).await.as_ref(), Some(&bob));
    assert!(credential(&scene, &key).await.is_accepted(scene.now()));
}

pub(super) async fn membership_end_completes_after_caller_cancellation(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let key = scene.new_key(&bob, "key");
    scene.store(&bob, &key).await;
    abandon(scene.end_as(as_user(&ada), &bob)).await;

    eventually("the abandoned membership ends", async || {
        live(&scene, &bob).await.is_none()
    })
    .await;
    assert!(!credential(&scene, &key).await.is_accepted(scene.now()));
    let (here, subject) = (Some(ada.organization.id), Subject::Membership(bob.membership.id));
    let recorded = scene.events_about(here, Action::RemoveMember, subject).await;
    assert_eq!(recorded.len(), 1);
}

async fn live(scene: &Scene<Stores>, member: &Member) -> Option<Member> {
    scene
        .stores
        .keys
        .memberships
        .find_live(member.user.id, &member.organization.slug, scene.now())
        .await
        .expect("the store answers")
}

async fn credential(scene: &Scene<Stores>, new: &NewApiKey) -> Credential {
    scene
        .stores
        .keys
        .credentials
        .find(&new.digest)
        .await
        .expect("the store answers")
        .expect("a key that was added")
}
