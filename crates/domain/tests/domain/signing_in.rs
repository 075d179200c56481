//! Signing in to the console.

use std::sync::Arc;

use chrono::TimeDelta;
use keyward_domain::audit::{Action, Actor, Outcome, RequestSource, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::{MockAuditLog, StorageError};
use keyward_domain::sign_in::SignIn;
use keyward_domain::sign_in::password::{HashingError, MockPasswordHasher, Password};
use keyward_domain::sign_in::ports::{
    MockAccountStore, MockSessionStore, MockSignInThrottle, SignInThrottle, StartSessionError,
};
use keyward_domain::sign_in::session::{SessionToken, SignInAttempt, SignInError, SignInPorts};
use keyward_domain::sign_in::throttle::{ThrottleBucket, Throttled};
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
        source: source(),
    }
}

pub(crate) async fn sign_in(installation: &TestInstallation) -> SessionToken {
    let attempt = attempt("ada", TestInstallation::PASSWORD);
    installation.sign_in().sign_in(attempt).await.expect("signed in")
}

/// Ports over the installation's store, of which a test replaces some.
pub(crate) fn ports(installation: &TestInstallation) -> SignInPorts {
    let store = Arc::new(installation.store.clone());
    SignInPorts {
        accounts: store.clone(),
        sessions: store.clone(),
        throttle: store.clone(),
        audit_log: store,
        hasher: Arc::new(PlainHasher),
    }
}

pub(crate) fn with_ports(make: &Builder, ports: SignInPorts) -> SignIn {
    SignIn::new(
        ports,
        Arc::clone(&make.clock) as _,
        Arc::clone(&make.random) as _,
        Arc::clone(&make.ids),
    )
}

#[tokio::test]
async fn the_right_password_signs_in_and_is_told() {
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
    let [event] = events.as_slice() else {
        panic!("one event, not {events:?}")
    };
    assert_eq!(event.action, Action::SignIn);
    assert_eq!(event.outcome, Outcome::Success);
    assert_eq!(event.actor, Actor::User(ada.user.id));
    assert_eq!(event.subject, Subject::Session(signed_in.session.id));
    assert_eq!(event.organization_id, None);
    assert_eq!(event.source, source());
}

#[tokio::test]
async fn spaces_and_capitals_around_a_username_do_not_matter() {
    let (installation, _) = installation_with_ada();
    for typed in ["Ada", " ada ", "ADA\t"] {
        let attempt = attempt(typed, TestInstallation::PASSWORD);
        installation.sign_in().sign_in(attempt).await.expect("signed in");
    }
}

#[tokio::test]
async fn a_wrong_username_and_a_wrong_password_are_told_apart_by_the_audit_log_alone() {
    let mut answers = Vec::new();
    for (username, password) in [
        ("ada", "wrong password"),
        ("nobody", TestInstallation::PASSWORD),
        ("not a username!", TestInstallation::PASSWORD),
        ("", ""),
    ] {
        let (installation, ada) = installation_with_ada();
        let refused = installation.sign_in().sign_in(attempt(username, password)).await;
        let error = refused.expect_err("refused");
        assert!(matches!(error, SignInError::WrongCredentials), "{error:?}");
        answers.push(error.to_string());

        let events = installation.store.events();
        let [event] = events.as_slice() else {
            panic!("a refusal leaves one event: {events:?}")
        };
        assert_eq!(event.action, Action::SignIn);
        assert_eq!(event.outcome, Outcome::Refused);
        assert_eq!(event.actor, Actor::Anonymous);
        let tried = if username == "ada" {
            Subject::User(ada.user.id)
        } else {
            Subject::Installation
        };
        assert_eq!(event.subject, tried);
        assert_eq!(event.source, source());
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
}

#[tokio::test]
async fn an_address_that_is_refused_takes_nothing_from_accounts() {
    let (installation, _) = installation_with_ada();
    let from = attempt("ada", "guess").source.address.expect("an address");
    while installation
        .store
        .take(ThrottleBucket::address(from), installation.builder.clock.now())
        .await
        .expect("an answer")
        .is_none()
    {}
    for _ in 0..20 {
        let refused = installation.sign_in().sign_in(attempt("ada", "guess")).await;
        assert!(matches!(refused, Err(SignInError::Throttled(_))), "{refused:?}");
    }

    let elsewhere = SignInAttempt {
        source: RequestSource::default(),
        ..attempt("ada", TestInstallation::PASSWORD)
    };
    installation
        .sign_in()
        .sign_in(elsewhere)
        .await
        .expect("signed in");
}

#[tokio::test]
async fn a_password_is_checked_whether_the_user_exists_or_not() {
    for (username, verified, in_vain) in [("ada", 1, 0), ("nobody", 0, 1), ("not a username!", 0, 1)] {
        let (installation, _) = installation_with_ada();
        let mut hasher = MockPasswordHasher::new();
        hasher.expect_verify().times(verified).returning(|_, _| Ok(false));
        hasher
            .expect_verify_nothing()
            .times(in_vain)
            .returning(|_| Ok(()));
        let ports = SignInPorts {
            hasher: Arc::new(hasher),
            ..ports(&installation)
        };
        let refused = with_ports(&installation.builder, ports)
            .sign_in(attempt(username, "wrong password"))
            .await;
        assert!(
            matches!(refused, Err(SignInError::WrongCredentials)),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn too_many_attempts_are_refused_before_anything_is_looked_up() {
    let (installation, _) = installation_with_ada();
    let by_account = ThrottleBucket::account("ada");
    let by_address = ThrottleBucket::address([192, 0, 2, 7].into());
    for full in [by_account, by_address] {
        let retry_after = TimeDelta::seconds(30);
        let mut throttle = MockSignInThrottle::new();
        throttle
            .expect_take()
            .returning(move |bucket, _| Ok((bucket == full).then_some(Throttled { retry_after })));
        throttle.expect_clear().never();
        let mut accounts = MockAccountStore::new();
        accounts.expect_find().never();
        let mut hasher = MockPasswordHasher::new();
        hasher.expect_verify().never();
        hasher.expect_verify_nothing().never();
        let mut sessions = MockSessionStore::new();
        sessions.expect_start().never();
        let ports = SignInPorts {
            accounts: Arc::new(accounts),
            sessions: Arc::new(sessions),
            throttle: Arc::new(throttle),
            hasher: Arc::new(hasher),
            ..ports(&installation)
        };
        let refused = with_ports(&installation.builder, ports)
            .sign_in(attempt("Ada ", TestInstallation::PASSWORD))
            .await;
        assert!(
            matches!(refused, Err(SignInError::Throttled(throttled)) if throttled.retry_after == retry_after),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn guessing_one_account_is_stopped_and_others_go_on() {
    let (installation, ada) = installation_with_ada();
    installation.member(&ada.organization, "bob", Role::Member);
    for _ in 0..10 {
        let refused = installation.sign_in().sign_in(attempt("ada", "guess")).await;
        assert!(
            matches!(refused, Err(SignInError::WrongCredentials)),
            "{refused:?}"
        );
    }
    let right = || attempt("ada", TestInstallation::PASSWORD);
    let refused = installation.sign_in().sign_in(right()).await;
    assert!(matches!(refused, Err(SignInError::Throttled(_))), "{refused:?}");

    let bob = attempt("bob", TestInstallation::PASSWORD);
    installation.sign_in().sign_in(bob).await.expect("bob signs in");
    installation.builder.clock.advance(TimeDelta::minutes(1));
    installation
        .sign_in()
        .sign_in(right())
        .await
        .expect("a minute later");
}

#[tokio::test]
async fn signing_in_gives_the_accounts_attempts_back() {
    let (installation, _) = installation_with_ada();
    for _ in 0..3 {
        for _ in 0..9 {
            let refused = installation.sign_in().sign_in(attempt("ada", "guess")).await;
            assert!(
                matches!(refused, Err(SignInError::WrongCredentials)),
                "{refused:?}"
            );
        }
        sign_in(&installation).await;
    }
}

#[tokio::test]
async fn signing_in_does_not_give_the_addresss_attempts_back() {
    let (installation, _) = installation_with_ada();
    for _ in 0..50 {
        sign_in(&installation).await;
    }
    let attempt = attempt("ada", TestInstallation::PASSWORD);
    let refused = installation.sign_in().sign_in(attempt).await;

    assert!(matches!(refused, Err(SignInError::Throttled(_))), "{refused:?}");
}

#[tokio::test]
async fn each_sign_in_has_a_session_of_its_own_and_ends_the_one_before() {
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
        .expect("signed in");

    assert_ne!(second.expose(), first_again.expose());
    assert!(!is_signed_in(&installation, &first_again).await);
    assert!(is_signed_in(&installation, &second).await);
    assert!(is_signed_in(&installation, &elsewhere).await);
    let events = installation.store.events();
    let mut sign_outs = events.iter().filter(|event| event.action == Action::SignOut);
    let told = sign_outs.next().expect("an event");
    assert_eq!(told.subject, Subject::Session(ended));
    assert_eq!((told.actor, &told.source), (Actor::User(ada.user.id), &source()));
    assert_eq!(sign_outs.next(), None);
}

#[tokio::test]
async fn a_refused_attempt_ends_no_session() {
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

#[tokio::test]
async fn a_password_that_is_replaced_while_it_is_checked_is_a_wrong_one() {
    let (installation, ada) = installation_with_ada();
    let mut sessions = MockSessionStore::new();
    sessions
        .expect_start()
        .once()
        .withf(|new, _| {
            new.verified_against == PlainHasher::hash_of(&Password::attempt(TestInstallation::PASSWORD))
        })
        .returning(|_, _| Err(StartSessionError::PasswordReplaced));
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
    let [event] = events.as_slice() else {
        panic!("one event, not {events:?}")
    };
    assert_eq!(event.action, Action::SignIn);
    assert_eq!(event.outcome, Outcome::Refused);
    assert_eq!(event.actor, Actor::Anonymous);
    assert_eq!(event.subject, Subject::User(ada.user.id));
    assert_eq!(event.source, source());
}

#[tokio::test]
async fn a_busy_hasher_is_no_refusal() {
    for username in ["ada", "nobody"] {
        let (installation, _) = installation_with_ada();
        let mut hasher = MockPasswordHasher::new();
        hasher.expect_verify().returning(|_, _| Err(HashingError::Busy));
        hasher
            .expect_verify_nothing()
            .returning(|_| Err(HashingError::Busy));
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
    }
}

#[tokio::test]
async fn a_refusal_that_cannot_be_written_is_an_error_of_the_store() {
    let (installation, _) = installation_with_ada();
    let mut audit_log = MockAuditLog::new();
    audit_log
        .expect_record()
        .once()
        .returning(|_| Err(StorageError::Unavailable("down".into())));
    let ports = SignInPorts {
        audit_log: Arc::new(audit_log),
        ..ports(&installation)
    };
    let answer = with_ports(&installation.builder, ports)
        .sign_in(attempt("ada", "wrong password"))
        .await;

    assert!(
        matches!(answer, Err(SignInError::Storage(StorageError::Unavailable(_)))),
        "{answer:?}"
    );
}

#[tokio::test]
async fn what_was_typed_is_written_nowhere() {
    let (installation, _) = installation_with_ada();
    for (username, password) in [("hunter2-as-name", "hunter2"), ("ada", "hunter2")] {
        let refused = installation.sign_in().sign_in(attempt(username, password)).await;
        assert!(!format!("{refused:?}").contains("hunter2"));
    }
    sign_in(&installation).await;
    let written = format!("{:?}", installation.store.events());

    assert!(!written.contains("hunter2"));
    assert!(!written.contains(TestInstallation::PASSWORD));
}

#[tokio::test]
async fn a_store_that_is_down_signs_nobody_in_or_out() {
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

pub(crate) async fn is_signed_in(installation: &TestInstallation, token: &SessionToken) -> bool {
    installation
        .sign_in()
        .signed_in(token)
        .await
        .expect("the store answers")
        .is_some()
}
