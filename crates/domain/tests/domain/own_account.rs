//! Use cases of a user's own account.

use chrono::TimeDelta;
use keyward_domain::audit::{Action, Actor, Outcome, Subject};
use keyward_domain::sign_in::own_account::{ChangeOwnPasswordError, EndSessionError, NewPassword};
use keyward_domain::sign_in::password::Password;
use keyward_domain::sign_in::session::{Session, SessionToken, SignedIn};
use keyward_domain::sign_in::signing_in::{NewCookies, SignInError};
use keyward_domain::testing::TestInstallation;

use crate::signing_in::{attempt, installation_with_ada, is_signed_in, sign_in, source};

const NEW: &str = "seven slow brown foxes";

#[tokio::test]
async fn user_sees_active_sessions_latest_first() {
    let (installation, _) = installation_with_ada();
    sign_in(&installation).await;
    installation.builder.clock.advance(Session::IDLE_TIMEOUT);
    let first = session(&installation, &sign_in(&installation).await).await;
    let second = session(&installation, &sign_in(&installation).await).await;

    let sessions = installation
        .own_account()
        .sessions(&second)
        .await
        .expect("a list");
    assert_eq!(
        sessions,
        [second.session, first.session],
        "the idle one has expired"
    );
}

#[tokio::test]
async fn user_ends_another_own_session() {
    let (installation, ada) = installation_with_ada();
    let elsewhere = sign_in(&installation).await;
    let here = sign_in(&installation).await;
    let signed_in = session(&installation, &here).await;
    let ended = session(&installation, &elsewhere).await.session.id;
    installation
        .own_account()
        .end_session(&signed_in, ended, source())
        .await
        .expect("ended");

    assert!(!is_signed_in(&installation, &elsewhere).await);
    assert!(is_signed_in(&installation, &here).await);
    let event = installation.store.events().pop().expect("an event");
    assert_eq!(event.action, Action::EndSession);
    assert_eq!(event.actor, Actor::User(ada.user.id));
    assert_eq!(event.subject, Subject::Session(ended));
    assert_eq!(event.source, source());
}

#[tokio::test]
async fn ending_another_users_session_is_refused() {
    let (installation, ada) = installation_with_ada();
    let hers = sign_in(&installation).await;
    let hers_id = session(&installation, &hers).await.session.id;
    installation.member(&ada.organization, "bob", ada.membership.role);
    let his = installation
        .sign_in()
        .sign_in(attempt("bob", TestInstallation::PASSWORD))
        .await
        .expect("signed in")
        .session;
    let bob = session(&installation, &his).await;
    let refused = installation
        .own_account()
        .end_session(&bob, hers_id, source())
        .await;

    assert!(matches!(refused, Err(EndSessionError::NotFound)), "{refused:?}");
    assert!(is_signed_in(&installation, &hers).await);
}

#[tokio::test]
async fn user_signs_out_everywhere_else() {
    let (installation, ada) = installation_with_ada();
    let elsewhere = [sign_in(&installation).await, sign_in(&installation).await];
    let here = sign_in(&installation).await;
    let bob = installation.member(&ada.organization, "bob", ada.membership.role);
    let his = installation
        .sign_in()
        .sign_in(attempt(bob.user.username.as_str(), TestInstallation::PASSWORD))
        .await
        .expect("signed in")
        .session;
    let signed_in = session(&installation, &here).await;
    let account = installation.own_account();

    let ended = account.end_other_sessions(&signed_in, source()).await;
    assert_eq!(ended.expect("ended"), 2);
    for token in &elsewhere {
        assert!(!is_signed_in(&installation, token).await);
    }
    for token in [&here, &his] {
        assert!(is_signed_in(&installation, token).await);
    }
    let recorded = installation.store.events();
    let recorded = recorded.iter().filter(|event| event.action == Action::EndSession);
    assert_eq!(recorded.count(), 2);
    let again = account.end_other_sessions(&signed_in, source()).await;
    assert_eq!(again.expect("nothing to do"), 0);
}

#[tokio::test]
async fn password_change_ends_other_sessions_and_accepts_the_new_password() {
    let (installation, ada) = installation_with_ada();
    let elsewhere = sign_in(&installation).await;
    let here = sign_in(&installation).await;
    let signed_in = session(&installation, &here).await;
    let changed = change(&installation, &signed_in, TestInstallation::PASSWORD).await;

    let new_token = changed.expect("changed").session;
    assert_eq!(session(&installation, &new_token).await, signed_in);
    assert!(!is_signed_in(&installation, &here).await, "the token was copied");
    assert!(!is_signed_in(&installation, &elsewhere).await);
    let event = installation.store.events().pop().expect("an event");
    assert_eq!(event.action, Action::ChangePassword);
    assert_eq!(event.actor, Actor::User(ada.user.id));
    assert_eq!(event.subject, Subject::User(ada.user.id));
    let sign_in = installation.sign_in();
    let refused = sign_in.sign_in(attempt("ada", TestInstallation::PASSWORD)).await;
    assert!(
        matches!(refused, Err(SignInError::WrongCredentials)),
        "{refused:?}"
    );
    sign_in.sign_in(attempt("ada", NEW)).await.expect("signed in");
}

#[tokio::test]
async fn wrong_current_password_changes_nothing_and_is_logged() {
    let (installation, ada) = installation_with_ada();
    let elsewhere = sign_in(&installation).await;
    let here = sign_in(&installation).await;
    let signed_in = session(&installation, &here).await;
    let before = installation.store.events().len();
    let refused = change(&installation, &signed_in, "a guess").await;

    assert!(
        matches!(refused, Err(ChangeOwnPasswordError::WrongPassword)),
        "{refused:?}"
    );
    assert!(is_signed_in(&installation, &elsewhere).await);
    let recorded = installation.store.events().split_off(before);
    let logs: Vec<_> = recorded.iter().map(|event| event.organization_id).collect();
    assert_eq!(logs, [None, Some(ada.organization.id)]);
    for event in recorded {
        assert_eq!(event.action, Action::ChangePassword);
        assert_eq!(event.outcome, Outcome::Refused);
        assert_eq!(event.actor, Actor::User(ada.user.id));
        assert_eq!(event.subject, Subject::User(ada.user.id));
        assert_eq!(event.source, source());
    }
}

#[tokio::test]
async fn guessing_the_current_password_is_throttled_until_attempts_regenerate() {
    let (installation, _) = installation_with_ada();
    let here = sign_in(&installation).await;
    let signed_in = session(&installation, &here).await;
    let mut refused = change(&installation, &signed_in, "a guess").await;
    for _ in 0..20 {
        refused = change(&installation, &signed_in, "a guess").await;
    }
    assert!(
        matches!(refused, Err(ChangeOwnPasswordError::Throttled(_))),
        "{refused:?}"
    );
    let right = change(&installation, &signed_in, TestInstallation::PASSWORD).await;
    assert!(
        matches!(right, Err(ChangeOwnPasswordError::Throttled(_))),
        "{right:?}"
    );

    installation.builder.clock.advance(TimeDelta::minutes(1));
    change(&installation, &signed_in, TestInstallation::PASSWORD)
        .await
        .expect("changed");
}

#[tokio::test]
async fn failed_sign_ins_by_others_permit_a_password_change() {
    let (installation, _) = installation_with_ada();
    let here = sign_in(&installation).await;
    let signed_in = session(&installation, &here).await;
    for _ in 0..12 {
        let guess = attempt("ada", "a stranger's guess");
        installation.sign_in().sign_in(guess).await.expect_err("a guess");
    }

    change(&installation, &signed_in, TestInstallation::PASSWORD)
        .await
        .expect("changed");
}

#[tokio::test]
async fn user_sees_recent_refused_attempts_at_own_password() {
    let (installation, ada) = installation_with_ada();
    installation.member(&ada.organization, "bob", ada.membership.role);
    let here = session(&installation, &sign_in(&installation).await).await;
    let own_account = installation.own_account();
    let refused = async || own_account.refused_attempts(&here).await.expect("a list");
    assert!(refused().await.is_empty());

    let guess = async |username| installation.sign_in().sign_in(attempt(username, "a guess")).await;
    for username in ["ada", "bob", "nobody"] {
        assert!(guess(username).await.is_err());
    }
    installation.builder.clock.advance(TimeDelta::seconds(1));
    change(&installation, &here, "a wrong one")
        .await
        .expect_err("refused");
    change(&installation, &here, TestInstallation::PASSWORD)
        .await
        .expect("a new password");
    let recorded: Vec<_> = refused()
        .await
        .iter()
        .map(|event| (event.action, event.subject, event.source.clone()))
        .collect();
    let subject = Subject::User(ada.user.id);
    assert_eq!(
        recorded,
        [
            (Action::ChangePassword, subject, source()),
            (Action::SignIn, subject, source())
        ]
    );

    for _ in 0..15 {
        installation.builder.clock.advance(TimeDelta::hours(1));
        assert!(guess("ada").await.is_err());
    }
    let latest = refused().await;
    assert_eq!(latest.len(), 10);
    assert!(latest.is_sorted_by_key(|event| std::cmp::Reverse(event.at)));
    let at_current = latest
        .iter()
        .filter(|event| event.action == Action::ChangePassword);
    assert_eq!(at_current.count(), 1, "strangers do not hide it");

    for _ in 0..60 {
        installation.builder.clock.advance(TimeDelta::hours(1));
        assert!(guess("ada").await.is_err());
    }
    let latest = refused().await;
    let at_current = latest
        .iter()
        .filter(|event| event.action == Action::ChangePassword);
    assert_eq!(
        (latest.len(), at_current.count()),
        (10, 1),
        "beyond a page of others"
    );
}

async fn change(
    installation: &TestInstallation,
    signed_in: &SignedIn,
    current: &str,
) -> Result<NewCookies, ChangeOwnPasswordError> {
    let passwords = NewPassword {
        current: Password::attempt(current),
        new: Password::attempt(NEW),
        browser: None,
    };
    installation
        .own_account()
        .change_password(signed_in, passwords, source())
        .await
}

async fn session(installation: &TestInstallation, token: &SessionToken) -> SignedIn {
    installation
        .sign_in()
        .signed_in(token)
        .await
        .expect("an answer")
        .expect("signed in")
}
