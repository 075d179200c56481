//! Cases of removing expired sessions.

use chrono::{DateTime, TimeDelta, Utc};

use super::super::Stores;
use super::super::scene::Scene;
use super::scene::{ALL, MILLISECOND};
use crate::audit::{Action, Actor, Subject};
use crate::membership::{Member, Role};
use crate::sign_in::password::PasswordHash;
use crate::sign_in::ports::{FirstOwner, NewSession, SetupProof};
use crate::sign_in::session::{Session, SessionToken};

pub(super) async fn expired_sessions_are_removed(stores: Stores) {
    let (scene, ada) = with_password(stores).await;
    let begun = scene.now();
    let idle = start(&scene, &ada).await;
    let busy = start(&scene, &ada).await;
    // Seen every half day, so that only its age ends it.
    let mut seen = begun;
    while seen + Session::IDLE_TIMEOUT < begun + Session::ABSOLUTE_TIMEOUT {
        seen = scene.later(TimeDelta::hours(11));
        let noted = scene.stores.sessions.seen(busy.session.id, seen).await;
        noted.expect("it is seen");
    }
    let fresh = start(&scene, &ada).await;
    let events = scene.events(None).await;

    assert_eq!(
        remove(&scene, begun + Session::IDLE_TIMEOUT - MILLISECOND, ALL).await,
        0
    );
    assert_eq!(remove(&scene, begun + Session::IDLE_TIMEOUT, ALL).await, 1);
    assert_eq!(kept(&scene, [&idle, &busy, &fresh]).await, [false, true, true]);
    assert_eq!(
        remove(&scene, begun + Session::ABSOLUTE_TIMEOUT - MILLISECOND, ALL).await,
        0
    );
    assert_eq!(remove(&scene, begun + Session::ABSOLUTE_TIMEOUT, ALL).await, 1);
    assert_eq!(kept(&scene, [&idle, &busy, &fresh]).await, [false, false, true]);

    for _ in 0..4 {
        start(&scene, &ada).await;
    }
    let long_after = scene.later(TimeDelta::days(100));
    for removed in [3, 2, 0] {
        assert_eq!(remove(&scene, long_after, 3).await, removed);
    }
    let sign_ins = scene.events(None).await.len() - events.len();
    assert_eq!(sign_ins, 4, "it is no event that a session is forgotten");
}

async fn with_password(stores: Stores) -> (Scene<Stores>, Member) {
    let scene = Scene::new(stores);
    let organization = scene.make.organization("Analytical Engines");
    let user = scene.make.user("ada");
    let membership = scene.make.membership(&organization, &user, Role::Owner);
    let first_owner = FirstOwner {
        organization: organization.clone(),
        user: user.clone(),
        membership: membership.clone(),
        password_hash: password_hash(),
    };
    let event = scene
        .act_as(Actor::Administrator, Some(organization.id))
        .event(Action::CreateOrganization, Subject::Organization(organization.id));
    let installation = &scene.stores.installation;
    let set_up = installation
        .set_up(SetupProof::CommandLine, first_owner, vec![event])
        .await;
    set_up.expect("an empty store is set up");
    let ada = Member {
        user,
        organization,
        membership,
    };
    (scene, ada)
}

fn password_hash() -> PasswordHash {
    PasswordHash::from_phc_string("$plain$ada".to_owned())
}

async fn start(scene: &Scene<Stores>, member: &Member) -> NewSession {
    let new = NewSession {
        session: Session {
            id: scene.id(),
            user_id: member.user.id,
            started_at: scene.now(),
            last_seen_at: scene.now(),
            started_from: None,
            user_agent: None,
        },
        digest: SessionToken::generate(&*scene.make.random).digest(),
        verified_against: password_hash(),
        replaces: None,
        act: scene.act_as(Actor::User(member.user.id), None),
    };
    let event = new.act.event(Action::SignIn, Subject::Session(new.session.id));
    let started = scene.stores.sessions.start(new.clone(), vec![event]).await;
    started.expect("a session starts");
    new
}

async fn kept<const N: usize>(scene: &Scene<Stores>, sessions: [&NewSession; N]) -> [bool; N] {
    let mut kept = [false; N];
    for (is_kept, new) in kept.iter_mut().zip(sessions) {
        let found = scene.stores.sessions.find(&new.digest).await;
        *is_kept = found.expect("the store answers").is_some();
    }
    kept
}

async fn remove(scene: &Scene<Stores>, expired_at: DateTime<Utc>, at_most: u32) -> u32 {
    let retention = &scene.stores.retention;
    let removed = retention.remove_expired_sessions(expired_at, at_most).await;
    removed.expect("expired sessions are removed")
}
