//! How many attempts are checked, and whom that keeps out.

use std::sync::Arc;

use chrono::TimeDelta;
use keyward_domain::membership::Role;
use keyward_domain::rate::Throttled;
use keyward_domain::sign_in::password::{MockPasswordHasher, Password};
use keyward_domain::sign_in::ports::{AttemptKind, FullBucket, MockSessionStore, MockThrottle};
use keyward_domain::sign_in::signing_in::{SignInAttempt, SignInError, SignInPorts};
use keyward_domain::testing::TestInstallation;

use super::{
    attempt, attempt_from, guess, guess_until_throttled, installation_with_ada, is_throttled, new_cookies,
    ports, with_ports,
};

#[tokio::test]
async fn throttled_attempts_are_refused_before_the_password_check() {
    for username in ["Ada ", "nobody"] {
        let (installation, _) = installation_with_ada();
        let retry_after = TimeDelta::seconds(30);
        let mut throttle = MockThrottle::new();
        throttle
            .expect_count_attempt()
            .withf(|kind, _, _| *kind == AttemptKind::StrangersSignIn)
            .once()
            .returning(move |_, buckets, _| {
                Ok(Some(FullBucket {
                    bucket: buckets[0],
                    throttled: Throttled { retry_after },
                }))
            });
        throttle.expect_give_back().never();
        let mut hasher = MockPasswordHasher::new();
        hasher.expect_verify().never();
        hasher.expect_verify_dummy().never();
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
async fn guessing_one_account_throttles_only_that_account() {
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
async fn guessing_stranger_does_not_block_the_user_elsewhere() {
    let (installation, _) = installation_with_ada();
    guess(&installation, 10, || attempt("ada", "guess")).await;
    for _ in 0..1_000 {
        assert!(is_throttled(&installation, attempt("ada", "guess")).await);
    }

    let elsewhere = attempt_from("198.51.100.1", "ada", TestInstallation::PASSWORD);
    new_cookies(&installation, elsewhere).await;
}

#[tokio::test]
async fn remembered_browser_signs_in_during_guessing_by_others() {
    let (installation, ada) = installation_with_ada();
    installation.member(&ada.organization, "bob", Role::Member);
    let browser = new_cookies(&installation, attempt("ada", TestInstallation::PASSWORD))
        .await
        .browser;
    // From her own address and from many others, until no new browser is accepted.
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

#[tokio::test]
async fn password_reset_clears_counted_attempts() {
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
async fn shared_address_with_correct_sign_ins_is_not_limited() {
    let (installation, ada) = installation_with_ada();
    let names: Vec<String> = (0..300).map(|number| format!("user-{number}")).collect();
    for name in &names {
        installation.member(&ada.organization, name, Role::Member);
        new_cookies(&installation, attempt(name, TestInstallation::PASSWORD)).await;
    }
}

#[tokio::test]
async fn address_guessing_at_many_accounts_is_throttled() {
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
async fn ipv6_site_is_limited_across_its_networks() {
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
async fn concurrent_guesses_are_limited_like_sequential_ones() {
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
