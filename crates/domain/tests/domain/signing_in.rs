//! Signing in to the console.

use std::sync::Arc;

use chrono::TimeDelta;
use keyward_domain::audit::{Action, Actor, AuditEvent, Outcome, RequestSource, Subject};
use keyward_domain::id::OrganizationId;
use keyward_domain::membership::{Member, Role};
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::SignIn;
use keyward_domain::sign_in::password::{HashingError, MockPasswordHasher, Password};
use keyward_domain::sign_in::ports::{
    FullBucket, MockLimitedAuditLog, MockSessionStore, MockSignInThrottle, StartSessionError,
};
use keyward_domain::sign_in::session::SessionToken;
use keyward_domain::sign_in::signing_in::{NewCookies, SignInAttempt, SignInError, SignInPorts};
use keyward_domain::sign_in::throttle::Throttled;
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
        audit_log: store.clone(),
        memberships: store,
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
async fn too_many_attempts_are_refused_before_the_password_is_checked() {
    for username in ["Ada ", "nobody"] {
        let (installation, _) = installation_with_ada();
        let retry_after = TimeDelta::seconds(30);
        let mut throttle = MockSignInThrottle::new();
        throttle.expect_take().once().returning(move |buckets, _| {
            Ok(Some(FullBucket {
                bucket: buckets[0],
                throttled: Throttled { retry_after },
            }))
        });
        throttle.expect_give_back().never();
        let mut hasher = MockPasswordHasher::new();
        hasher.expect_verify().never();
        hasher.expect_verify_nothing().never();
        let mut sessions = MockSessionStore::new();
        sessions.expect_start().never();
        let ports = SignInPorts {
            sessions: Arc::new(sessions),
            throttle: Arc::new(throttle),
            hasher: Arc::new(hasher),
            ..ports(&installation)
        };
        let refused = with_ports(&installation.builder, ports)
            .sign_in(attempt(username, TestInstallation::PASSWORD))
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
    for username in ["ada", "nobody"] {
        guess(&installation, 10, || attempt(username, "guess")).await;
        assert!(is_throttled(&installation, attempt(username, TestInstallation::PASSWORD)).await);
    }
    let right = || attempt("ada", TestInstallation::PASSWORD);
    let bob = attempt("bob", TestInstallation::PASSWORD);
    new_cookies(&installation, bob).await;
    installation.builder.clock.advance(TimeDelta::minutes(1));
    new_cookies(&installation, right()).await;
}

#[tokio::test]
async fn a_stranger_who_guesses_keeps_nobody_elsewhere_out() {
    let (installation, _) = installation_with_ada();
    guess(&installation, 10, || attempt("ada", "guess")).await;
    for _ in 0..1_000 {
        assert!(is_throttled(&installation, attempt("ada", "guess")).await);
    }

    let elsewhere = attempt_from("198.51.100.1", "ada", TestInstallation::PASSWORD);
    new_cookies(&installation, elsewhere).await;
}

#[tokio::test]
async fn a_remembered_browser_signs_in_however_many_guess() {
    let (installation, ada) = installation_with_ada();
    installation.member(&ada.organization, "bob", Role::Member);
    let browser = new_cookies(&installation, attempt("ada", TestInstallation::PASSWORD))
        .await
        .browser;
    // From her own address and from many others, until nobody's new browser is let in.
    for stranger in 0..=200 {
        let address = format!("203.0.{stranger}.7");
        guess_until_throttled(&installation, &address).await;
    }
    while !is_throttled(&installation, attempt("ada", "guess")).await {}
    let new_browser = || attempt_from("198.51.100.1", "ada", TestInstallation::PASSWORD);
    assert!(
        is_throttled(&installation, new_browser()).await,
        "the account's own bound"
    );

    let remembered = |username: &'static str, password: &str| SignInAttempt {
        browser: browser.clone(),
        ..attempt(username, password)
    };
    guess(&installation, 9, || remembered("ada", "a typing error")).await;
    new_cookies(&installation, remembered("ada", TestInstallation::PASSWORD)).await;
    guess(&installation, 1, || remembered("ada", "a typing error")).await;
    assert!(
        is_throttled(&installation, remembered("ada", "one more guess")).await,
        "it has a bound, too"
    );
    for other in ["bob", "nobody"] {
        guess(&installation, 10, || remembered(other, "guess")).await;
        assert!(
            is_throttled(&installation, remembered(other, "guess")).await,
            "it is remembered for ada only"
        );
    }
}

async fn guess_until_throttled(installation: &TestInstallation, address: &str) {
    while !is_throttled(installation, attempt_from(address, "ada", "guess")).await {}
}

#[tokio::test]
async fn a_reset_password_clears_what_was_counted() {
    let (installation, ada) = installation_with_ada();
    guess_until_throttled(&installation, "192.0.2.7").await;
    let new = Password::attempt("seven slow brown foxes");
    let reset = installation
        .accounts()
        .reset_password(&ada.user.username, &new)
        .await;
    reset.expect("reset");

    new_cookies(&installation, attempt("ada", "seven slow brown foxes")).await;
}

#[tokio::test]
async fn an_office_that_signs_in_correctly_meets_no_limit() {
    let (installation, ada) = installation_with_ada();
    let names: Vec<String> = (0..300).map(|number| format!("user-{number}")).collect();
    for name in &names {
        installation.member(&ada.organization, name, Role::Member);
        new_cookies(&installation, attempt(name, TestInstallation::PASSWORD)).await;
    }
}

#[tokio::test]
async fn an_address_that_guesses_at_many_accounts_is_stopped() {
    for (address, other, bound) in [
        ("192.0.2.7", "192.0.2.8", 200),
        // Of one /64, and of another one of the same site.
        ("2001:db8::1", "2001:db8:1::1", 200),
    ] {
        let (installation, _) = installation_with_ada();
        let sign_in = installation.sign_in();
        for number in 0..bound {
            let name = format!("user-{number}");
            let refused = sign_in.sign_in(attempt_from(address, &name, "guess")).await;
            assert!(
                matches!(refused, Err(SignInError::WrongCredentials)),
                "{refused:?}"
            );
        }
        assert!(is_throttled(&installation, attempt_from(address, "ada", "guess")).await);
        new_cookies(
            &installation,
            attempt_from(other, "ada", TestInstallation::PASSWORD),
        )
        .await;
    }
}

#[tokio::test]
async fn an_ipv6_site_has_a_bound_however_many_networks_it_uses() {
    let (installation, _) = installation_with_ada();
    let sign_in = installation.sign_in();
    for number in 0..500 {
        let (name, address) = (format!("user-{number}"), format!("2001:db8:0:{number}::1"));
        let refused = sign_in.sign_in(attempt_from(&address, &name, "guess")).await;
        assert!(
            matches!(refused, Err(SignInError::WrongCredentials)),
            "{refused:?}"
        );
    }
    assert!(is_throttled(&installation, attempt_from("2001:db8:0:ffff::1", "ada", "guess")).await);
    new_cookies(
        &installation,
        attempt_from("2001:db8:1::1", "ada", TestInstallation::PASSWORD),
    )
    .await;
}

#[tokio::test]
async fn refusals_of_one_account_are_told_without_flooding_the_log() {
    let (installation, ada) = installation_with_ada();
    for _ in 0..24 {
        for second in 0..60 {
            let address = format!("203.0.113.{second}");
            let attempt = attempt_from(&address, "ada", "guess");
            installation
                .sign_in()
                .sign_in(attempt)
                .await
                .expect_err("a guess");
        }
        installation.builder.clock.advance(TimeDelta::hours(1));
    }

    let events = installation.store.events();
    let told = |action| {
        let of_action = events.iter().filter(|event| event.action == action);
        let (own, others): (Vec<_>, Vec<_>) = of_action.partition(|event| event.organization_id.is_none());
        assert_eq!(own.len(), others.len(), "in the log of her organization, too");
        own.len()
    };
    assert_eq!(told(Action::SignIn), 20 + 23);
    assert!(
        events
            .iter()
            .all(|event| event.subject == Subject::User(ada.user.id))
    );
    assert!(events.iter().all(|event| event.outcome == Outcome::Refused));
}

#[tokio::test]
async fn the_first_attempt_that_is_not_checked_is_told_and_others_once_an_hour() {
    let (installation, ada) = installation_with_ada();
    for hour in 1..=3 {
        guess_until_throttled(&installation, "192.0.2.7").await;
        guess_until_throttled(&installation, "192.0.2.8").await;
        let events = installation.store.events();
        let limited = events
            .iter()
            .filter(|event| event.action == Action::LimitAttempts);
        let limited: Vec<_> = limited
            .map(|event| (event.organization_id, event.subject))
            .collect();
        let user = Subject::User(ada.user.id);
        assert_eq!(
            limited,
            [(None, user), (Some(ada.organization.id), user)].repeat(hour)
        );
        installation.builder.clock.advance(TimeDelta::hours(1));
    }
}

#[tokio::test]
async fn guesses_at_usernames_that_nobody_has_do_not_flood_the_log() {
    let (installation, _) = installation_with_ada();
    for number in 0..2_000 {
        let (name, address) = (format!("nobody-{number}"), format!("203.0.{}.7", number % 200));
        let attempt = attempt_from(&address, &name, "guess");
        installation
            .sign_in()
            .sign_in(attempt)
            .await
            .expect_err("a guess");
    }

    assert_eq!(installation.store.events().len(), 60);
}

#[tokio::test]
async fn of_guesses_at_once_no_more_are_checked_than_one_after_the_other() {
    let (installation, _) = installation_with_ada();
    let sign_in = installation.sign_in();
    let guesses = (0..64).map(|_| {
        let sign_in = sign_in.clone();
        tokio::spawn(async move { sign_in.sign_in(attempt("ada", "guess")).await })
    });
    let mut checked = 0;
    for guess in guesses.collect::<Vec<_>>() {
        let refused = guess.await.expect("no panic");
        checked += usize::from(matches!(refused, Err(SignInError::WrongCredentials)));
    }

    assert_eq!(checked, 10);
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
        .expect("signed in")
        .session;

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
        guess(&installation, 10, || attempt(username, "guess")).await;
    }
}

#[tokio::test]
async fn a_refusal_that_cannot_be_written_is_an_error_of_the_store() {
    let (installation, _) = installation_with_ada();
    let mut audit_log = MockLimitedAuditLog::new();
    audit_log
        .expect_record_within()
        .once()
        .returning(|_, _, _| Err(StorageError::Unavailable("down".into())));
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

/// Asks as a page does.
pub(crate) async fn is_signed_in(installation: &TestInstallation, token: &SessionToken) -> bool {
    let sign_in = installation.sign_in();
    let signed_in = sign_in.signed_in(token).await.expect("the store answers");
    if let Some(signed_in) = &signed_in {
        sign_in.note_seen(signed_in).await.expect("the store answers");
    }
    signed_in.is_some()
}
