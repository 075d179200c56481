//! Cases of [`AccountStore`](crate::sign_in::ports::AccountStore).

use chrono::TimeDelta;
use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::parallel::{abandon, eventually};
use super::super::scene::Scene;
use super::scene::password_hash;
use super::sessions::start_session;
use crate::audit::{Action, Actor, AuditEvent, Subject};
use crate::membership::Member;
use crate::sign_in::accounts::Account;
use crate::sign_in::ports::{CreateAccountError, NewAccount, ResetPasswordError};
use crate::user::Username;

pub(super) async fn account_reads_back_as_added(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let new = scene.new_account(&ada.organization, "b.ob_2-x");
    let events = creation(&scene, &new);
    scene
        .stores
        .accounts
        .add(new.clone(), events.clone())
        .await
        .expect("added");

    assert_eq!(find(&scene, "b.ob_2-x").await, Some(new.account.clone()));
    let member = scene
        .stores
        .keys
        .memberships
        .find_live(new.account.user.id, &ada.organization.slug, scene.now())
        .await
        .expect("the store answers")
        .expect("a member from the start");
    assert_eq!(member.membership, new.membership);
    let mut written = scene.events(Some(ada.organization.id)).await;
    written.truncate(events.len());
    written.reverse();
    assert_eq!(written, scene.all_as_shown(events).await);
}

pub(super) async fn unknown_username_has_no_account(stores: Stores) {
    let (scene, _) = Scene::with_first_owner(stores).await;

    assert_eq!(find(&scene, "nobody").await, None);
}

pub(super) async fn username_is_unique(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let other = scene.add_organization("Difference Engines").await;
    let before = find(&scene, "ada").await;
    let twin = scene.new_account(&other, "ada");
    let refused = scene
        .stores
        .accounts
        .add(twin.clone(), creation(&scene, &twin))
        .await;

    assert!(
        matches!(refused, Err(CreateAccountError::UsernameTaken)),
        "{refused:?}"
    );
    assert_eq!(find(&scene, "ada").await, before);
    assert_eq!(scene.events(Some(other.id)).await, []);
    for user in [ada.user.id, twin.account.user.id] {
        let member = scene
            .stores
            .keys
            .memberships
            .find_live(user, &other.slug, scene.now())
            .await;
        assert_eq!(member.expect("the store answers"), None);
    }
}

pub(super) async fn concurrent_accounts_with_one_username_add_one(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let before = scene.events(Some(ada.organization.id)).await.len();
    let attempts = (0..32).map(|_| {
        let scene = scene.clone();
        let new = scene.new_account(&ada.organization, "bob");
        let task: BoxFuture<'static, _> = Box::pin(async move {
            let events = creation(&scene, &new);
            scene.stores.accounts.add(new.clone(), events).await.map(|()| new)
        });
        task
    });
    let (added, refused): (Vec<_>, Vec<_>) = scene
        .in_parallel(attempts)
        .await
        .into_iter()
        .partition(Result::is_ok);

    assert_eq!(added.len(), 1, "a username is given once");
    for error in refused {
        assert!(
            matches!(error, Err(CreateAccountError::UsernameTaken)),
            "{error:?}"
        );
    }
    for new in added.into_iter().flatten() {
        assert_eq!(find(&scene, "bob").await, Some(new.account));
    }
    let after = scene.events(Some(ada.organization.id)).await.len();
    assert_eq!(after - before, 2, "refused accounts leave no event");
}

pub(super) async fn account_is_not_added_when_event_cannot_be_written(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let new = scene.new_account(&ada.organization, "bob");
    let mut events = creation(&scene, &new);
    if let Some(last) = events.pop() {
        events.push(scene.unwritable(last).await);
    }
    let failed = scene.stores.accounts.add(new, events).await;

    assert!(
        matches!(failed, Err(CreateAccountError::Storage(_))),
        "{failed:?}"
    );
    assert_eq!(find(&scene, "bob").await, None);
}

pub(super) async fn account_creation_completes_after_caller_cancellation(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let new = scene.new_account(&ada.organization, "bob");
    let events = creation(&scene, &new);
    abandon(scene.stores.accounts.add(new.clone(), events)).await;

    eventually("the abandoned account is added", async || {
        find(&scene, "bob").await.is_some()
    })
    .await;
    let member = scene
        .stores
        .keys
        .memberships
        .find_live(new.account.user.id, &ada.organization.slug, scene.now())
        .await;
    assert!(member.expect("the store answers").is_some());
}

pub(super) async fn organizations_are_listed_by_name(stores: Stores) {
    let scene = Scene::new(stores);
    assert_eq!(organizations(&scene).await, Vec::<String>::new());
    for name in ["Zebra", "Analytical", "Middle"] {
        scene.add_organization(name).await;
    }

    assert_eq!(organizations(&scene).await, ["Analytical", "Middle", "Zebra"]);
}

pub(super) async fn password_replacement_ends_all_sessions_of_its_user(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let bob = scene.join_with_password(&ada.organization, "bob").await;
    let hers = [
        start_session(&scene, &ada.user).await.digest,
        start_session(&scene, &ada.user).await.digest,
    ];
    let his = start_session(&scene, &bob.user).await.digest;
    let event = reset(&scene, &ada);
    scene
        .stores
        .accounts
        .replace_password(ada.user.id, password_hash("new"), event.clone())
        .await
        .expect("replaced");

    let account = Account {
        user: ada.user.clone(),
        password_hash: password_hash("new"),
    };
    assert_eq!(find(&scene, "ada").await, Some(account));
    for digest in hers {
        assert!(!session_exists(&scene, &digest).await, "her sessions end");
    }
    assert!(session_exists(&scene, &his).await, "his session goes on");
    let untouched = find(&scene, "bob").await.expect("still there");
    assert_eq!(untouched.password_hash, password_hash("bob"));
    let events = scene
        .events_about(None, Action::ResetPassword, Subject::User(ada.user.id))
        .await;
    assert_eq!(events, [scene.as_shown(event).await]);
}

pub(super) async fn password_of_an_unknown_user_is_not_replaced(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let before = scene.events(None).await;
    let event = reset(&scene, &ada);
    let refused = scene
        .stores
        .accounts
        .replace_password(scene.id(), password_hash("new"), event)
        .await;

    assert!(
        matches!(refused, Err(ResetPasswordError::UserUnknown)),
        "{refused:?}"
    );
    assert_eq!(scene.events(None).await, before);
}

pub(super) async fn password_is_not_replaced_when_event_cannot_be_written(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let session = start_session(&scene, &ada.user).await.digest;
    let before = find(&scene, "ada").await;
    let event = scene.unwritable(reset(&scene, &ada)).await;
    let failed = scene
        .stores
        .accounts
        .replace_password(ada.user.id, password_hash("new"), event)
        .await;

    assert!(
        matches!(failed, Err(ResetPasswordError::Storage(_))),
        "{failed:?}"
    );
    assert_eq!(find(&scene, "ada").await, before);
    assert!(session_exists(&scene, &session).await);
}

pub(super) async fn password_replacement_completes_after_caller_cancellation(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let session = start_session(&scene, &ada.user).await.digest;
    let event = reset(&scene, &ada);
    let accounts = &scene.stores.accounts;
    abandon(accounts.replace_password(ada.user.id, password_hash("new"), event)).await;

    eventually("the abandoned password is replaced", async || {
        let account = find(&scene, "ada").await.expect("still there");
        account.password_hash == password_hash("new")
    })
    .await;
    assert!(!session_exists(&scene, &session).await);
    let events = scene
        .events_about(None, Action::ResetPassword, Subject::User(ada.user.id))
        .await;
    assert_eq!(events.len(), 1);
}

pub(super) async fn keys_remain_valid_after_password_replacement(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let new = scene.new_key(&ada, "key");
    scene.store(&ada, &new).await;
    scene.later(TimeDelta::seconds(1));
    let event = reset(&scene, &ada);
    scene
        .stores
        .accounts
        .replace_password(ada.user.id, password_hash("new"), event)
        .await
        .expect("replaced");

    let credential = scene.stores.keys.credentials.find(&new.digest).await;
    assert!(
        credential
            .expect("the store answers")
            .expect("still known")
            .is_accepted(scene.now())
    );
}

fn creation(scene: &Scene<Stores>, new: &NewAccount) -> Vec<AuditEvent> {
    let act = scene.act_as(Actor::Administrator, Some(new.membership.organization_id));
    vec![
        act.event(Action::CreateUser, Subject::User(new.account.user.id)),
        act.event(Action::CreateMembership, Subject::Membership(new.membership.id)),
    ]
}

fn reset(scene: &Scene<Stores>, member: &Member) -> AuditEvent {
    scene
        .act_as(Actor::Administrator, None)
        .event(Action::ResetPassword, Subject::User(member.user.id))
}

async fn find(scene: &Scene<Stores>, username: &str) -> Option<Account> {
    let username = Username::parse(username).expect("a username");
    scene
        .stores
        .accounts
        .find(&username)
        .await
        .expect("the store answers")
}

async fn organizations(scene: &Scene<Stores>) -> Vec<String> {
    let organizations = scene.stores.accounts.organizations().await;
    organizations
        .expect("the store answers")
        .into_iter()
        .map(|organization| organization.name.as_str().to_owned())
        .collect()
}

pub(super) async fn session_exists(
    scene: &Scene<Stores>,
    digest: &crate::sign_in::session::SessionDigest,
) -> bool {
    scene
        .stores
        .sessions
        .find(digest)
        .await
        .expect("the store answers")
        .is_some()
}
