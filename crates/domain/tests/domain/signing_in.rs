//! Signing in to the console.

mod failures;
mod logged_refusals;
mod secrecy;
mod throttling;

use std::sync::Arc;

use keyward_domain::audit::{Action, Actor, AuditEvent, Outcome, RequestSource, Subject};
use keyward_domain::id::OrganizationId;
use keyward_domain::membership::{Member, Role};
use keyward_domain::sign_in::SignIn;
use keyward_domain::sign_in::password::Password;
use keyward_domain::sign_in::session::SessionToken;
use keyward_domain::sign_in::signing_in::{NewCookies, SignInAttempt, SignInError, SignInPorts};
use keyward_domain::testing::{Builder, PlainHasher, TestInstallation};

pub(crate) fn installation_with_ada() -> (TestInstallation, Member) {
    let installation = TestInstallation::new();
    let acme = installation.organization("Acme");
    let ada = installation.member(&acme, "ada", Role::Member);
    (installation, ada)
}

pub(crate) fn source() -> RequestSource {
    RequestSource {
        address: Some([192, 0, 2, 7].into()),
        request_id: Some("request".to_owned()),
    }
}

pub(crate) fn attempt<'a>(username: &'a str, password: &str) -> SignInAttempt<'a> {
    SignInAttempt {
        user_agent: None,
        username,
        password: Password::attempt(password),
        previous: None,
        browser: None,
        source: source(),
    }
}

/// An attempt from somewhere else.
fn attempt_from<'a>(address: &str, username: &'a str, password: &str) -> SignInAttempt<'a> {
    SignInAttempt {
        source: RequestSource {
            address: Some(address.parse().expect("an address")),
            ..source()
        },
        ..attempt(username, password)
    }
}

pub(crate) async fn sign_in(installation: &TestInstallation) -> SessionToken {
    let attempt = attempt("ada", TestInstallation::PASSWORD);
    new_cookies(installation, attempt).await.session
}

async fn new_cookies(installation: &TestInstallation, attempt: SignInAttempt<'_>) -> NewCookies {
    installation.sign_in().sign_in(attempt).await.expect("signed in")
}

/// Guesses that are checked, and wrong.
async fn guess(installation: &TestInstallation, times: usize, attempt: impl Fn() -> SignInAttempt<'static>) {
    for _ in 0..times {
        let refused = installation.sign_in().sign_in(attempt()).await;
        assert!(
            matches!(refused, Err(SignInError::WrongCredentials)),
            "{refused:?}"
        );
    }
}

async fn is_throttled(installation: &TestInstallation, attempt: SignInAttempt<'_>) -> bool {
    let answer = installation.sign_in().sign_in(attempt).await;
    matches!(answer, Err(SignInError::Throttled(_)))
}

/// Ports over the installation's store, of which a test replaces some.
pub(crate) fn ports(installation: &TestInstallation) -> SignInPorts {
    let store = Arc::new(installation.store.clone());
    SignInPorts {
        accounts: store.clone(),
        sessions: store.clone(),
        installation: store.clone(),
        throttle: store.clone(),
        refusals: store.clone(),
        memberships: store,
        hasher: Arc::new(PlainHasher),
        seen: Arc::clone(&installation.seen_sessions),
    }
}

pub(crate) fn with_ports(make: &Builder, ports: SignInPorts) -> SignIn {
    SignIn::new(ports, make.sources.clone())
}

#[tokio::test]
async fn correct_password_signs_in_with_an_event() {
    let (installation, ada) = installation_with_ada();
    let token = sign_in(&installation).await;
    let signed_in = installation
        .sign_in()
        .signed_in(&token)
        .await
        .expect("the store answers")
        .expect("signed in");

    assert_eq!(signed_in.user, ada.user);
    let events = installation.store.events();
    assert_eq!(logs(&events), [None, Some(ada.organization.id)]);
    for event in events {
        assert_eq!(event.action, Action::SignIn);
        assert_eq!(event.outcome, Outcome::Success);
        assert_eq!(event.actor, Actor::User(ada.user.id));
        assert_eq!(event.subject, Subject::Session(signed_in.session.id));
        assert_eq!(event.source, source());
    }
}

/// In whose logs events are; none is the installation.
fn logs(events: &[AuditEvent]) -> Vec<Option<OrganizationId>> {
    events.iter().map(|event| event.organization_id).collect()
}

#[tokio::test]
async fn username_ignores_case_and_surrounding_spaces() {
    let (installation, _) = installation_with_ada();
    for typed in ["Ada", " ada ", "ADA\t"] {
        let attempt = attempt(typed, TestInstallation::PASSWORD);
        installation.sign_in().sign_in(attempt).await.expect("signed in");
    }
}

async fn guess_until_throttled(installation: &TestInstallation, address: &str) {
    while !is_throttled(installation, attempt_from(address, "ada", "guess")).await {}
}

#[tokio::test]
async fn each_sign_in_has_its_own_session_replacing_the_previous() {
    let (installation, ada) = installation_with_ada();
    let elsewhere = sign_in(&installation).await;
    let first = sign_in(&installation).await;
    let signed_in = installation.sign_in().signed_in(&first).await;
    let ended = signed_in
        .expect("the store answers")
        .expect("signed in")
        .session
        .id;
    let first_again = SessionToken::parse(first.expose()).expect("a session token");
    let second = installation
        .sign_in()
        .sign_in(SignInAttempt {
            previous: Some(first),
            ..attempt("ada", TestInstallation::PASSWORD)
        })
        .await
        .expect("signed in")
        .session;

    assert_ne!(second.expose(), first_again.expose());
    assert!(!is_signed_in(&installation, &first_again).await);
    assert!(is_signed_in(&installation, &second).await);
    assert!(is_signed_in(&installation, &elsewhere).await);
    let events = installation.store.events();
    let mut sign_outs = events.iter().filter(|event| event.action == Action::SignOut);
    let recorded = sign_outs.next().expect("an event");
    assert_eq!(recorded.subject, Subject::Session(ended));
    assert_eq!(
        (recorded.actor, &recorded.source),
        (Actor::User(ada.user.id), &source())
    );
    assert_eq!(sign_outs.next(), None);
}

#[tokio::test]
async fn refused_attempt_ends_no_session() {
    let (installation, _) = installation_with_ada();
    let token = sign_in(&installation).await;
    let refused = installation
        .sign_in()
        .sign_in(SignInAttempt {
            previous: SessionToken::parse(token.expose()),
            ..attempt("ada", "wrong password")
        })
        .await;

    assert!(refused.is_err());
    assert!(is_signed_in(&installation, &token).await);
}

/// Asks as a page does.
pub(crate) async fn is_signed_in(installation: &TestInstallation, token: &SessionToken) -> bool {
    let sign_in = installation.sign_in();
    let signed_in = sign_in.signed_in(token).await.expect("the store answers");
    if let Some(signed_in) = &signed_in {
        sign_in.note_seen(signed_in);
        installation.write_seen_sessions().await;
    }
    signed_in.is_some()
}
