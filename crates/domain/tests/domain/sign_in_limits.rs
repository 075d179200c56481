//! Limits of attempts with a remembered browser or with the right password.

use std::sync::{Arc, Mutex};

use chrono::TimeDelta;
use keyward_domain::audit::{Action, Actor, AuditEvent, Outcome, RequestSource};
use keyward_domain::membership::{Member, Role};
use keyward_domain::sign_in::own_account::{ChangeOwnPasswordError, NewPassword};
use keyward_domain::sign_in::password::{MockPasswordHasher, Password};
use keyward_domain::sign_in::refusals::{RefusalQueue, RefusalWriter, RefusedAttempt};
use keyward_domain::sign_in::remembered_browser::BrowserToken;
use keyward_domain::sign_in::session::SignedIn;
use keyward_domain::sign_in::signing_in::{NewCookies, SignInAttempt, SignInError, SignInPorts};
use keyward_domain::testing::TestInstallation;

use crate::signing_in::{attempt, installation_with_ada, ports, with_ports};

const NEW: &str = "seven slow brown foxes";

fn attempt_in<'a>(browser: &BrowserToken, password: &str) -> SignInAttempt<'a> {
    SignInAttempt {
        browser: Some(browser.clone()),
        ..attempt("ada", password)
    }
}

async fn sign_in(installation: &TestInstallation, attempt: SignInAttempt<'_>) -> NewCookies {
    installation.sign_in().sign_in(attempt).await.expect("signed in")
}

/// Signs in again and again, each time in what seems another browser.
async fn collect_browsers(installation: &TestInstallation, count: usize) -> Vec<BrowserToken> {
    let mut browsers = Vec::new();
    for _ in 0..count {
        let cookies = sign_in(installation, attempt("ada", TestInstallation::PASSWORD)).await;
        browsers.push(cookies.browser.expect("a remembered browser"));
    }
    browsers
}

/// How many guesses are checked, of ten from each browser.
async fn checked(installation: &TestInstallation, browsers: &[BrowserToken]) -> usize {
    let mut checked = 0;
    for browser in browsers {
        for _ in 0..10 {
            match installation
                .sign_in()
                .sign_in(attempt_in(browser, "a guess"))
                .await
            {
                Err(SignInError::WrongCredentials) => checked += 1,
                Err(SignInError::Throttled(_)) => {}
                other => panic!("{other:?}"),
            }
        }
    }
    checked
}

async fn reset_password(installation: &TestInstallation, ada: &Member) {
    let reset = installation
        .accounts()
        .reset_password(&ada.user.username, &Password::attempt(NEW))
        .await;
    reset.expect("reset");
}

#[tokio::test]
async fn collected_browsers_share_one_limit() {
    let (installation, _) = installation_with_ada();
    let browsers = collect_browsers(&installation, 30).await;

    assert_eq!(checked(&installation, &browsers).await, 100);
}

#[tokio::test]
async fn browsers_remembered_before_a_password_reset_are_unknown() {
    let (installation, ada) = installation_with_ada();
    let browsers = collect_browsers(&installation, 30).await;
    reset_password(&installation, &ada).await;

    // From one address; and they fill nothing that the holder's browsers need.
    assert_eq!(checked(&installation, &browsers).await, 10);
    let holder = SignInAttempt {
        source: RequestSource::default(),
        ..attempt("ada", NEW)
    };
    let browser = sign_in(&installation, holder).await.browser.expect("remembered");
    assert_eq!(checked(&installation, &browsers).await, 0);
    sign_in(&installation, attempt_in(&browser, NEW)).await;
}

#[tokio::test]
async fn only_the_browser_changing_the_password_stays_remembered() {
    let (installation, _) = installation_with_ada();
    let browsers = collect_browsers(&installation, 2).await;
    let here = sign_in(
        &installation,
        attempt_in(&browsers[1], TestInstallation::PASSWORD),
    )
    .await;
    let signed_in = installation.sign_in().signed_in(&here.session).await;
    let signed_in = signed_in.expect("the store answers").expect("signed in");
    let passwords = NewPassword {
        current: Password::attempt(TestInstallation::PASSWORD),
        new: Password::attempt(NEW),
        browser: here.browser,
    };
    let changed = installation
        .own_account()
        .change_password(&signed_in, passwords, RequestSource::default())
        .await;
    let browser = changed.expect("changed").browser.expect("a remembered browser");

    assert_eq!(checked(&installation, &browsers[..1]).await, 10);
    let stranger = installation.sign_in().sign_in(attempt("ada", NEW)).await;
    assert!(matches!(stranger, Err(SignInError::Throttled(_))), "{stranger:?}");
    sign_in(&installation, attempt_in(&browser, NEW)).await;
}

#[tokio::test]
async fn sign_ins_of_one_user_are_limited_across_browsers() {
    let (installation, ada) = installation_with_ada();
    let browsers = collect_browsers(&installation, 60).await;
    let sign_in = installation.sign_in();
    for attempt in [
        attempt("ada", TestInstallation::PASSWORD),
        attempt_in(&browsers[0], TestInstallation::PASSWORD),
    ] {
        let refused = sign_in.sign_in(attempt).await;
        assert!(matches!(refused, Err(SignInError::Throttled(_))), "{refused:?}");
    }
    installation.member(&ada.organization, "bob", Role::Member);
    let bob = attempt("bob", TestInstallation::PASSWORD);
    sign_in.sign_in(bob).await.expect("signed in");

    installation.builder.clock.advance(TimeDelta::minutes(1));
    let once_more = attempt_in(&browsers[1], TestInstallation::PASSWORD);
    sign_in.sign_in(once_more).await.expect("signed in");
}

#[tokio::test]
async fn guesses_do_not_consume_a_users_sign_in_limit() {
    let (installation, _) = installation_with_ada();
    let browsers = collect_browsers(&installation, 59).await;
    checked(&installation, &browsers).await;
    for _ in 0..10 {
        let refused = installation.sign_in().sign_in(attempt("ada", "a guess")).await;
        refused.expect_err("a guess");
    }

    let elsewhere = SignInAttempt {
        source: RequestSource::default(),
        ..attempt("ada", TestInstallation::PASSWORD)
    };
    sign_in(&installation, elsewhere).await;
}

#[tokio::test]
async fn sign_ins_over_the_limit_are_not_checked() {
    let (installation, _) = installation_with_ada();
    collect_browsers(&installation, 60).await;
    let mut hasher = MockPasswordHasher::new();
    hasher.expect_verify().times(10).returning(|_, _, _| Ok(true));
    let ports = SignInPorts {
        hasher: Arc::new(hasher),
        ..ports(&installation)
    };
    let sign_in = with_ports(&installation.builder, ports);
    for _ in 0..100 {
        let refused = sign_in.sign_in(attempt("ada", TestInstallation::PASSWORD)).await;
        assert!(matches!(refused, Err(SignInError::Throttled(_))), "{refused:?}");
    }
}

#[tokio::test]
async fn password_changes_are_limited() {
    let (installation, _) = installation_with_ada();
    let here = sign_in(&installation, attempt("ada", TestInstallation::PASSWORD)).await;
    let signed_in = installation.sign_in().signed_in(&here.session).await;
    let signed_in = signed_in.expect("the store answers").expect("signed in");
    let change = async || {
        let passwords = NewPassword {
            current: Password::attempt(TestInstallation::PASSWORD),
            new: Password::attempt(TestInstallation::PASSWORD),
            browser: None,
        };
        let account = installation.own_account();
        account
            .change_password(&signed_in, passwords, RequestSource::default())
            .await
    };
    for _ in 0..10 {
        change().await.expect("changed");
    }
    let refused = change().await;
    assert!(
        matches!(refused, Err(ChangeOwnPasswordError::Throttled(_))),
        "{refused:?}"
    );
}

/// Keeps refusals to itself.
#[derive(Default)]
struct Unwritten(Mutex<Vec<RefusedAttempt>>);

impl RefusalQueue for Unwritten {
    fn push(&self, refusal: RefusedAttempt) {
        self.0.lock().expect("no panic").push(refusal);
    }
}

#[tokio::test]
async fn sign_in_response_does_not_wait_for_the_refusal_event() {
    for (username, logs) in [("ada", 2), ("nobody", 1)] {
        let (installation, _) = installation_with_ada();
        let refusals = Arc::new(Unwritten::default());
        let ports = SignInPorts {
            refusals: Arc::clone(&refusals) as _,
            ..ports(&installation)
        };
        let sign_in = with_ports(&installation.builder, ports);
        for _ in 0..20 {
            let answer = sign_in.sign_in(attempt(username, "a guess")).await;
            answer.expect_err("a guess");
        }
        assert!(installation.store.events().is_empty());

        let refusals = std::mem::take(&mut *refusals.0.lock().expect("no panic"));
        assert_eq!(refusals.len(), 20);
        let store = Arc::new(installation.store.clone());
        let writer = RefusalWriter::new(store.clone(), store);
        let first = refusals.into_iter().next().expect("a refusal");
        writer.write(first).await.expect("written");
        assert_eq!(installation.store.events().len(), logs);
    }
}

async fn guess_as_strangers(installation: &TestInstallation) {
    for stranger in 0..100 {
        let guess = SignInAttempt {
            source: RequestSource {
                address: Some([203, 0, 113, stranger % 5].into()),
                ..RequestSource::default()
            },
            ..attempt("ada", "a guess")
        };
        let refused = installation.sign_in().sign_in(guess).await;
        refused.expect_err("a guess");
    }
}

async fn guess_at_current_password(installation: &TestInstallation, signed_in: &SignedIn) {
    for _ in 0..11 {
        let passwords = NewPassword {
            current: Password::attempt("a guess"),
            new: Password::attempt(NEW),
            browser: None,
        };
        let refused = installation
            .own_account()
            .change_password(signed_in, passwords, RequestSource::default())
            .await;
        refused.expect_err("a guess");
    }
}

#[tokio::test]
async fn guesses_by_strangers_and_session_holders_are_logged_independently() {
    for are_strangers_first in [true, false] {
        let (installation, _) = installation_with_ada();
        let here = sign_in(&installation, attempt("ada", TestInstallation::PASSWORD)).await;
        let signed_in = installation.sign_in().signed_in(&here.session).await;
        let signed_in = signed_in.expect("the store answers").expect("signed in");
        if are_strangers_first {
            guess_as_strangers(&installation).await;
            guess_at_current_password(&installation, &signed_in).await;
        } else {
            guess_at_current_password(&installation, &signed_in).await;
            guess_as_strangers(&installation).await;
        }

        let refused = installation.store.events();
        let recorded = |actor, action| {
            let same = |event: &&AuditEvent| {
                (event.actor, event.action, event.outcome) == (actor, action, Outcome::Refused)
            };
            refused.iter().filter(same).count()
        };
        let (ada, logs) = (Actor::User(signed_in.user.id), 2);
        assert_eq!(recorded(ada, Action::ChangePassword), 10 * logs);
        assert_eq!(recorded(ada, Action::LimitAttempts), logs);
        assert_eq!(recorded(Actor::Anonymous, Action::SignIn), 20 * logs);
        assert_eq!(recorded(Actor::Anonymous, Action::LimitAttempts), logs);
    }
}
