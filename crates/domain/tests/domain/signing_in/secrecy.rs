//! Refused attempts do not reveal which users exist.

use std::sync::Arc;

use keyward_domain::audit::{Action, Actor, Outcome, Subject};
use keyward_domain::sign_in::password::MockPasswordHasher;
use keyward_domain::sign_in::signing_in::{SignInError, SignInPorts};
use keyward_domain::testing::TestInstallation;

use super::{attempt, installation_with_ada, logs, ports, sign_in, source, with_ports};

#[tokio::test]
async fn only_the_audit_log_distinguishes_unknown_users_from_wrong_passwords() {
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
        let (tried, told_in) = if username == "ada" {
            (Subject::User(ada.user.id), vec![None, Some(ada.organization.id)])
        } else {
            (Subject::Installation, vec![None])
        };
        assert_eq!(logs(&events), told_in);
        for event in events {
            assert_eq!(event.action, Action::SignIn);
            assert_eq!(event.outcome, Outcome::Refused);
            assert_eq!(event.actor, Actor::Anonymous);
            assert_eq!(event.subject, tried);
            assert_eq!(event.source, source());
        }
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
}

#[tokio::test]
async fn password_is_hashed_even_for_an_unknown_user() {
    for (username, verified, in_vain) in [("ada", 1, 0), ("nobody", 0, 1), ("not a username!", 0, 1)] {
        let (installation, _) = installation_with_ada();
        let mut hasher = MockPasswordHasher::new();
        hasher
            .expect_verify()
            .times(verified)
            .returning(|_, _, _| Ok(false));
        hasher
            .expect_verify_dummy()
            .times(in_vain)
            .returning(|_, _| Ok(()));
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
async fn entered_credentials_are_stored_nowhere() {
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
