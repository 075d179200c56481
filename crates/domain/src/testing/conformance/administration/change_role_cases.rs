//! How [`MemberStore`](crate::administration::ports::MemberStore) changes roles.

use chrono::TimeDelta;

use super::super::Stores;
use super::super::parallel::{abandon, eventually};
use super::super::scene::Scene;
use super::scene::as_user;
use crate::administration::ports::{ChangeRoleError, EndMembershipError};
use crate::audit::{Action, Actor, Subject};
use crate::membership::{Member, Role};

pub(super) async fn changed_role_reads_back_with_its_event(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let (here, him) = (ada.organization.id, Subject::Membership(bob.membership.id));
    scene
        .change_role(as_user(&ada), &bob, Role::Owner)
        .await
        .expect("promoted");

    let hers = (ada.membership.id, Role::Owner);
    assert_eq!(scene.roles(here).await, [hers, (bob.membership.id, Role::Owner)]);
    let member = scene
        .stores
        .keys
        .memberships
        .find_live(bob.user.id, &ada.organization.slug, scene.now())
        .await;
    let member = member.expect("the store answers").expect("still a member");
    assert_eq!(member.membership.role, Role::Owner);

    let id = bob.membership.id;
    scene
        .change_role(as_user(&bob), &bob, Role::Member)
        .await
        .expect("an owner steps down");
    assert_eq!(scene.roles(here).await, [hers, (id, Role::Member)]);
    assert_eq!(
        scene.events_about(Some(here), Action::MakeOwner, him).await.len(),
        1
    );
    let recorded = scene.events_about(Some(here), Action::MakeMember, him).await;
    let recorded: Vec<_> = recorded.iter().map(|event| (event.actor, event.at)).collect();
    assert_eq!(recorded, [(as_user(&bob), scene.now())]);
}

pub(super) async fn unchanged_role_writes_no_event(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let before = scene.events(Some(ada.organization.id)).await;
    for (member, role) in [(&bob, Role::Member), (&ada, Role::Owner)] {
        scene
            .change_role(as_user(&ada), member, role)
            .await
            .expect("nothing to do");
    }

    assert_eq!(scene.events(Some(ada.organization.id)).await, before);
}

pub(super) async fn last_owner_cannot_be_demoted(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    scene.join(&ada.organization, "bob").await;
    // Neither counts: one is no owner any more, the other is one somewhere else.
    let former = scene.join_as(&ada.organization, "former", Role::Owner).await;
    scene.end_membership(&former).await;
    let other = scene.add_organization("Difference Engines").await;
    scene.join_as(&other, "stranger", Role::Owner).await;
    assert!(is_last_owner(&scene, &ada).await);
    let before = scene.events(Some(ada.organization.id)).await;

    for actor in [as_user(&ada), Actor::Administrator] {
        let refused = scene.change_role(actor, &ada, Role::Member).await;
        assert!(matches!(refused, Err(ChangeRoleError::LastOwner)), "{refused:?}");
    }
    let roles = scene.roles(ada.organization.id).await;
    assert!(roles.contains(&(ada.membership.id, Role::Owner)));
    assert_eq!(scene.events(Some(ada.organization.id)).await, before);
}

pub(super) async fn the_last_owner_without_a_planned_end_stays_owner(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join_as(&ada.organization, "bob", Role::Owner).await;
    let carl = scene.join_as(&ada.organization, "carl", Role::Owner).await;
    let end = scene.now() + TimeDelta::hours(1);
    for member in [&bob, &carl] {
        scene.plan_end_of_membership(member, end).await;
    }
    assert!(is_last_owner(&scene, &ada).await);
    assert!(!is_last_owner(&scene, &bob).await);

    let refused = scene.change_role(as_user(&bob), &ada, Role::Member).await;
    assert!(matches!(refused, Err(ChangeRoleError::LastOwner)), "{refused:?}");
    for actor in [as_user(&ada), as_user(&bob), Actor::Administrator] {
        let refused = scene.end_as(actor, &ada).await;
        assert!(
            matches!(refused, Err(EndMembershipError::LastOwner)),
            "{refused:?}"
        );
    }
    let changed = scene.change_role(as_user(&ada), &bob, Role::Member).await;
    changed.expect("ada stays");
    scene.end_as(as_user(&carl), &carl).await.expect("ada stays");
    let roles = scene.roles(ada.organization.id).await;
    let expected = [
        (ada.membership.id, Role::Owner),
        (bob.membership.id, Role::Member),
    ];
    assert_eq!(roles, expected);
}

pub(super) async fn an_owner_is_not_the_last_while_there_is_another(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    assert!(is_last_owner(&scene, &ada).await);
    for (role, is_last) in [(Role::Owner, false), (Role::Member, true)] {
        scene
            .change_role(as_user(&ada), &bob, role)
            .await
            .expect("changed");
        assert_eq!(is_last_owner(&scene, &ada).await, is_last);
    }
}

async fn is_last_owner(scene: &Scene<Stores>, owner: &Member) -> bool {
    let members = &scene.stores.members;
    let others = members.has_other_permanent_owner(owner.organization.id, owner.membership.id);
    !others.await.expect("the store answers")
}

pub(super) async fn only_active_owners_and_administrators_change_roles(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let outsiders = scene.outsiders(&ada.organization).await;
    let roles = scene.roles(ada.organization.id).await;
    let before = scene.events(Some(ada.organization.id)).await;
    for (who, actor) in outsiders
        .into_iter()
        .chain([("a member for themselves", as_user(&bob))])
    {
        for role in [Role::Owner, Role::Member] {
            let refused = scene.change_role(actor, &bob, role).await;
            assert!(
                matches!(refused, Err(ChangeRoleError::NotAllowed)),
                "{who}: {refused:?}"
            );
        }
        let act = scene.act_as(actor, Some(ada.organization.id));
        let (here, unknown) = (ada.organization.id, scene.id());
        let members = &scene.stores.members;
        let refused = members.change_role(here, unknown, Role::Owner, act).await;
        assert!(
            matches!(refused, Err(ChangeRoleError::NotAllowed)),
            "{who} learns nothing: {refused:?}"
        );
    }
    assert_eq!(scene.roles(ada.organization.id).await, roles);
    assert_eq!(scene.events(Some(ada.organization.id)).await, before);

    scene
        .change_role(Actor::Administrator, &bob, Role::Owner)
        .await
        .expect("an administrator may");
}

pub(super) async fn role_changes_apply_to_active_members_of_the_organization_only(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let former = scene.join(&ada.organization, "former").await;
    scene.end_membership(&former).await;
    let other = scene.add_organization("Difference Engines").await;
    let stranger = scene.join(&other, "stranger").await;
    let here = ada.organization.id;
    for id in [former.membership.id, stranger.membership.id, scene.id()] {
        let act = scene.act(&ada);
        let refused = scene.stores.members.change_role(here, id, Role::Owner, act).await;
        assert!(matches!(refused, Err(ChangeRoleError::NotFound)), "{refused:?}");
    }

    assert_eq!(
        scene.roles(other.id).await,
        [(stranger.membership.id, Role::Member)]
    );
}

pub(super) async fn role_is_unchanged_when_event_cannot_be_written(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let act = scene.unwritable_act(scene.act(&ada)).await;
    let failed = scene
        .stores
        .members
        .change_role(ada.organization.id, bob.membership.id, Role::Owner, act)
        .await;

    assert!(matches!(failed, Err(ChangeRoleError::Storage(_))), "{failed:?}");
    let roles = scene.roles(ada.organization.id).await;
    assert!(roles.contains(&(bob.membership.id, Role::Member)));
}

pub(super) async fn role_change_completes_after_caller_cancellation(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    abandon(scene.change_role(as_user(&ada), &bob, Role::Owner)).await;

    let (here, him) = (ada.organization.id, Subject::Membership(bob.membership.id));
    eventually("the abandoned role is changed", async || {
        scene.events_about(Some(here), Action::MakeOwner, him).await.len() == 1
    })
    .await;
    assert!(
        scene
            .roles(here)
            .await
            .contains(&(bob.membership.id, Role::Owner))
    );
}
