//! The sessions that follow a sign-in.

use std::sync::Arc;

use chrono::TimeDelta;
use keyward_domain::audit::{Action, Actor, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::sign_in::ports::MockSessionStore;
use keyward_domain::sign_in::session::{Session, SessionToken, SignedIn};
use keyward_domain::sign_in::signing_in::SignInPorts;

use crate::signing_in::{installation_with_ada, is_signed_in, ports, sign_in, source, with_ports};

#[tokio::test]
async fn session_ends_after_12_idle_hours() {
    let (installation, _) = installation_with_ada();
    let token = sign_in(&installation).await;
    let clock = &installation.builder.clock;
    clock.advance(Session::IDLE_TIMEOUT - TimeDelta::milliseconds(1));
    assert!(is_signed_in(&installation, &token).await);
    clock.advance(Session::IDLE_TIMEOUT - TimeDelta::milliseconds(1));
    assert!(
        is_signed_in(&installation, &token).await,
        "use begins the 12 hours anew"
    );
    clock.advance(Session::IDLE_TIMEOUT);
    assert!(!is_signed_in(&installation, &token).await);
}

#[tokio::test]
async fn session_ends_after_14_days_of_use() {
    let (installation, _) = installation_with_ada();
    let token = sign_in(&installation).await;
    let clock = &installation.builder.clock;
    let end = clock.now() + Session::ABSOLUTE_TIMEOUT;
    while clock.now() + TimeDelta::hours(6) < end {
        clock.advance(TimeDelta::hours(6));
        assert!(is_signed_in(&installation, &token).await);
    }
    clock.advance(TimeDelta::hours(6));
    assert_eq!(clock.now(), end);

    assert!(!is_signed_in(&installation, &token).await);
}

#[tokio::test]
async fn session_of_a_clock_far_ahead_ends_with_it() {
    for (ahead, is_live) in [(TimeDelta::hours(1), true), (TimeDelta::days(400), false)] {
        let (installation, _) = installation_with_ada();
        let clock = &installation.builder.clock;
        clock.advance(ahead);
        let token = sign_in(&installation).await;
        assert!(is_signed_in(&installation, &token).await);
        clock.advance(-ahead);
        assert_eq!(is_signed_in(&installation, &token).await, is_live, "{ahead}");
    }
}

#[tokio::test]
async fn session_use_is_recorded_at_most_once_a_minute() {
    let (installation, ada) = installation_with_ada();
    let clock = Arc::clone(&installation.builder.clock);
    let session = Session {
        id: installation.builder.ids.next(),
        user_id: ada.user.id,
        started_at: clock.now(),
        last_seen_at: clock.now(),
        started_from: None,
        user_agent: None,
    };
    let found = SignedIn {
        session: session.clone(),
        user: ada.user.clone(),
    };
    let due = clock.now() + TimeDelta::minutes(1);
    let mut sessions = MockSessionStore::new();
    sessions.expect_find().returning(move |_| Ok(Some(found.clone())));
    let ports = SignInPorts {
        sessions: Arc::new(sessions),
        ..ports(&installation)
    };
    let sign_in = with_ports(&installation.builder, ports);
    let token = SessionToken::generate(&*installation.builder.random);
    for pause in [TimeDelta::zero(), TimeDelta::seconds(59), TimeDelta::seconds(1)] {
        clock.advance(pause);
        let signed_in = sign_in.signed_in(&token).await.expect("the store answers");
        let signed_in = signed_in.expect("signed in");
        let before = installation.seen_sessions.next();
        sign_in.note_seen(&signed_in);
        let noted = installation.seen_sessions.next();
        assert_eq!(
            (before, noted),
            (None, (clock.now() == due).then_some((session.id, due)))
        );
    }
}

#[tokio::test]
async fn sign_out_ends_the_session_with_one_event() {
    let (installation, ada) = installation_with_ada();
    let token = sign_in(&installation).await;
    let elsewhere = sign_in(&installation).await;
    let sign_in = installation.sign_in();
    let signed_in = sign_in.signed_in(&token).await.expect("the store answers");
    let signed_in = signed_in.expect("signed in");
    for _ in 0..2 {
        sign_in.sign_out(&signed_in, source()).await.expect("signed out");
    }

    assert!(!is_signed_in(&installation, &token).await);
    assert!(is_signed_in(&installation, &elsewhere).await);
    let mut events = installation.store.events();
    events.retain(|event| event.action == Action::SignOut);
    let [event] = events.as_slice() else {
        panic!("one event, not {events:?}")
    };
    assert_eq!(event.actor, Actor::User(ada.user.id));
    assert_eq!(event.subject, Subject::Session(signed_in.session.id));
}

#[tokio::test]
async fn invented_session_cookie_is_rejected() {
    let (installation, _) = installation_with_ada();
    sign_in(&installation).await;
    let made_up = SessionToken::generate(&*installation.builder.random);

    assert!(!is_signed_in(&installation, &made_up).await);
}
