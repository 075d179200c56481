//! What [`SessionStore`](crate::sign_in::ports::SessionStore) promises.

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::parallel::{abandon, eventually};
use super::scene::{SignInScene, password_hash};
use crate::audit::{Action, Actor, AuditEvent, Subject};
use crate::sign_in::UserAgent;
use crate::sign_in::ports::{NewSession, StartSessionError};
use crate::sign_in::session::{Session, SessionDigest, SessionToken, SignedIn};
use crate::user::User;

pub async fn a_session_reads_back_as_it_was_started(stores: Stores) {
    let (scene, ada) = SignInScene::with_first_owner(stores).await;
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

pub async fn an_unknown_session_is_not_found(stores: Stores) {
    let (scene, ada) = SignInScene::with_first_owner(stores).await;
    start_session(&scene, &ada.user).await;
    let unknown = new_session(&scene, &ada.user, None);

    assert_eq!(find(&scene, &unknown.digest).await, None);
}

pub async fn starting_a_session_writes_its_event(stores: Stores) {
    let (scene, ada) = SignInScene::with_first_owner(stores).await;
    let new = new_session(&scene, &ada.user, None);
    let event = sign_in(&scene, &new);
    scene
        .stores
        .sessions
        .start(new.clone(), event.clone())
        .await
        .expect("started");

    let events = scene
        .events_about(None, Action::SignIn, Subject::Session(new.session.id))
        .await;
    assert_eq!(events, [event]);
}

pub async fn a_session_ends_when_another_replaces_it(stores: Stores) {
    let (scene, ada) = SignInScene::with_first_owner(stores).await;
    let first = start_session(&scene, &ada.user).await;
    let bystander = start_session(&scene, &ada.user).await;
    let second = new_session(&scene, &ada.user, Some(first.digest));
    let event = sign_in(&scene, &second);
    scene
        .stores
        .sessions
        .start(second.clone(), event)
        .await
        .expect("started");

    assert_eq!(find(&scene, &first.digest).await, None);
    for digest in [&bystander.digest, &second.digest] {
        assert!(find(&scene, digest).await.is_some());
    }
}

pub async fn a_session_starts_even_if_the_one_it_replaces_is_gone(stores: Stores) {
    let (scene, ada) = SignInScene::with_first_owner(stores).await;
    let never_started = new_session(&scene, &ada.user, None);
    let new = new_session(&scene, &ada.user, Some(never_started.digest));
    let event = sign_in(&scene, &new);
    scene
        .stores
        .sessions
        .start(new.clone(), event)
        .await
        .expect("started");

    assert!(find(&scene, &new.digest).await.is_some());
}

pub async fn a_session_whose_event_cannot_be_written_does_not_start(stores: Stores) {
    let (scene, ada) = SignInScene::with_first_owner(stores).await;
    let first = start_session(&scene, &ada.user).await;
    let second = new_session(&scene, &ada.user, Some(first.digest));
    let event = scene.unwritable(sign_in(&scene, &second)).await;
    let failed = scene.stores.sessions.start(second.clone(), event).await;

    assert!(failed.is_err());
    assert_eq!(find(&scene, &second.digest).await, None);
    assert!(
        find(&scene, &first.digest).await.is_some(),
        "what it would replace goes on"
    );
}

pub async fn a_session_starts_in_full_even_if_the_caller_stops_waiting(stores: Stores) {
    let (scene, ada) = SignInScene::with_first_owner(stores).await;
    let first = start_session(&scene, &ada.user).await;
    let second = new_session(&scene, &ada.user, Some(first.digest));
    let event = sign_in(&scene, &second);
    abandon(scene.stores.sessions.start(second.clone(), event)).await;

    eventually("the abandoned session starts", async || {
        find(&scene, &second.digest).await.is_some()
    })
    .await;
    assert_eq!(find(&scene, &first.digest).await, None);
}

pub async fn no_session_starts_with_a_password_that_was_replaced(stores: Stores) {
    let (scene, ada) = SignInScene::with_first_owner(stores).await;
    let bob = scene.join_with_password(&ada.organization, "bob").await;
    let his = start_session(&scene, &bob.user).await;
    // She signs in where he was signed in, while her password is replaced.
    let late = new_session(&scene, &ada.user, Some(his.digest));
    replace_password(&scene, &ada.user, "new").await;
    let before = scene.events(None).await;
    let refused = start(&scene, &late).await;

    assert!(
        matches!(refused, Err(StartSessionError::PasswordReplaced)),
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

pub async fn no_session_outlives_a_password_that_is_replaced_meanwhile(stores: Stores) {
    let (scene, ada) = SignInScene::with_first_owner(stores).await;
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
        let mut tasks: Vec<BoxFuture<'static, Result<(), StartSessionError>>> = Vec::new();
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
                matches!(outcome, Ok(()) | Err(StartSessionError::PasswordReplaced)),
                "{outcome:?}"
            );
        }

        for new in &sessions {
            assert_eq!(find(&scene, &new.digest).await, None);
        }
    }
}

pub async fn the_sessions_of_a_user_are_listed_latest_first(stores: Stores) {
    let (scene, ada) = SignInScene::with_first_owner(stores).await;
    let bob = scene.join_with_password(&ada.organization, "bob").await;
    let first = start_session(&scene, &ada.user).await.session;
    start_session(&scene, &bob.user).await;
    scene.later(TimeDelta::days(30));
    let second = start_session(&scene, &ada.user).await;
    let third = start_session(&scene, &ada.user).await.session;
    let event = sign_out(&scene, &second);
    scene
        .stores
        .sessions
        .end(second.session.id, event)
        .await
        .expect("ended");

    let listed = scene.stores.sessions.list(ada.user.id).await.expect("a list");
    assert_eq!(listed, [third, first]);
}

pub async fn a_session_is_seen_forward_only(stores: Stores) {
    let (scene, ada) = SignInScene::with_first_owner(stores).await;
    let new = start_session(&scene, &ada.user).await;
    let bystander = start_session(&scene, &ada.user).await;
    let start = scene.now();
    let later = start + TimeDelta::minutes(5);
    for (at, expected) in [
        (later, later),
        (start, later),
        (later - TimeDelta::milliseconds(1), later),
        (
            later + TimeDelta::milliseconds(1),
            later + TimeDelta::milliseconds(1),
        ),
    ] {
        scene
            .stores
            .sessions
            .seen(new.session.id, at)
            .await
            .expect("noted");
        assert_eq!(last_seen(&scene, &new.digest).await, expected);
    }

    let found = find(&scene, &new.digest).await.expect("still there");
    assert_eq!(found.session.started_at, start);
    assert_eq!(last_seen(&scene, &bystander.digest).await, start);
}

pub async fn an_expired_session_is_still_found(stores: Stores) {
    let (scene, ada) = SignInScene::with_first_owner(stores).await;
    let new = start_session(&scene, &ada.user).await;
    scene.later(TimeDelta::days(400));

    assert!(find(&scene, &new.digest).await.is_some());
}

pub async fn an_ended_session_is_gone(stores: Stores) {
    let (scene, ada) = SignInScene::with_first_owner(stores).await;
    let new = start_session(&scene, &ada.user).await;
    let bystander = start_session(&scene, &ada.user).await;
    let event = sign_out(&scene, &new);
    scene
        .stores
        .sessions
        .end(new.session.id, event.clone())
        .await
        .expect("ended");

    assert_eq!(find(&scene, &new.digest).await, None);
    assert!(find(&scene, &bystander.digest).await.is_some());
    assert_eq!(endings(&scene, &new).await, [event]);
    scene
        .stores
        .sessions
        .seen(new.session.id, scene.now())
        .await
        .expect("noted");
    assert_eq!(find(&scene, &new.digest).await, None, "seeing it revives nothing");
}

pub async fn a_session_ends_once(stores: Stores) {
    let (scene, ada) = SignInScene::with_first_owner(stores).await;
    let ended = start_session(&scene, &ada.user).await;
    for _ in 0..2 {
        let event = sign_out(&scene, &ended);
        scene
            .stores
            .sessions
            .end(ended.session.id, event)
            .await
            .expect("ended");
    }
    assert_eq!(endings(&scene, &ended).await.len(), 1);

    let replaced = start_session(&scene, &ada.user).await;
    let second = new_session(&scene, &ada.user, Some(replaced.digest));
    let event = sign_in(&scene, &second);
    scene.stores.sessions.start(second, event).await.expect("started");
    let event = sign_out(&scene, &replaced);
    scene
        .stores
        .sessions
        .end(replaced.session.id, event)
        .await
        .expect("ended");
    assert_eq!(endings(&scene, &replaced).await, []);
}

pub async fn all_other_sessions_of_a_user_end_at_once_each_with_its_event(stores: Stores) {
    let (scene, ada) = SignInScene::with_first_owner(stores).await;
    let expired = start_session(&scene, &ada.user).await;
    scene.later(Session::IDLE);
    let bob = scene.join_with_password(&ada.organization, "bob").await;
    let his = start_session(&scene, &bob.user).await;
    let keep = start_session(&scene, &ada.user).await;
    let others = [
        start_session(&scene, &ada.user).await,
        start_session(&scene, &ada.user).await,
    ];
    let act = scene.act_as(Actor::User(ada.user.id), None);
    let ended = scene
        .stores
        .sessions
        .end_others(ada.user.id, keep.session.id, act);
    assert_eq!(ended.await.expect("ended"), 2);

    for new in [&expired, &others[0], &others[1]] {
        assert_eq!(find(&scene, &new.digest).await, None);
    }
    for new in [&keep, &his] {
        assert!(find(&scene, &new.digest).await.is_some());
    }
    let told = ended_by_others(&scene).await;
    assert_eq!(
        told,
        [others[1].session.id, others[0].session.id].map(Subject::Session)
    );
    let act = scene.act_as(Actor::User(ada.user.id), None);
    let again = scene
        .stores
        .sessions
        .end_others(ada.user.id, keep.session.id, act);
    assert_eq!(again.await.expect("nothing to do"), 0);
    assert_eq!(ended_by_others(&scene).await, told);
}

pub async fn other_sessions_whose_end_cannot_be_written_go_on(stores: Stores) {
    let (scene, ada) = SignInScene::with_first_owner(stores).await;
    let keep = start_session(&scene, &ada.user).await;
    let other = start_session(&scene, &ada.user).await;
    let act = scene.act_as(Actor::User(ada.user.id), None);
    let act = scene.unwritable_act(act).await;
    let failed = scene
        .stores
        .sessions
        .end_others(ada.user.id, keep.session.id, act);
    failed.await.expect_err("not written");

    assert!(find(&scene, &other.digest).await.is_some());
}

pub async fn of_sessions_that_end_each_other_at_once_each_ends_at_most_once(stores: Stores) {
    let (scene, ada) = SignInScene::with_first_owner(stores).await;
    let mut all = Vec::new();
    for _ in 0..16 {
        all.push(start_session(&scene, &ada.user).await);
    }
    let attempts = all.clone().into_iter().map(|keep| {
        let (scene, user) = (scene.clone(), ada.user.id);
        let task: BoxFuture<'static, _> = Box::pin(async move {
            let act = scene.act_as(Actor::User(user), None);
            let sessions = &scene.stores.sessions;
            sessions.end_others(user, keep.session.id, act).await
        });
        task
    });
    let mut ended = 0;
    for answer in scene.in_parallel(attempts).await {
        ended += answer.expect("ended");
    }

    let left = scene.stores.sessions.list(ada.user.id).await.expect("a list");
    assert!(left.len() <= 1, "{left:?}");
    assert_eq!(ended + left.len(), all.len());
    assert_eq!(ended_by_others(&scene).await.len(), ended);
}

/// The sessions that were ended from another one, the last first.
async fn ended_by_others(scene: &SignInScene) -> Vec<Subject> {
    let events = scene.events(None).await.into_iter();
    events
        .filter(|event| event.action == Action::EndSession)
        .map(|event| event.subject)
        .collect()
}

pub async fn many_concurrent_ends_of_one_session_write_one_event(stores: Stores) {
    let (scene, ada) = SignInScene::with_first_owner(stores).await;
    let new = start_session(&scene, &ada.user).await;
    let attempts = (0..32).map(|_| {
        let (scene, new) = (scene.clone(), new.clone());
        let task: BoxFuture<'static, _> = Box::pin(async move {
            let event = sign_out(&scene, &new);
            scene.stores.sessions.end(new.session.id, event).await
        });
        task
    });
    for ended in scene.in_parallel(attempts).await {
        ended.expect("ended");
    }

    assert_eq!(endings(&scene, &new).await.len(), 1);
}

pub async fn a_session_ends_in_full_even_if_the_caller_stops_waiting(stores: Stores) {
    let (scene, ada) = SignInScene::with_first_owner(stores).await;
    let new = start_session(&scene, &ada.user).await;
    let event = sign_out(&scene, &new);
    abandon(scene.stores.sessions.end(new.session.id, event)).await;

    eventually("the abandoned session ends", async || {
        find(&scene, &new.digest).await.is_none()
    })
    .await;
    assert_eq!(endings(&scene, &new).await.len(), 1);
}

pub async fn of_many_concurrent_sightings_the_last_moment_stays(stores: Stores) {
    let (scene, ada) = SignInScene::with_first_owner(stores).await;
    let new = start_session(&scene, &ada.user).await;
    let start = scene.now();
    let sightings = (0..32_i64).map(|number| {
        let (scene, session) = (scene.clone(), new.session.id);
        // The latest comes somewhere in the middle.
        let at = start + TimeDelta::seconds(number * 13 % 32);
        let task: BoxFuture<'static, _> =
            Box::pin(async move { scene.stores.sessions.seen(session, at).await });
        task
    });
    for noted in scene.in_parallel(sightings).await {
        noted.expect("noted");
    }

    assert_eq!(
        last_seen(&scene, &new.digest).await,
        start + TimeDelta::seconds(31)
    );
}

pub async fn a_session_whose_end_cannot_be_written_goes_on(stores: Stores) {
    let (scene, ada) = SignInScene::with_first_owner(stores).await;
    let new = start_session(&scene, &ada.user).await;
    let event = scene.unwritable(sign_out(&scene, &new)).await;
    let failed = scene.stores.sessions.end(new.session.id, event).await;

    assert!(failed.is_err());
    assert!(find(&scene, &new.digest).await.is_some());
}

pub(super) async fn start_session(scene: &SignInScene, user: &User) -> NewSession {
    let new = new_session(scene, user, None);
    let event = sign_in(scene, &new);
    scene
        .stores
        .sessions
        .start(new.clone(), event)
        .await
        .expect("started");
    new
}

async fn start(scene: &SignInScene, new: &NewSession) -> Result<(), StartSessionError> {
    let event = sign_in(scene, new);
    scene.stores.sessions.start(new.clone(), event).await
}

async fn replace_password(scene: &SignInScene, user: &User, word: &str) {
    let act = scene.act_as(Actor::Administrator, None);
    let event = act.event(Action::ResetPassword, Subject::User(user.id));
    scene
        .stores
        .accounts
        .replace_password(user.id, password_hash(word), event)
        .await
        .expect("replaced");
}

fn new_session(scene: &SignInScene, user: &User, replaces: Option<SessionDigest>) -> NewSession {
    NewSession {
        session: Session {
            id: scene.id(),
            user_id: user.id,
            started_at: scene.now(),
            last_seen_at: scene.now(),
            started_from: Some([203, 0, 113, 7].into()),
            user_agent: UserAgent::from_header("Mozilla/5.0 (X11; Linux x86_64)"),
        },
        digest: SessionToken::generate(&*scene.make.random).digest(),
        verified_against: password_hash(user.username.as_str()),
        replaces,
    }
}

fn sign_in(scene: &SignInScene, new: &NewSession) -> AuditEvent {
    scene
        .act_as(Actor::User(new.session.user_id), None)
        .event(Action::SignIn, Subject::Session(new.session.id))
}

fn sign_out(scene: &SignInScene, new: &NewSession) -> AuditEvent {
    scene
        .act_as(Actor::User(new.session.user_id), None)
        .event(Action::SignOut, Subject::Session(new.session.id))
}

async fn find(scene: &SignInScene, digest: &SessionDigest) -> Option<SignedIn> {
    scene
        .stores
        .sessions
        .find(digest)
        .await
        .expect("the store answers")
}

async fn last_seen(scene: &SignInScene, digest: &SessionDigest) -> DateTime<Utc> {
    find(scene, digest)
        .await
        .expect("still there")
        .session
        .last_seen_at
}

async fn endings(scene: &SignInScene, new: &NewSession) -> Vec<AuditEvent> {
    scene
        .events_about(None, Action::SignOut, Subject::Session(new.session.id))
        .await
}
