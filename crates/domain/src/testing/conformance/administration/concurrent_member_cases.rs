//! Cases of [`MemberStore`](crate::administration::ports::MemberStore): many callers at once.

use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::scene::Scene;
use super::scene::{CROWD, as_user};
use crate::administration::ports::{ChangeRoleError, EndMembershipError};
use crate::audit::{Action, Subject};
use crate::id::OrganizationId;
use crate::membership::{Member, Role};

pub(super) async fn concurrent_mutual_removal_of_two_owners_removes_one(stores: Stores) {
    let (scene, owners) = two_owners(stores).await;
    let attempts = (0..CROWD).map(|number| {
        let (scene, [actor, other]) = (scene.clone(), turn(&owners, number));
        let task: BoxFuture<'static, _> =
            Box::pin(async move { scene.end_as(as_user(&actor), &other).await });
        task
    });
    let results = scene.in_parallel(attempts).await;

    assert_eq!(results.iter().filter(|ended| ended.is_ok()).count(), 1);
    for refused in results.into_iter().filter_map(Result::err) {
        assert!(
            matches!(
                refused,
                EndMembershipError::NotAllowed | EndMembershipError::NotFound
            ),
            "{refused:?}"
        );
    }
    assert_one_owner(&scene, &owners).await;
}

pub(super) async fn concurrent_mutual_demotion_of_two_owners_keeps_one_owner(stores: Stores) {
    let (scene, owners) = two_owners(stores).await;
    let attempts = (0..CROWD).map(|number| {
        let (scene, [actor, other]) = (scene.clone(), turn(&owners, number));
        let task: BoxFuture<'static, _> =
            Box::pin(async move { scene.change_role(as_user(&actor), &other, Role::Member).await });
        task
    });
    for refused in scene
        .in_parallel(attempts)
        .await
        .into_iter()
        .filter_map(Result::err)
    {
        assert!(matches!(refused, ChangeRoleError::NotAllowed), "{refused:?}");
    }

    assert_one_owner(&scene, &owners).await;
    let here = owners.first().map(|owner| owner.organization.id);
    let mut recorded = scene.events(here).await;
    recorded.retain(|event| event.action == Action::MakeMember);
    assert_eq!(recorded.len(), 1, "one of the two was demoted, once");
}

pub(super) async fn concurrent_leaving_of_two_owners_keeps_one(stores: Stores) {
    let (scene, owners) = two_owners(stores).await;
    let attempts = (0..CROWD).map(|number| {
        let (scene, [actor, _]) = (scene.clone(), turn(&owners, number));
        let task: BoxFuture<'static, _> =
            Box::pin(async move { scene.end_as(as_user(&actor), &actor).await });
        task
    });
    let results = scene.in_parallel(attempts).await;

    assert_eq!(results.iter().filter(|left| left.is_ok()).count(), 1);
    for refused in results.into_iter().filter_map(Result::err) {
        assert!(
            matches!(
                refused,
                EndMembershipError::NotAllowed | EndMembershipError::LastOwner
            ),
            "{refused:?}"
        );
    }
    assert_one_owner(&scene, &owners).await;
}

pub(super) async fn concurrent_leaving_and_demotion_of_many_owners_keeps_one(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let here = &ada.organization;
    let mut owners = vec![ada.clone()];
    for number in 1..CROWD {
        owners.push(scene.join_as(here, &format!("owner{number}"), Role::Owner).await);
    }
    let attempts = owners.iter().enumerate().map(|(number, owner)| {
        let (scene, owner) = (scene.clone(), owner.clone());
        let task: BoxFuture<'static, bool> = Box::pin(async move {
            if number.is_multiple_of(2) {
                let left = scene.end_as(as_user(&owner), &owner).await;
                assert!(
                    matches!(left, Ok(()) | Err(EndMembershipError::LastOwner)),
                    "{left:?}"
                );
                left.is_ok()
            } else {
                let demoted = scene.change_role(as_user(&owner), &owner, Role::Member).await;
                assert!(
                    matches!(demoted, Ok(()) | Err(ChangeRoleError::LastOwner)),
                    "{demoted:?}"
                );
                demoted.is_ok()
            }
        });
        task
    });
    let results = scene.in_parallel(attempts).await;

    let succeeded = results.into_iter().filter(|succeeded| *succeeded).count();
    assert_eq!(succeeded, CROWD - 1, "only the last owner is refused");
    assert_eq!(owners_left(&scene, here.id).await, 1);
}

pub(super) async fn concurrent_ends_of_one_membership_end_it_once(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join(&ada.organization, "bob").await;
    let attempts = (0..CROWD).map(|_| {
        let (scene, ada, bob) = (scene.clone(), ada.clone(), bob.clone());
        let task: BoxFuture<'static, _> = Box::pin(async move { scene.end_as(as_user(&ada), &bob).await });
        task
    });
    let results = scene.in_parallel(attempts).await;

    assert_eq!(results.iter().filter(|ended| ended.is_ok()).count(), 1);
    for refused in results.into_iter().filter_map(Result::err) {
        assert!(matches!(refused, EndMembershipError::NotFound), "{refused:?}");
    }
    let (here, subject) = (ada.organization.id, Subject::Membership(bob.membership.id));
    let recorded = scene
        .events_about(Some(here), Action::RemoveMember, subject)
        .await;
    assert_eq!(recorded.len(), 1);
}

async fn two_owners(stores: Stores) -> (Scene<Stores>, [Member; 2]) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join_as(&ada.organization, "bob", Role::Owner).await;
    (scene, [ada, bob])
}

/// The actor of this turn, and the other one.
fn turn([ada, bob]: &[Member; 2], number: usize) -> [Member; 2] {
    if number.is_multiple_of(2) {
        [ada.clone(), bob.clone()]
    } else {
        [bob.clone(), ada.clone()]
    }
}

async fn assert_one_owner(scene: &Scene<Stores>, [owner, _]: &[Member; 2]) {
    assert_eq!(owners_left(scene, owner.organization.id).await, 1);
}

async fn owners_left(scene: &Scene<Stores>, organization: OrganizationId) -> usize {
    let roles = scene.roles(organization).await;
    roles.iter().filter(|(_, role)| *role == Role::Owner).count()
}
