//! Cases of [`SessionStore`](crate::sign_in::ports::SessionStore): sessions that start.

use chrono::TimeDelta;
use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::parallel::{abandon, eventually};
use super::super::scene::Scene;
use super::scene::password_hash;
use super::sessions::{find, new_session, sign_in, sign_out, start_session};
use crate::audit::{Action, Actor, Subject};
use crate::sign_in::ports::{NewSession, SignInError};
use crate::sign_in::session::{Session, SignedIn};
use crate::user::User;

pub(super) async fn session_reads_back_as_started(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let bob = scene.join_with_password(&ada.organization, "bob").await;
    for user in [&ada.user, &bob.user] {
        scene.later(TimeDelta::milliseconds(3));
        let new = start_session(&scene, user).await;
        let expected = SignedIn {
            session: new.session,
            user: user.clone(),
        };
        assert_eq!(find(&scene, &new.digest).await, Some(expected));
    }
}

pub(super) async fn session_start_writes_its_event(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let new = new_session(&scene, &ada.user, None);
    let event = sign_in(&scene, &new);
    scene
        .stores
        .sessions
        .start(new.clone(), vec![event.clone()])
        .await
        .expect("started");

    let events = scene
        .events_about(None, Action::SignIn, Subject::Session(new.session.id))
        .await;
    assert_eq!(events, [scene.as_shown(event).await]);
}

pub(super) async fn session_ends_when_another_replaces_it(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let first = start_session(&scene, &ada.user).await;
    let bystander = start_session(&scene, &ada.user).await;
    let second = new_session(&scene, &ada.user, Some(first.digest));
    let event = sign_in(&scene, &second);
    scene
        .stores
        .sessions
        .start(second.clone(), vec![event])
        .await
        .expect("started");

    assert_eq!(find(&scene, &first.digest).await, None);
    for digest in [&bystander.digest, &second.digest] {
        assert!(find(&scene, digest).await.is_some());
    }
}

pub(super) async fn replacing_an_active_session_writes_an_end_event(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let bob = scene.join_with_password(&ada.organization, "bob").await;
    for (idle, recorded) in [
        (Session::IDLE_TIMEOUT - TimeDelta::milliseconds(1), true),
        (Session::IDLE_TIMEOUT, false),
    ] {
        let first = start_session(&scene, &bob.user).await;
        scene.later(idle);
        // She signs in where he was signed in.
        let second = new_session(&scene, &ada.user, Some(first.digest));
        start(&scene, &second).await.expect("started");

        assert_eq!(find(&scene, &first.digest).await, None, "{idle}");
        let subject = Subject::Session(first.session.id);
        let events = scene.events_about(None, Action::SignOut, subject).await;
        let expected = scene.as_shown(sign_out(&scene, &second)).await;
        let subjects_of: Vec<_> = events
            .iter()
            .map(|event| (event.actor, event.at, &event.source))
            .collect();
        let expected = recorded.then_some((expected.actor, expected.at, &expected.source));
        assert_eq!(subjects_of, Vec::from_iter(expected), "{idle}");
    }
}

pub(super) async fn end_event_of_a_replaced_session_names_a_different_user(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let bob = scene.join_with_password(&ada.organization, "bob").await;
    for (user, object) in [(&ada.user, None), (&bob.user, Some(Subject::User(bob.user.id)))] {
        let first = start_session(&scene, user).await;
        let second = new_session(&scene, &ada.user, Some(first.digest));
        start(&scene, &second).await.expect("started");

        let subject = Subject::Session(first.session.id);
        let events = scene.events_about(None, Action::SignOut, subject).await;
        let recorded: Vec<_> = events.iter().map(|event| (event.actor, event.object)).collect();
        assert_eq!(recorded, [(Actor::User(ada.user.id), object)]);
    }
}

pub(super) async fn session_is_not_replaced_when_end_event_cannot_be_written(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let first = start_session(&scene, &ada.user).await;
    let act = scene.act_as(Actor::User(ada.user.id), None);
    let second = NewSession {
        replaces: Some(first.digest),
        act: scene.unwritable_act(act).await,
        ..new_session(&scene, &ada.user, None)
    };
    let before = scene.events(None).await;

    assert!(start(&scene, &second).await.is_err());
    assert_eq!(find(&scene, &second.digest).await, None);
    assert!(find(&scene, &first.digest).await.is_some());
    assert_eq!(scene.events(None).await, before, "nothing is written");
}

pub(super) async fn session_starts_although_the_replaced_one_is_gone(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let never_started = new_session(&scene, &ada.user, None);
    let new = new_session(&scene, &ada.user, Some(never_started.digest));
    let event = sign_in(&scene, &new);
    scene
        .stores
        .sessions
        .start(new.clone(), vec![event])
        .await
        .expect("started");

    assert!(find(&scene, &new.digest).await.is_some());
    let subject = Subject::Session(never_started.session.id);
    assert_eq!(scene.events_about(None, Action::SignOut, subject).await, []);
}

pub(super) async fn session_does_not_start_when_event_cannot_be_written(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let first = start_session(&scene, &ada.user).await;
    let second = new_session(&scene, &ada.user, Some(first.digest));
    let event = scene.unwritable(sign_in(&scene, &second)).await;
    let failed = scene.stores.sessions.start(second.clone(), vec![event]).await;

    assert!(failed.is_err());
    assert_eq!(find(&scene, &second.digest).await, None);
    assert!(
        find(&scene, &first.digest).await.is_some(),
        "what it would replace goes on"
    );
}

pub(super) async fn session_start_completes_after_caller_cancellation(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let first = start_session(&scene, &ada.user).await;
    let second = new_session(&scene, &ada.user, Some(first.digest));
    let event = sign_in(&scene, &second);
    abandon(scene.stores.sessions.start(second.clone(), vec![event])).await;

    eventually("the abandoned session starts", async || {
        find(&scene, &second.digest).await.is_some()
    })
    .await;
    assert_eq!(find(&scene, &first.digest).await, None);
}

pub(super) async fn no_session_starts_with_a_replaced_password(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let bob = scene.join_with_password(&ada.organization, "bob").await;
    let his = start_session(&scene, &bob.user).await;
    // She signs in where he was signed in, while her password is replaced.
    let late = new_session(&scene, &ada.user, Some(his.digest));
    replace_password(&scene, &ada.user, "new").await;
    let before = scene.events(None).await;
    let refused = start(&scene, &late).await;

    assert!(
        matches!(refused, Err(SignInError::WrongCredentials)),
        "{refused:?}"
    );
    assert_eq!(find(&scene, &late.digest).await, None);
    assert!(find(&scene, &his.digest).await.is_some(), "nothing is ended");
    assert_eq!(scene.events(None).await, before, "nothing is written");

    let with_the_new_one = NewSession {
        verified_against: password_hash("new"),
        ..late
    };
    start(&scene, &with_the_new_one).await.expect("started");
    assert!(find(&scene, &with_the_new_one.digest).await.is_some());
}

pub(super) async fn no_session_survives_a_concurrent_password_replacement(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    for round in 0..4 {
        let verified_against = match round {
            0 => password_hash("ada"),
            _ => password_hash(&format!("password {round}")),
        };
        let sessions: Vec<NewSession> = (0..16)
            .map(|_| NewSession {
                verified_against: verified_against.clone(),
                ..new_session(&scene, &ada.user, None)
            })
            .collect();
        let mut tasks: Vec<BoxFuture<'static, Result<(), SignInError>>> = Vec::new();
        for new in sessions.clone() {
            let scene = scene.clone();
            tasks.push(Box::pin(async move { start(&scene, &new).await }));
        }
        let (replacing, user) = (scene.clone(), ada.user.clone());
        let replacement: BoxFuture<'static, _> = Box::pin(async move {
            replace_password(&replacing, &user, &format!("password {}", round + 1)).await;
            Ok(())
        });
        // In the middle of them all.
        tasks.insert(sessions.len() / 2, replacement);
        for outcome in scene.in_parallel(tasks).await {
            assert!(
                matches!(outcome, Ok(()) | Err(SignInError::WrongCredentials)),
                "{outcome:?}"
            );
        }

        for new in &sessions {
            assert_eq!(find(&scene, &new.digest).await, None);
        }
    }
}

pub(super) async fn oldest_sessions_over_the_limit_end_with_events(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let bob = scene.join_with_password(&ada.organization, "bob").await;
    let his = start_session(&scene, &bob.user).await;
    let expired = start_session(&scene, &ada.user).await;
    scene.later(Session::IDLE_TIMEOUT);
    let mut started = Vec::new();
    for _ in 0..Session::MAX_PER_USER {
        scene.later(TimeDelta::milliseconds(1));
        started.push(start_session(&scene, &ada.user).await);
    }
    assert_eq!(
        find(&scene, &expired.digest).await,
        None,
        "one too many, though it expired"
    );
    assert_eq!(sessions_of(&scene, &ada.user).await.len(), Session::MAX_PER_USER);
    assert_eq!(ends(&scene, &expired).await, 0);

    scene.later(TimeDelta::milliseconds(1));
    let newest = start_session(&scene, &ada.user).await;
    let left = sessions_of(&scene, &ada.user).await;
    assert_eq!(left.len(), Session::MAX_PER_USER);
    assert!(left.contains(&newest.session));
    assert!(!left.contains(&started[0].session));
    assert_eq!(ends(&scene, &started[0]).await, 1);
    assert_eq!(ends(&scene, &started[1]).await, 0);
    assert!(find(&scene, &his.digest).await.is_some());
}

pub(super) async fn session_started_by_a_slow_clock_is_not_ended_itself(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    for _ in 0..Session::MAX_PER_USER {
        start_session(&scene, &ada.user).await;
    }
    let mut new = new_session(&scene, &ada.user, None);
    new.session.started_at -= TimeDelta::minutes(1);
    start(&scene, &new).await.expect("started");

    assert!(find(&scene, &new.digest).await.is_some());
    assert_eq!(sessions_of(&scene, &ada.user).await.len(), Session::MAX_PER_USER);
}

pub(super) async fn concurrent_session_starts_respect_the_limit(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    for _ in 0..Session::MAX_PER_USER - 1 {
        start_session(&scene, &ada.user).await;
    }
    let starts = (0..16).map(|_| {
        let (scene, new) = (scene.clone(), new_session(&scene, &ada.user, None));
        let task: BoxFuture<'static, _> = Box::pin(async move { start(&scene, &new).await });
        task
    });
    for started in scene.in_parallel(starts).await {
        started.expect("started");
    }

    assert_eq!(sessions_of(&scene, &ada.user).await.len(), Session::MAX_PER_USER);
}

async fn sessions_of(scene: &Scene<Stores>, user: &User) -> Vec<Session> {
    scene.stores.sessions.list(user.id).await.expect("a list")
}

/// How many events tell that a session was ended from another.
async fn ends(scene: &Scene<Stores>, ended: &NewSession) -> usize {
    let subject = Subject::Session(ended.session.id);
    scene.events_about(None, Action::EndSession, subject).await.len()
}

async fn start(scene: &Scene<Stores>, new: &NewSession) -> Result<(), SignInError> {
    let event = sign_in(scene, new);
    scene.stores.sessions.start(new.clone(), vec![event]).await
}

async fn replace_password(scene: &Scene<Stores>, user: &User, word: &str) {
    let act = scene.act_as(Actor::Administrator, None);
    let event = act.event(Action::ResetPassword, Subject::User(user.id));
    scene
        .stores
        .accounts
        .replace_password(user.id, password_hash(word), event)
        .await
        .expect("replaced");
}
