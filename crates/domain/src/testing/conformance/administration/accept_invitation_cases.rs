//! How [`OpenInvitations`](crate::sign_in::ports::OpenInvitations) lets people join.

use chrono::TimeDelta;
use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::parallel::{abandon, eventually};
use super::super::scene::Scene;
use super::scene::{CROWD, as_user, assert_closed_to_newcomer, assert_closed_to_user};
use crate::administration::ports::{NewInvitation, RevokeInvitationError};
use crate::audit::{Action, Subject};
use crate::invitation::Invitation;
use crate::membership::{Member, Role};
use crate::organization::Organization;
use crate::page::PageSize;
use crate::sign_in::accounts::Account;
use crate::sign_in::ports::{AcceptAsNewcomerError, AcceptAsUserError};
use crate::user::Username;

pub(super) async fn newcomer_joins_with_account_and_membership(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for (username, role) in [("bob", Role::Member), ("cleo", Role::Owner)] {
        let new = scene.invite(&ada, role).await;
        scene.later(TimeDelta::milliseconds(11));
        let account = scene.account(username);
        let membership = scene.make.membership(&ada.organization, &account.user, role);
        let events = scene.joining(&new, &membership);
        let (id, open) = (new.invitation.id, &scene.stores.open_invitations);
        open.accept_as_newcomer(id, account.clone(), membership.clone(), events.clone())
            .await
            .expect("joined");

        assert_eq!(stored_account(&scene, username).await, Some(account.clone()));
        let member = Member {
            user: account.user,
            organization: ada.organization.clone(),
            membership,
        };
        assert_eq!(live(&scene, &member).await, Some(member));
        assert_eq!(scene.open_invitation(&new).await, None);
        let mut written = scene.events(Some(ada.organization.id)).await;
        written.truncate(events.len());
        written.reverse();
        assert_eq!(written, scene.all_as_shown(events).await);
    }
}

pub(super) async fn user_joins_with_existing_account(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let stranger = scene.join_named(&other, "stranger", "A Stranger").await;
    let account = stored_account(&scene, "stranger").await;
    let key = scene.new_key(&stranger, "key");
    scene.store(&stranger, &key).await;
    let new = scene.invite(&ada, Role::Member).await;
    let joined = scene.accept_as_user(&new, &stranger, &ada.organization).await;
    let here = joined.expect("joined");

    assert_eq!(live(&scene, &here).await.as_ref(), Some(&here));
    assert_eq!(live(&scene, &stranger).await.as_ref(), Some(&stranger));
    assert_eq!(stored_account(&scene, "stranger").await, account);
    let credential = scene.stores.keys.credentials.find(&key.digest).await;
    let credential = credential.expect("the store answers").expect("still there");
    assert_eq!(credential.consumer.id, stranger.membership.id);
    assert!(credential.is_accepted(scene.now()));
    let listed = scene.listed(ada.organization.id, Some("a stranger"), 5).await;
    assert_eq!(listed.len(), 1);
}

pub(super) async fn invitation_is_accepted_once(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = scene.invite(&ada, Role::Member).await;
    scene.accept_as_newcomer(&new, "bob").await.expect("joined");
    let before = scene.events(Some(ada.organization.id)).await;
    let refused = scene.accept_as_newcomer(&new, "cleo").await;

    assert_closed_to_newcomer(&refused);
    assert_eq!(stored_account(&scene, "cleo").await, None);
    assert_eq!(scene.events(Some(ada.organization.id)).await, before);
    assert_eq!(scene.roles(ada.organization.id).await.len(), 2);
}

pub(super) async fn invitation_is_accepted_until_it_expires(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let [in_time, too_late] = [
        scene.invite(&ada, Role::Member).await,
        scene.invite(&ada, Role::Member).await,
    ];
    scene.later(Invitation::LIFETIME - TimeDelta::milliseconds(1));
    scene
        .accept_as_newcomer(&in_time, "bob")
        .await
        .expect("a millisecond is left");
    scene.later(TimeDelta::milliseconds(1));

    assert_closed_to_newcomer(&scene.accept_as_newcomer(&too_late, "cleo").await);
    assert_eq!(stored_account(&scene, "cleo").await, None);
}

pub(super) async fn revoked_or_unknown_invitation_is_not_accepted(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = scene.invite(&ada, Role::Member).await;
    revoke(&scene, &ada, &new).await.expect("revoked");
    assert_closed_to_newcomer(&scene.accept_as_newcomer(&new, "bob").await);

    let never = scene.new_invitation(&ada.organization, as_user(&ada), Role::Member);
    assert_closed_to_newcomer(&scene.accept_as_newcomer(&never, "bob").await);
    assert_eq!(stored_account(&scene, "bob").await, None);
    assert_eq!(scene.roles(ada.organization.id).await.len(), 1);
}

pub(super) async fn invitation_grants_no_other_organization_or_role(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let new = scene.invite(&ada, Role::Member).await;
    for (organization, role) in [(&ada.organization, Role::Owner), (&other, Role::Member)] {
        let account = scene.account("bob");
        let membership = scene.make.membership(organization, &account.user, role);
        let events = scene.joining(&new, &membership);
        let (id, open) = (new.invitation.id, &scene.stores.open_invitations);
        let refused = open.accept_as_newcomer(id, account, membership, events).await;
        assert_closed_to_newcomer(&refused);
    }

    assert_eq!(stored_account(&scene, "bob").await, None);
    assert!(scene.open_invitation(&new).await.is_some());
}

pub(super) async fn newcomer_with_taken_username_is_refused(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let before = stored_account(&scene, "ada").await;
    let new = scene.invite(&ada, Role::Member).await;
    let refused = scene.accept_as_newcomer(&new, "ada").await;

    assert!(
        matches!(refused, Err(AcceptAsNewcomerError::UsernameTaken)),
        "{refused:?}"
    );
    assert_eq!(stored_account(&scene, "ada").await, before);
    scene
        .accept_as_newcomer(&new, "another.ada")
        .await
        .expect("the invitation is still open");
}

pub(super) async fn member_cannot_join_again_and_invitation_stays_open(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = scene.invite(&ada, Role::Member).await;
    let before = scene.events(Some(ada.organization.id)).await;
    let refused = scene.accept_as_user(&new, &ada, &ada.organization).await;

    assert!(
        matches!(refused, Err(AcceptAsUserError::AlreadyMember)),
        "{refused:?}"
    );
    assert!(scene.open_invitation(&new).await.is_some());
    assert_eq!(live(&scene, &ada).await.as_ref(), Some(&ada));
    assert_eq!(scene.events(Some(ada.organization.id)).await, before);
}

pub(super) async fn returning_member_has_no_former_keys_or_projects(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let bob = scene.join_as(&ada.organization, "bob", Role::Owner).await;
    let old = scene.new_key(&bob, "old");
    scene.store(&bob, &old).await;
    let project = scene.add_project(&ada.organization, "Notes").await;
    scene.assign(&project, &bob).await.expect("added");
    scene.end_as(as_user(&ada), &bob).await.expect("removed");
    scene.later(TimeDelta::milliseconds(1));
    let new = scene.invite(&ada, Role::Member).await;
    let again = scene.accept_as_user(&new, &bob, &ada.organization).await;
    let again = again.expect("joined");

    assert_ne!(again.membership.id, bob.membership.id);
    let found = scene
        .stores
        .members
        .find(ada.organization.id, again.membership.id, scene.now())
        .await;
    let found = found.expect("the store answers").expect("a member again");
    assert_eq!(
        (found.valid_keys, found.projects, found.membership.role),
        (0, 0, Role::Member)
    );
    assert_eq!(scene.reached(&again, PageSize::MAX).await, []);
    let credential = scene.stores.keys.credentials.find(&old.digest).await;
    let credential = credential.expect("the store answers").expect("still known");
    assert!(!credential.is_accepted(scene.now()), "old keys stay dead");
}

pub(super) async fn closed_invitation_is_reported_before_other_errors(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = scene.invite(&ada, Role::Member).await;
    revoke(&scene, &ada, &new).await.expect("revoked");

    assert_closed_to_newcomer(&scene.accept_as_newcomer(&new, "ada").await);
    assert_closed_to_user(&scene.accept_as_user(&new, &ada, &ada.organization).await);
}

pub(super) async fn joining_fails_when_its_events_cannot_be_written(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = scene.invite(&ada, Role::Member).await;
    let account = scene.account("bob");
    let membership = scene
        .make
        .membership(&ada.organization, &account.user, Role::Member);
    let mut events = scene.joining(&new, &membership);
    if let Some(last) = events.pop() {
        events.push(scene.unwritable(last).await);
    }
    let (id, open) = (new.invitation.id, &scene.stores.open_invitations);
    let failed = open.accept_as_newcomer(id, account, membership, events).await;

    assert!(
        matches!(failed, Err(AcceptAsNewcomerError::Storage(_))),
        "{failed:?}"
    );
    assert_eq!(stored_account(&scene, "bob").await, None);
    assert_eq!(scene.roles(ada.organization.id).await.len(), 1);
    assert!(scene.open_invitation(&new).await.is_some());
}

pub(super) async fn joining_completes_after_caller_cancellation(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = scene.invite(&ada, Role::Member).await;
    abandon(scene.accept_as_newcomer(&new, "bob")).await;

    eventually("the abandoned newcomer joins", async || {
        scene.roles(ada.organization.id).await.len() == 2
    })
    .await;
    assert!(stored_account(&scene, "bob").await.is_some());
    assert_eq!(scene.open_invitation(&new).await, None);
    assert_eq!(joinings(&scene, &ada.organization).await, 1);
}

pub(super) async fn concurrent_acceptances_of_one_invitation_admit_one_user(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let new = scene.invite(&ada, Role::Member).await;
    let attempts = (0..CROWD).map(|number| {
        let (scene, new) = (scene.clone(), new.clone());
        let task: BoxFuture<'static, _> =
            Box::pin(async move { scene.accept_as_newcomer(&new, &format!("bob{number}")).await });
        task
    });
    let (joined, refused): (Vec<_>, Vec<_>) = scene
        .in_parallel(attempts)
        .await
        .into_iter()
        .partition(Result::is_ok);

    assert_eq!(joined.len(), 1);
    refused.iter().for_each(assert_closed_to_newcomer);
    assert_eq!(scene.roles(ada.organization.id).await.len(), 2);
    assert_eq!(joinings(&scene, &ada.organization).await, 1);
}

pub(super) async fn concurrent_acceptances_by_one_user_create_one_membership(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let stranger = scene.join(&other, "stranger").await;
    let mut invitations = Vec::new();
    for _ in 0..16 {
        invitations.push(scene.invite(&ada, Role::Member).await);
    }
    let attempts = invitations.clone().into_iter().map(|new| {
        let (scene, stranger, here) = (scene.clone(), stranger.clone(), ada.organization.clone());
        let task: BoxFuture<'static, _> =
            Box::pin(async move { scene.accept_as_user(&new, &stranger, &here).await });
        task
    });
    let (joined, refused): (Vec<_>, Vec<_>) = scene
        .in_parallel(attempts)
        .await
        .into_iter()
        .partition(Result::is_ok);

    assert_eq!(joined.len(), 1);
    for error in refused {
        assert!(
            matches!(error, Err(AcceptAsUserError::AlreadyMember)),
            "{error:?}"
        );
    }
    let mut open = 0;
    for new in &invitations {
        open += usize::from(scene.open_invitation(new).await.is_some());
    }
    assert_eq!(open, invitations.len() - 1, "one is used up");
}

pub(super) async fn concurrent_newcomers_with_one_username_admit_one(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let stranger = scene.join_as(&other, "stranger", Role::Owner).await;
    let mut invitations = Vec::new();
    for number in 0..16 {
        let inviter = if number % 2 == 0 { &ada } else { &stranger };
        invitations.push(scene.invite(inviter, Role::Member).await);
    }
    let attempts = invitations.into_iter().map(|new| {
        let scene = scene.clone();
        let task: BoxFuture<'static, _> =
            Box::pin(async move { scene.accept_as_newcomer(&new, "bob").await });
        task
    });
    let (joined, refused): (Vec<_>, Vec<_>) = scene
        .in_parallel(attempts)
        .await
        .into_iter()
        .partition(Result::is_ok);

    assert_eq!(joined.len(), 1);
    for error in refused {
        assert!(
            matches!(error, Err(AcceptAsNewcomerError::UsernameTaken)),
            "{error:?}"
        );
    }
    let here = scene.roles(ada.organization.id).await.len();
    let there = scene.roles(other.id).await.len();
    assert_eq!(here + there, 3);
}

pub(super) async fn concurrently_revoked_invitation_admits_no_user(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    for round in 0..8 {
        let new = scene.invite(&ada, Role::Member).await;
        let members = scene.roles(ada.organization.id).await.len();
        let mut tasks: Vec<BoxFuture<'static, bool>> = Vec::new();
        for number in 0..8 {
            let (scene, new) = (scene.clone(), new.clone());
            tasks.push(Box::pin(async move {
                let username = format!("bob{round}-{number}");
                scene.accept_as_newcomer(&new, &username).await.is_ok()
            }));
        }
        let (owner, ada_too, revoked) = (scene.clone(), ada.clone(), new.clone());
        tasks.insert(
            4,
            Box::pin(async move {
                match revoke(&owner, &ada_too, &revoked).await {
                    Ok(()) => true,
                    Err(RevokeInvitationError::Accepted) => false,
                    Err(other) => panic!("{other:?}"),
                }
            }),
        );
        let succeeded = scene.in_parallel(tasks).await;

        assert_eq!(
            succeeded.into_iter().filter(|succeeded| *succeeded).count(),
            1,
            "it was either accepted or revoked"
        );
        let joined = scene.roles(ada.organization.id).await.len() - members;
        let subject = Subject::Invitation(new.invitation.id);
        let here = Some(ada.organization.id);
        let revoked = scene.events_about(here, Action::RevokeInvitation, subject).await;
        assert_eq!(joined + revoked.len(), 1);
    }
}

async fn revoke(
    scene: &Scene<Stores>,
    owner: &Member,
    new: &NewInvitation,
) -> Result<(), RevokeInvitationError> {
    let id = new.invitation.id;
    let act = scene.act(owner);
    let invitations = &scene.stores.invitations;
    invitations.revoke(owner.organization.id, id, act).await
}

/// How many events tell that an invitation of the organization was accepted.
async fn joinings(scene: &Scene<Stores>, organization: &Organization) -> usize {
    let mut events = scene.events(Some(organization.id)).await;
    events.retain(|event| event.action == Action::AcceptInvitation);
    events.len()
}

async fn stored_account(scene: &Scene<Stores>, username: &str) -> Option<Account> {
    let username = Username::parse(username).expect("a username");
    let found = scene.stores.accounts.find(&username).await;
    found.expect("the store answers")
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
