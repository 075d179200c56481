use keyward_domain::testing::TestInstallation;
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;

use crate::browser::{Answer, form};
use crate::running::{LIST, NEW, Running};

/// Tries to sign in with these headers.
async fn sign_in(running: &Running, headers: &[(&str, &str)]) -> Answer {
    let browser = running.visitor();
    let mut request = browser
        .request(Method::POST, "/sign-in")
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(form(&[
            ("username", "ada"),
            ("password", TestInstallation::PASSWORD),
        ]));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    browser.send(request).await
}

#[tokio::test]
async fn form_is_accepted_from_its_own_origin_only() {
    let (running, _) = Running::with_ada().await;
    let ours = running.public_url.as_str();
    let localhost = format!("http://localhost:{}", running.port);
    let other_port = "http://127.0.0.1:1";
    for believed in [
        &[("sec-fetch-site", "same-origin")][..],
        &[("sec-fetch-site", "same-origin"), ("origin", ours)],
        &[("origin", ours)],
        &[("origin", localhost.as_str())],
    ] {
        assert_eq!(sign_in(&running, believed).await.status, 303, "{believed:?}");
    }
    for refused in [
        &[][..],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "none")],
        &[("sec-fetch-site", "")],
        &[("sec-fetch-site", "cross-site"), ("origin", ours)],
        &[
            ("sec-fetch-site", "same-origin"),
            ("sec-fetch-site", "cross-site"),
        ],
        &[("origin", "null")],
        &[("origin", "https://evil.example")],
        &[("origin", other_port)],
        &[("origin", ours), ("origin", "https://evil.example")],
        &[("referer", ours)],
    ] {
        let answer = sign_in(&running, refused).await;
        assert_eq!(answer.status, 403, "{refused:?}");
        assert_eq!(answer.header("set-cookie"), "", "{refused:?}");
        assert!(answer.shows(answer.header("x-request-id")));
    }
}

#[tokio::test]
async fn public_https_url_is_the_only_accepted_origin() {
    let running = Running::behind_https().await;
    let local = format!("http://127.0.0.1:{}", running.port);
    assert_eq!(
        sign_in(&running, &[("origin", "https://keys.example.com")])
            .await
            .status,
        303
    );
    for origin in [
        local.as_str(),
        "http://keys.example.com",
        "https://keys.example.com:8443",
    ] {
        let refused = sign_in(&running, &[("origin", origin)]).await;
        assert!(refused.shows("open Keyward at https://keys.example.com and"));
        assert_eq!(refused.status, 403, "{origin}");
    }
}

#[tokio::test]
async fn forged_form_changes_nothing_for_a_signed_in_user() {
    let (running, ada) = Running::with_ada().await;
    let issued = running.installation.issue(&ada.as_holder(), "Deploy").await;
    let browser = running.signed_in("ada").await;
    let before = running.installation.store.events();
    let revoke = format!("{LIST}/{}/revoke", issued.key.id);
    let edit = format!("{LIST}/{}/edit", issued.key.id);
    for path in ["/sign-out", "/setup", NEW, &revoke, &edit] {
        let forged = browser
            .request(Method::POST, path)
            .header("sec-fetch-site", "cross-site")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body("confirm=yes&name=x&description=&idempotency_key=00000000000000000000000000000000");
        assert_eq!(browser.send(forged).await.status, 403, "{path}");
    }
    assert_eq!(running.installation.store.events(), before);
}

#[tokio::test]
async fn get_request_changes_nothing() {
    let (running, ada) = Running::with_ada().await;
    let issued = running.installation.issue(&ada.as_holder(), "Deploy").await;
    let browser = running.signed_in("ada").await;
    let before = running.installation.store.events();
    let revoke = format!("{LIST}/{}/revoke?confirm=yes&descendants=revoke", issued.key.id);
    let new = format!("{NEW}?name=x&description=&idempotency_key=00000000000000000000000000000000");
    let edit = format!("{LIST}/{}/edit?name=x&description=", issued.key.id);
    for path in ["/", "/sign-in", "/sign-out", "/setup", LIST, &new, &revoke, &edit] {
        for method in [Method::GET, Method::HEAD] {
            browser.send(browser.request(method, path)).await;
        }
    }
    assert_eq!(running.installation.store.events(), before);
}
