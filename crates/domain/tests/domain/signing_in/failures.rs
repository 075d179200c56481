//! Failures during a sign-in.

use std::sync::Arc;

use keyward_domain::audit::{Action, Actor, Outcome, Subject};
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::password::{HashingError, MockPasswordHasher, Password};
use keyward_domain::sign_in::ports::MockSessionStore;
use keyward_domain::sign_in::signing_in::{SignInError, SignInPorts};
use keyward_domain::testing::{PlainHasher, TestInstallation};

use super::{
    attempt, guess, installation_with_ada, is_signed_in, is_throttled, logs, ports, sign_in, source,
    with_ports,
};

#[tokio::test]
async fn password_replaced_during_its_check_is_rejected() {
    let (installation, ada) = installation_with_ada();
    let mut sessions = MockSessionStore::new();
    sessions
        .expect_start()
        .once()
        .withf(|new, _| {
            new.verified_against == PlainHasher::hash_of(&Password::attempt(TestInstallation::PASSWORD))
        })
        .returning(|_, _| Err(SignInError::WrongCredentials));
    let ports = SignInPorts {
        sessions: Arc::new(sessions),
        ..ports(&installation)
    };
    let refused = with_ports(&installation.builder, ports)
        .sign_in(attempt("ada", TestInstallation::PASSWORD))
        .await;

    assert!(
        matches!(refused, Err(SignInError::WrongCredentials)),
        "{refused:?}"
    );
    let events = installation.store.events();
    assert_eq!(logs(&events), [None, Some(ada.organization.id)]);
    for event in events {
        assert_eq!(event.action, Action::SignIn);
        assert_eq!(event.outcome, Outcome::Refused);
        assert_eq!(event.actor, Actor::Anonymous);
        assert_eq!(event.subject, Subject::User(ada.user.id));
        assert_eq!(event.source, source());
    }
}

#[tokio::test]
async fn busy_password_hasher_is_not_reported_as_wrong_password() {
    for username in ["ada", "nobody"] {
        let (installation, _) = installation_with_ada();
        let mut hasher = MockPasswordHasher::new();
        hasher
            .expect_verify()
            .returning(|_, _, _| Err(HashingError::Busy));
        hasher
            .expect_verify_dummy()
            .returning(|_, _| Err(HashingError::Busy));
        let ports = SignInPorts {
            hasher: Arc::new(hasher),
            ..ports(&installation)
        };
        let answer = with_ports(&installation.builder, ports)
            .sign_in(attempt(username, TestInstallation::PASSWORD))
            .await;
        assert!(
            matches!(answer, Err(SignInError::Hashing(HashingError::Busy))),
            "{answer:?}"
        );
        assert!(installation.store.events().is_empty());
        guess(&installation, 10, || attempt(username, "guess")).await;
    }
}

#[tokio::test]
async fn unavailable_store_fails_sign_in_and_keeps_sessions() {
    let (installation, _) = installation_with_ada();
    let token = sign_in(&installation).await;
    installation.store.go_down();
    let attempt = attempt("ada", TestInstallation::PASSWORD);
    let refused = installation.sign_in().sign_in(attempt).await;
    assert!(matches!(refused, Err(SignInError::Storage(_))), "{refused:?}");
    assert!(installation.sign_in().signed_in(&token).await.is_err());
    installation.store.come_back();

    assert!(is_signed_in(&installation, &token).await);
}

/// More sign-ins than a user may make at once, none of which the store lets begin a session; whether the next
/// one is refused.
async fn fill_limit_without_sessions(failure: fn() -> StorageError) -> bool {
    let (installation, _) = installation_with_ada();
    let mut sessions = MockSessionStore::new();
    sessions
        .expect_start()
        .returning(move |_, _| Err(failure().into()));
    let ports = SignInPorts {
        sessions: Arc::new(sessions),
        ..ports(&installation)
    };
    let sign_in = with_ports(&installation.builder, ports);
    for _ in 0..61 {
        let failed = sign_in.sign_in(attempt("ada", TestInstallation::PASSWORD)).await;
        failed.expect_err("no session");
    }
    is_throttled(&installation, attempt("ada", TestInstallation::PASSWORD)).await
}

#[tokio::test]
async fn only_sign_ins_that_surely_failed_leave_the_limit() {
    let unavailable = || StorageError::Unavailable("locked".into());
    assert!(!fill_limit_without_sessions(unavailable).await);
    let outcome_unknown = || StorageError::OutcomeUnknown("cut".into());
    assert!(fill_limit_without_sessions(outcome_unknown).await);
}
