use chrono::TimeDelta;
use keyward_domain::keys::IdempotencyKey;
use keyward_domain::sign_in::password::Password;
use keyward_domain::testing::TestInstallation;
use keyward_domain::user::Username;
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, REFERER};

use crate::browser::form;
use crate::running::{LIST, NEW, Running};

const CREDENTIALS: [(&str, &str); 2] = [("username", "ada"), ("password", TestInstallation::PASSWORD)];

/// The value's place is taken by a star.
fn attributes(set_cookie: &str) -> String {
    let (name, rest) = set_cookie.split_once('=').unwrap();
    let (_, attributes) = rest.split_once(';').unwrap();
    format!("{name}=*;{attributes}")
}

#[tokio::test]
async fn session_cookie_has_host_prefix_over_https_but_not_locally() {
    let https = Running::behind_https().await;
    let answer = https.visitor().post("/sign-in", &CREDENTIALS).await;
    assert_eq!(
        attributes(answer.header("set-cookie")),
        "__Host-session=*; Path=/; Secure; HttpOnly; SameSite=Lax"
    );
    let (local, _) = Running::with_ada().await;
    let answer = local.visitor().post("/sign-in", &CREDENTIALS).await;
    assert_eq!(
        attributes(answer.header("set-cookie")),
        "session=*; Path=/; HttpOnly; SameSite=Lax"
    );
}

#[tokio::test]
async fn sign_out_ends_the_session_in_browser_and_on_server() {
    let running = Running::behind_https().await;
    let browser = running.signed_in("ada").await;
    let stolen = browser.second_tab();
    let answer = browser.post("/sign-out", &[]).await;
    let cookies = answer.headers.get_all("set-cookie").iter();
    let removal = "__Host-session=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0";
    assert!(cookies.into_iter().any(|cookie| cookie == removal));
    assert!(browser.follow(&answer).await.shows("You are signed out."));
    assert!(stolen.get(LIST).await.location().starts_with("/sign-in"));
}

#[tokio::test]
async fn repeated_sign_out_succeeds() {
    let (running, _) = Running::with_ada().await;
    let visitor = running.visitor();
    let answer = visitor.post("/sign-out", &[]).await;
    assert_eq!((answer.status, answer.location()), (303, "/sign-in"));
    assert!(visitor.follow(&answer).await.shows("You are signed out."));
}

#[tokio::test]
async fn sign_in_replaces_the_browsers_previous_session() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let before = browser.second_tab();
    browser.post("/sign-in", &CREDENTIALS).await;
    assert_ne!(browser.cookie(), before.cookie());
    assert_eq!(browser.get(LIST).await.status, 200);
    assert_eq!(before.get(LIST).await.status, 303);
}

#[tokio::test]
async fn session_planted_by_an_attacker_is_not_adopted() {
    let (running, _) = Running::with_ada().await;
    let browser = running.visitor();
    let planted = format!("session={}", "0".repeat(64));
    browser.set_cookie(Some(planted.clone()));
    browser.post("/sign-in", &CREDENTIALS).await;
    assert_ne!(browser.cookie(), Some(planted.clone()));
    browser.set_cookie(Some(planted));
    assert_eq!(browser.get(LIST).await.status, 303);
}

#[tokio::test]
async fn expired_session_redirects_to_sign_in_and_back() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    running.installation.builder.clock.advance(TimeDelta::hours(13));
    let wanted = format!("{LIST}?status=all&search=a%20b");
    let answer = browser.get(&wanted).await;
    let sign_in = browser.follow(&answer).await;
    assert_eq!(sign_in.status, 200);
    assert!(sign_in.shows("You were signed out. Sign in to continue where you left off."));
    let visitor = running.visitor();
    let answer = visitor.get(&wanted).await;
    assert!(
        !visitor.follow(&answer).await.shows("You were signed out"),
        "no user was signed in"
    );
    assert_eq!(sign_in.field("next"), wanted.replace('&', "&#38;"));
    let fields = [&[("next", wanted.as_str())], &CREDENTIALS[..]].concat();
    let answer = browser.post("/sign-in", &fields).await;
    assert_eq!((answer.status, answer.location()), (303, wanted.as_str()));
}

#[tokio::test]
async fn expired_session_at_a_long_url_returns_to_its_path() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    running.installation.builder.clock.advance(TimeDelta::hours(13));
    let answer = browser.get(&format!("{LIST}?search={}", "a".repeat(2000))).await;
    let sign_in = browser.follow(&answer).await;
    assert!(
        sign_in.shows("You were signed out. Sign in to continue.\n"),
        "{}",
        sign_in.body
    );
    assert_eq!(sign_in.field("next"), LIST);
}

#[tokio::test]
async fn session_ends_after_14_days_despite_use() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    for _ in 0..27 {
        running.installation.builder.clock.advance(TimeDelta::hours(11));
        assert_eq!(browser.get(LIST).await.status, 200);
        running.installation.write_seen_sessions().await;
    }
    for _ in 0..4 {
        running.installation.builder.clock.advance(TimeDelta::hours(11));
        browser.get(LIST).await;
        running.installation.write_seen_sessions().await;
    }
    assert_eq!(browser.get(LIST).await.status, 303);
}

#[tokio::test]
async fn password_reset_ends_every_session() {
    let (running, ada) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let password = Password::attempt("another fifteen characters");
    let accounts = running.installation.accounts();
    accounts
        .reset_password(&ada.user.username, &password)
        .await
        .unwrap();
    assert_eq!(browser.get(LIST).await.status, 303);
}

#[tokio::test]
async fn form_sent_after_session_end_leads_back_to_its_page() {
    let (running, _) = Running::with_ada().await;
    let page = "/organizations/acme/settings/general";
    let form = format!("{page}/new-keys");
    let here = running.public_url.to_string();
    let local = format!("http://localhost:{}", running.port);
    for (referer, next) in [
        (format!("{here}{page}?x=1"), format!("{page}?x=1")),
        (format!("{local}{page}?x=1"), format!("{page}?x=1")),
        (format!("{here}{page}"), page.to_owned()),
        (format!("{here}{form}"), form.clone()),
        (format!("{here}/"), form.clone()),
        (format!("{here}{LIST}"), form.clone()),
        (format!("{here}@keyward.example{page}"), form.clone()),
        (format!("https://keyward.example{page}"), form.clone()),
    ] {
        let browser = running.signed_in("ada").await;
        browser.set_cookie(None);
        let request = browser
            .request(Method::POST, &form)
            .header("sec-fetch-site", "same-origin")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(REFERER, &referer)
            .body("manage_keys=no");
        let sign_in = browser.follow(&browser.send(request).await).await;
        assert!(sign_in.shows("your changes were not saved"), "{referer}");
        assert_eq!(sign_in.field("next"), next, "{referer}");
    }
}

#[tokio::test]
async fn form_sent_after_session_end_is_reported_as_unsaved() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let new = format!("{LIST}/new");
    let idempotency_key = browser.get(&new).await.field("idempotency_key").to_owned();
    browser.set_cookie(None);
    let fields = [
        ("idempotency_key", idempotency_key.as_str()),
        ("name", "Deploy"),
        ("description", ""),
    ];
    let answer = browser.post(&new, &fields).await;
    let sign_in = browser.follow(&answer).await;
    assert!(sign_in.shows("your changes were not saved"));
    assert_eq!(sign_in.field("next"), new);
}

#[tokio::test]
async fn api_key_does_not_authenticate_the_console() {
    let (running, ada) = Running::with_ada().await;
    let issued = running.installation.issue(&ada.as_holder(), "Deploy").await;
    let token = issued.token.expose();
    let visitor = running.visitor();
    let bearer = visitor.request(Method::GET, LIST).bearer_auth(token);
    assert_eq!(visitor.send(bearer).await.status, 303);
    visitor.set_cookie(Some(format!("session={token}")));
    assert_eq!(visitor.get(LIST).await.status, 303);
    let as_password = [("username", "ada"), ("password", token)];
    assert_eq!(visitor.post("/sign-in", &as_password).await.status, 422);
}

/// A thief of a session could otherwise begin a form with it and finish it after the session's end.
#[tokio::test]
async fn session_ending_while_its_form_arrives_changes_no_key() {
    let (running, ada) = Running::with_ada().await;
    let key = running.installation.issue(&ada.as_holder(), "kept").await.key;
    let revoke = format!("{LIST}/{}/revoke", key.id);
    let username = Username::parse("ada").unwrap();
    let password = TestInstallation::PASSWORD;
    let edit = format!("{LIST}/{}/edit", key.id);
    for path in [NEW, revoke.as_str(), edit.as_str()] {
        let browser = running.signed_in("ada").await;
        let idempotency_key = IdempotencyKey::generate(&running.installation.builder.sources).to_string();
        let body = form(&[
            ("idempotency_key", &idempotency_key),
            ("version", &key.version().to_string()),
            ("name", "thief's"),
            ("description", ""),
            ("confirm", "yes"),
        ]);
        let reset = async {
            let same_again = Password::choose(password, &username, &[]).unwrap();
            let accounts = running.installation.accounts();
            accounts.reset_password(&username, &same_again).await.unwrap();
        };
        let origin = running.public_url.as_str();
        let answer = browser.post_slowly(origin, path, &body, reset).await;
        assert!(answer.starts_with("HTTP/1.1 303 "), "{answer}");
        assert!(answer.contains("location: /sign-in?"), "{answer}");
        let list = running.signed_in("ada").await.get(LIST).await;
        assert!(list.shows("kept") && !list.shows("thief"), "{path}");
    }
}
