//! What [`MemberStore`](crate::administration::ports::MemberStore) promises to many callers at once.

use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::scene::{AMPLE, Scene};
use super::scene::{AdministrationScene, CROWD, as_user};
use crate::administration::ports::{ChangeRoleError, EndMembershipError};
use crate::api_key::ApiKey;
use crate::audit::{Action, Subject};
use crate::id::OrganizationId;
use crate::membership::{Member, Role};
use crate::page::{PageRequest, PageSize};
use crate::ports::{AddKeyError, KeyFilter, StatusFilter};

pub async fn of_two_owners_who_remove_each_other_at_once_one_is_removed(stores: Stores) {
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

pub async fn of_two_owners_who_demote_each_other_at_once_one_stays_owner(stores: Stores) {
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
    let mut told = scene.events(here).await;
    told.retain(|event| event.action == Action::MakeMember);
    assert_eq!(told.len(), 1, "one of the two was demoted, once");
}

pub async fn of_two_owners_who_leave_at_once_one_stays(stores: Stores) {
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

pub async fn of_many_owners_who_leave_or_step_down_at_once_one_stays_owner(stores: Stores) {
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

pub async fn a_membership_that_is_ended_many_times_at_once_ends_once(stores: Stores) {
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
    let told = scene
        .events_about(Some(here), Action::RemoveMember, subject)
        .await;
    assert_eq!(told.len(), 1);
}

pub async fn no_key_gets_in_once_the_end_of_the_membership_is_answered(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..4 {
        let bob = scene.join(&ada.organization, &format!("bob{round}")).await;
        let mut tasks: Vec<BoxFuture<'static, Option<Vec<ApiKey>>>> = Vec::new();
        for number in 0..32 {
            let (scene, bob) = (scene.clone(), bob.clone());
            tasks.push(Box::pin(async move {
                let new = scene.new_key(&bob, &format!("key {number}"));
                let added = scene.try_add(&bob, &new, AMPLE).await;
                assert!(matches!(added, Ok(_) | Err(AddKeyError::HolderGone)), "{added:?}");
                None
            }));
        }
        let (owner, ada, leaver) = (scene.clone(), ada.clone(), bob.clone());
        tasks.insert(
            16,
            Box::pin(async move {
                owner.end_as(as_user(&ada), &leaver).await.expect("removed");
                Some(keys_of(&owner, &leaver).await)
            }),
        );
        let answers = scene.in_parallel(tasks).await;
        let when_answered: Vec<ApiKey> = answers.into_iter().flatten().flatten().collect();

        assert_eq!(keys_of(&scene, &bob).await, when_answered, "none came later");
    }
}

async fn two_owners(stores: Stores) -> (AdministrationScene, [Member; 2]) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join_as(&ada.organization, "bob", Role::Owner).await;
    (scene, [ada, bob])
}

/// Who acts at this turn, and the other one.
fn turn([ada, bob]: &[Member; 2], number: usize) -> [Member; 2] {
    if number.is_multiple_of(2) {
        [ada.clone(), bob.clone()]
    } else {
        [bob.clone(), ada.clone()]
    }
}

async fn assert_one_owner(scene: &AdministrationScene, [owner, _]: &[Member; 2]) {
    assert_eq!(owners_left(scene, owner.organization.id).await, 1);
}

async fn owners_left(scene: &AdministrationScene, organization: OrganizationId) -> usize {
    let roles = scene.roles(organization).await;
    roles.iter().filter(|(_, role)| *role == Role::Owner).count()
}

async fn keys_of(scene: &AdministrationScene, member: &Member) -> Vec<ApiKey> {
    let filter = KeyFilter::new(StatusFilter::All, None);
    let page = PageRequest {
        size: PageSize::new(PageSize::MAX).expect("a page size"),
        after: None,
    };
    let keys = scene
        .stores
        .keys
        .api_keys
        .list(member.membership.id, filter, page, scene.now());
    keys.await.expect("the store answers").items
}
