use std::sync::Arc;

use chrono::TimeDelta;
use keyward_domain::sign_in::password::{HashingError, MockPasswordHasher};
use keyward_domain::sign_in::signing_in::{SignIn, SignInPorts};
use keyward_domain::testing::TestInstallation;

use crate::log::Log;
use crate::running::{LIST, Running};

const CREDENTIALS: [(&str, &str); 2] = [("username", "ada"), ("password", TestInstallation::PASSWORD)];

#[tokio::test]
async fn home_redirects_through_sign_in_to_keys() {
    let (running, _) = Running::with_ada().await;
    let browser = running.visitor();
    assert_eq!(browser.get("/").await.location(), "/sign-in");
    let answer = browser.post("/sign-in", &CREDENTIALS).await;
    assert_eq!((answer.status, answer.location()), (303, "/"));
    assert_eq!(browser.get("/").await.location(), LIST);
    assert_eq!(browser.get(LIST).await.status, 200);
}

#[tokio::test]
async fn signed_in_user_is_redirected_from_the_sign_in_page() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    assert_eq!(browser.get("/sign-in").await.location(), "/");
    let next = "/sign-in?next=%2Forganizations%2Facme%2Fsettings%2Fgeneral";
    assert_eq!(
        browser.get(next).await.location(),
        "/organizations/acme/settings/general"
    );
}

#[tokio::test]
async fn unknown_user_and_wrong_password_look_the_same() {
    let (running, _) = Running::with_ada().await;
    let browser = running.visitor();
    let mut pages = Vec::new();
    for username in ["ada", "bob", "", "ADA ", "not a username!", "<script>"] {
        let wrong = [("username", username), ("password", "certainly not the one")];
        let answer = browser.post("/sign-in", &wrong).await;
        assert_eq!(answer.status, 422, "{username}");
        assert!(!answer.shows("certainly not"), "the password came back");
        let typed = username.replace('<', "&#60;").replace('>', "&#62;");
        assert_eq!(answer.field("username"), typed);
        pages.push(answer.body.replace(&format!("value=\"{typed}\""), ""));
    }
    assert!(pages[0].contains("The username or the password is wrong."));
    assert!(pages.iter().all(|page| *page == pages[0]), "the pages differ");
}

#[tokio::test]
async fn sign_in_while_many_passwords_wait_logs_no_failure() {
    let installation = TestInstallation::new();
    let store = Arc::new(installation.store.clone());
    let mut hasher = MockPasswordHasher::new();
    let busy = hasher.expect_verify_dummy();
    busy.returning(|_, _| Err(HashingError::Busy));
    let ports = SignInPorts {
        accounts: store.clone(),
        sessions: store.clone(),
        throttle: store.clone(),
        installation: store.clone(),
        refusals: store.clone(),
        memberships: store,
        hasher: Arc::new(hasher),
        seen: Arc::clone(&installation.seen_sessions),
    };
    let sign_in = SignIn::new(ports, installation.builder.sources.clone());
    let running = Running::with(installation, None, |console| console.sign_in = sign_in).await;
    let (log, _guard) = Log::start();
    let answer = running.visitor().post("/sign-in", &CREDENTIALS).await;
    assert_eq!(answer.status, 503);
    let line = log.line_with("request answered");
    assert!(
        line.contains("503") && !log.text().contains("ERROR"),
        "{}",
        log.text()
    );
}

#[tokio::test]
async fn token_entered_as_username_is_not_displayed_again() {
    let (running, _) = Running::with_ada().await;
    let token = "kwp_000000000000000000000000000000002wjyrI";
    let attempt = [("username", token), ("password", "certainly not the one")];
    let answer = running.visitor().post("/sign-in", &attempt).await;
    assert_eq!(answer.status, 422);
    assert!(!answer.shows(token), "{}", answer.body);
}

#[tokio::test]
async fn throttled_sign_in_states_the_wait_for_any_username() {
    let (running, _) = Running::with_ada().await;
    let browser = running.visitor();
    for username in ["ada", "bob"] {
        let wrong = [("username", username), ("password", "certainly not the one")];
        for _ in 0..10 {
            assert_eq!(browser.post("/sign-in", &wrong).await.status, 422);
        }
        let right = [("username", username), ("password", TestInstallation::PASSWORD)];
        let answer = browser.post("/sign-in", &right).await;
        assert_eq!((answer.status, answer.header("retry-after")), (429, "60"));
        assert!(
            answer
                .text()
                .contains("Too many attempts. Try again in 60 seconds.")
        );
        assert!(!answer.shows("aria-invalid"), "what was typed may be right");
        assert_eq!(answer.field("username"), username);
    }
    running.installation.builder.clock.advance(TimeDelta::seconds(60));
    assert_eq!(browser.post("/sign-in", &CREDENTIALS).await.status, 303);
}

#[tokio::test]
async fn sign_in_never_redirects_to_another_site() {
    let (running, _) = Running::with_ada().await;
    for next in [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example/",
        "/\t/evil.example",
        "javascript:alert(1)",
        "evil",
    ] {
        let browser = running.visitor();
        let page = format!("/sign-in?next={}", crate::browser::form(&[(next, "")]));
        assert!(!browser.get(&page).await.shows("name=\"next\""), "{next}");
        let fields = [&[("next", next)], &CREDENTIALS[..]].concat();
        assert_eq!(browser.post("/sign-in", &fields).await.location(), "/", "{next}");
        let signed_in = browser.get(&page).await;
        assert_eq!(signed_in.location(), "/", "{next}");
    }
}

#[tokio::test]
async fn refused_sign_in_keeps_the_requested_page() {
    let (running, _) = Running::with_ada().await;
    let fields = [("username", "ada"), ("password", "wrong"), ("next", LIST)];
    let answer = running.visitor().post("/sign-in", &fields).await;
    assert_eq!(answer.field("next"), LIST);
}

#[tokio::test]
async fn forgotten_password_page_shows_the_administrators_command() {
    let (running, _) = Running::with_ada().await;
    let page = running.visitor().get("/sign-in").await;
    assert!(
        page.shows("<code>keyward admin reset-password --username …"),
        "{}",
        page.body
    );
}
