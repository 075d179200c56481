//! Cases of [`AccountStore::change_password`](crate::sign_in::ports::AccountStore::change_password).

use super::super::Stores;
use super::super::parallel::{abandon, eventually};
use super::super::scene::Scene;
use super::account_cases::session_exists;
use super::scene::password_hash;
use super::sessions::{kept, start_session};
use crate::audit::{Action, Actor, AuditEvent, Subject};
use crate::membership::Member;
use crate::sign_in::password::PasswordHash;
use crate::sign_in::ports::{ChangeOwnPasswordError, NewSession, PasswordChange};

pub(super) async fn password_change_ends_the_users_other_sessions(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let bob = scene.join_with_password(&ada.organization, "bob").await;
    let here = start_session(&scene, &ada.user).await;
    let elsewhere = start_session(&scene, &ada.user).await;
    let his = start_session(&scene, &bob.user).await;
    let event = change_event(&scene, &ada);
    let changed = change_to(&scene, "new", "ada", &here);
    let new_token = changed.keep.digest;
    change(&scene, &ada, changed, event.clone())
        .await
        .expect("changed");

    assert_eq!(hash_of(&scene, &ada).await, password_hash("new"));
    let kept = scene.stores.sessions.find(&new_token).await.expect("an answer");
    assert_eq!(
        kept.map(|kept| kept.session),
        Some(here.session),
        "this session goes on"
    );
    assert!(!session_exists(&scene, &here.digest).await, "with another token");
    assert!(!session_exists(&scene, &elsewhere.digest).await, "the others end");
    assert!(session_exists(&scene, &his.digest).await, "his session goes on");
    assert_eq!(hash_of(&scene, &bob).await, password_hash("bob"));
    let events = scene
        .events_about(None, Action::ChangePassword, Subject::User(ada.user.id))
        .await;
    assert_eq!(events, [scene.as_shown(event).await]);
}

pub(super) async fn concurrently_replaced_password_is_not_changed(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let here = start_session(&scene, &ada.user).await;
    let before = scene.events(None).await;
    let event = change_event(&scene, &ada);
    let refused = change(
        &scene,
        &ada,
        change_to(&scene, "new", "the one before", &here),
        event,
    )
    .await;

    assert!(
        matches!(refused, Err(ChangeOwnPasswordError::WrongPassword)),
        "{refused:?}"
    );
    assert_eq!(hash_of(&scene, &ada).await, password_hash("ada"));
    assert!(session_exists(&scene, &here.digest).await);
    assert_eq!(scene.events(None).await, before);
}

pub(super) async fn password_change_fails_when_event_cannot_be_written(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let here = start_session(&scene, &ada.user).await;
    let elsewhere = start_session(&scene, &ada.user).await;
    let event = scene.unwritable(change_event(&scene, &ada)).await;
    let failed = change(&scene, &ada, change_to(&scene, "new", "ada", &here), event).await;

    assert!(
        matches!(failed, Err(ChangeOwnPasswordError::Storage(_))),
        "{failed:?}"
    );
    assert_eq!(hash_of(&scene, &ada).await, password_hash("ada"));
    assert!(session_exists(&scene, &elsewhere.digest).await);
}

pub(super) async fn password_change_completes_after_caller_cancellation(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let here = start_session(&scene, &ada.user).await;
    let elsewhere = start_session(&scene, &ada.user).await;
    let event = change_event(&scene, &ada);
    let accounts = &scene.stores.accounts;
    abandon(accounts.change_password(ada.user.id, change_to(&scene, "new", "ada", &here), event)).await;

    eventually("the abandoned password change happens", async || {
        hash_of(&scene, &ada).await == password_hash("new")
    })
    .await;
    assert!(!session_exists(&scene, &elsewhere.digest).await);
}

async fn change(
    scene: &Scene<Stores>,
    member: &Member,
    change: PasswordChange,
    event: AuditEvent,
) -> Result<(), ChangeOwnPasswordError> {
    scene
        .stores
        .accounts
        .change_password(member.user.id, change, event)
        .await
}

fn change_to(scene: &Scene<Stores>, new: &str, current: &str, keep: &NewSession) -> PasswordChange {
    PasswordChange {
        password_hash: password_hash(new),
        verified_against: password_hash(current),
        keep: kept(scene, keep),
    }
}

fn change_event(scene: &Scene<Stores>, member: &Member) -> AuditEvent {
    scene
        .act_as(Actor::User(member.user.id), None)
        .event(Action::ChangePassword, Subject::User(member.user.id))
}

async fn hash_of(scene: &Scene<Stores>, member: &Member) -> PasswordHash {
    scene
        .stores
        .accounts
        .find(&member.user.username)
        .await
        .expect("the store answers")
        .expect("still there")
        .password_hash
}
