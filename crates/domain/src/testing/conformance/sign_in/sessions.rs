//! Sessions for cases, and their events.

use super::super::Stores;
use super::super::scene::Scene;
use super::scene::password_hash;
use crate::audit::{Action, Actor, AuditEvent, Subject};
use crate::sign_in::UserAgent;
use crate::sign_in::ports::NewSession;
use crate::sign_in::session::{KeptSession, Session, SessionDigest, SessionToken, SignedIn};
use crate::user::User;

pub(super) async fn start_session(scene: &Scene<Stores>, user: &User) -> NewSession {
    let new = new_session(scene, user, None);
    let event = sign_in(scene, &new);
    scene
        .stores
        .sessions
        .start(new.clone(), vec![event])
        .await
        .expect("started");
    new
}

pub(super) fn new_session(scene: &Scene<Stores>, user: &User, replaces: Option<SessionDigest>) -> NewSession {
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
        act: scene.act_as(Actor::User(user.id), None),
    }
}

/// The session with another token.
pub(super) fn kept(scene: &Scene<Stores>, keep: &NewSession) -> KeptSession {
    KeptSession {
        id: keep.session.id,
        digest: SessionToken::generate(&*scene.make.random).digest(),
    }
}

pub(super) fn sign_in(scene: &Scene<Stores>, new: &NewSession) -> AuditEvent {
    scene
        .act_as(Actor::User(new.session.user_id), None)
        .event(Action::SignIn, Subject::Session(new.session.id))
}

pub(super) fn sign_out(scene: &Scene<Stores>, new: &NewSession) -> AuditEvent {
    scene
        .act_as(Actor::User(new.session.user_id), None)
        .event(Action::SignOut, Subject::Session(new.session.id))
}

pub(super) async fn find(scene: &Scene<Stores>, digest: &SessionDigest) -> Option<SignedIn> {
    scene
        .stores
        .sessions
        .find(digest)
        .await
        .expect("the store answers")
}
