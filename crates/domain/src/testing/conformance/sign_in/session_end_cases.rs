//! Cases of [`SessionStore`](crate::sign_in::ports::SessionStore): sessions that end.

use futures_util::future::BoxFuture;

use super::super::Stores;
use super::super::parallel::{abandon, eventually};
use super::super::scene::Scene;
use super::sessions::{find, new_session, sign_in, sign_out, start_session};
use crate::audit::{Action, Actor, AuditEvent, Subject};
use crate::sign_in::ports::NewSession;
use crate::sign_in::session::Session;

pub(super) async fn ended_session_is_removed(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let new = start_session(&scene, &ada.user).await;
    let bystander = start_session(&scene, &ada.user).await;
    let event = sign_out(&scene, &new);
    let was_live = scene
        .stores
        .sessions
        .end(ada.user.id, new.session.id, event.clone())
        .await
        .expect("ended");
    assert!(was_live);

    assert_eq!(find(&scene, &new.digest).await, None);
    assert!(find(&scene, &bystander.digest).await.is_some());
    let event = scene.as_shown(event).await;
    assert_eq!(endings(&scene, &new).await, [event]);
    scene
        .stores
        .sessions
        .seen(new.session.id, scene.now())
        .await
        .expect("noted");
    assert_eq!(find(&scene, &new.digest).await, None, "seeing it revives nothing");
}

pub(super) async fn session_ends_once(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let end = async |new: &NewSession| {
        let event = sign_out(&scene, new);
        let sessions = &scene.stores.sessions;
        let ended = sessions.end(ada.user.id, new.session.id, event).await;
        ended.expect("an answer")
    };
    let ended = start_session(&scene, &ada.user).await;
    assert!(end(&ended).await);
    assert!(!end(&ended).await);
    assert_eq!(endings(&scene, &ended).await.len(), 1);

    let replaced = start_session(&scene, &ada.user).await;
    let second = new_session(&scene, &ada.user, Some(replaced.digest));
    let event = sign_in(&scene, &second);
    scene
        .stores
        .sessions
        .start(second, vec![event])
        .await
        .expect("started");
    assert!(!end(&replaced).await);
    assert_eq!(endings(&scene, &replaced).await.len(), 1, "by the sign-in alone");
}

pub(super) async fn ending_another_users_session_is_refused(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let bob = scene.join_with_password(&ada.organization, "bob").await;
    let hers = start_session(&scene, &ada.user).await;
    let before = scene.events(None).await;
    let event = scene
        .act_as(Actor::User(bob.user.id), None)
        .event(Action::EndSession, Subject::Session(hers.session.id));
    let sessions = &scene.stores.sessions;
    let ended = sessions.end(bob.user.id, hers.session.id, event).await;

    assert!(!ended.expect("an answer"));
    assert!(find(&scene, &hers.digest).await.is_some());
    assert_eq!(scene.events(None).await, before);
}

pub(super) async fn ending_an_expired_session_writes_no_event(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let expired = start_session(&scene, &ada.user).await;
    scene.later(Session::IDLE_TIMEOUT);
    let event = sign_out(&scene, &expired);
    let sessions = &scene.stores.sessions;
    let ended = sessions.end(ada.user.id, expired.session.id, event).await;

    assert!(!ended.expect("an answer"));
    assert_eq!(find(&scene, &expired.digest).await, None);
    assert_eq!(endings(&scene, &expired).await, []);
}

pub(super) async fn all_other_sessions_end_at_once_with_one_event_each(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let expired = start_session(&scene, &ada.user).await;
    scene.later(Session::IDLE_TIMEOUT);
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
    let recorded = ended_by_others(&scene).await;
    assert_eq!(
        recorded,
        [others[1].session.id, others[0].session.id].map(Subject::Session)
    );
    let act = scene.act_as(Actor::User(ada.user.id), None);
    let again = scene
        .stores
        .sessions
        .end_others(ada.user.id, keep.session.id, act);
    assert_eq!(again.await.expect("nothing to do"), 0);
    assert_eq!(ended_by_others(&scene).await, recorded);
}

pub(super) async fn ended_session_ends_no_other_sessions(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let bob = scene.join_with_password(&ada.organization, "bob").await;
    let his = start_session(&scene, &bob.user).await;
    let ended = start_session(&scene, &ada.user).await;
    let other = start_session(&scene, &ada.user).await;
    let sessions = &scene.stores.sessions;
    let was_live = sessions
        .end(ada.user.id, ended.session.id, sign_out(&scene, &ended))
        .await;
    assert!(was_live.expect("an answer"));
    for keep in [&ended, &his] {
        let act = scene.act_as(Actor::User(ada.user.id), None);
        let none = sessions.end_others(ada.user.id, keep.session.id, act).await;
        assert_eq!(none.expect("an answer"), 0);
    }

    assert!(find(&scene, &other.digest).await.is_some());
    assert_eq!(ended_by_others(&scene).await, []);
}

pub(super) async fn other_sessions_continue_when_end_events_cannot_be_written(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
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

pub(super) async fn sessions_ending_each_other_concurrently_leave_one(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
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
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(ended, all.len() - 1);
    assert_eq!(ended_by_others(&scene).await.len(), ended);
}

pub(super) async fn sessions_signing_out_during_sign_out_everywhere_end_once(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let keep = start_session(&scene, &ada.user).await;
    for _ in 0..8 {
        let mut others = Vec::new();
        for _ in 0..16 {
            others.push(start_session(&scene, &ada.user).await);
        }
        let before = ended_by_others(&scene).await.len();
        let mut attempts: Vec<BoxFuture<'static, _>> = Vec::new();
        for new in others.clone() {
            let scene = scene.clone();
            attempts.push(Box::pin(async move {
                let (user, event) = (new.session.user_id, sign_out(&scene, &new));
                let ended = scene.stores.sessions.end(user, new.session.id, event).await;
                usize::from(ended.expect("an answer"))
            }));
        }
        // In the middle of them all.
        let (ending, user, keep) = (scene.clone(), ada.user.id, keep.session.id);
        let end_others = Box::pin(async move {
            let act = ending.act_as(Actor::User(user), None);
            let ended = ending.stores.sessions.end_others(user, keep, act).await;
            ended.expect("an answer")
        });
        attempts.insert(others.len() / 2, end_others);
        let ended: usize = scene.in_parallel(attempts).await.into_iter().sum();

        let mut recorded = ended_by_others(&scene).await.len() - before;
        for new in &others {
            recorded += endings(&scene, new).await.len();
        }
        assert_eq!((ended, recorded), (others.len(), others.len()));
    }
}

pub(super) async fn concurrent_ends_of_one_session_write_one_event(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let new = start_session(&scene, &ada.user).await;
    let attempts = (0..32).map(|_| {
        let (scene, new) = (scene.clone(), new.clone());
        let task: BoxFuture<'static, _> = Box::pin(async move {
            let event = sign_out(&scene, &new);
            let sessions = &scene.stores.sessions;
            sessions.end(new.session.user_id, new.session.id, event).await
        });
        task
    });
    let mut ended = 0;
    for was_live in scene.in_parallel(attempts).await {
        ended += usize::from(was_live.expect("an answer"));
    }

    assert_eq!(ended, 1);
    assert_eq!(endings(&scene, &new).await.len(), 1);
}

pub(super) async fn session_end_completes_after_caller_cancellation(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let new = start_session(&scene, &ada.user).await;
    let event = sign_out(&scene, &new);
    abandon(scene.stores.sessions.end(ada.user.id, new.session.id, event)).await;

    eventually("the abandoned session ends", async || {
        find(&scene, &new.digest).await.is_none()
    })
    .await;
    assert_eq!(endings(&scene, &new).await.len(), 1);
}

pub(super) async fn session_continues_when_end_event_cannot_be_written(stores: Stores) {
    let (scene, ada) = Scene::with_first_owner(stores).await;
    let new = start_session(&scene, &ada.user).await;
    let event = scene.unwritable(sign_out(&scene, &new)).await;
    let sessions = &scene.stores.sessions;
    let failed = sessions.end(ada.user.id, new.session.id, event).await;

    assert!(failed.is_err());
    assert!(find(&scene, &new.digest).await.is_some());
}

/// The sessions that were ended from another one, the last first.
async fn ended_by_others(scene: &Scene<Stores>) -> Vec<Subject> {
    let events = scene.events(None).await.into_iter();
    events
        .filter(|event| event.action == Action::EndSession)
        .map(|event| event.subject)
        .collect()
}

async fn endings(scene: &Scene<Stores>, new: &NewSession) -> Vec<AuditEvent> {
    scene
        .events_about(None, Action::SignOut, Subject::Session(new.session.id))
        .await
}
