use reqwest::Method;

use crate::browser::Answer;
use crate::running::{LIST, NEW, Running};

const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; \
     base-uri 'none'";

fn assert_protected(path: &str, answer: &Answer) {
    assert_eq!(
        answer.header("content-security-policy"),
        CONTENT_SECURITY_POLICY,
        "{path}"
    );
    assert_eq!(answer.header("cache-control"), "no-store", "{path}");
    assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
    assert_eq!(
        answer.header("cross-origin-opener-policy"),
        "same-origin",
        "{path}"
    );
    // With the front door's `no-referrer`, browsers would send `Origin: null` with our forms.
    assert_eq!(answer.header("referrer-policy"), "same-origin", "{path}");
    for name in ["permissions-policy", "x-request-id"] {
        assert!(!answer.header(name).is_empty(), "{name} of {path}");
    }
    if answer.status != 303 {
        assert_eq!(
            answer.header("content-type"),
            "text/html; charset=utf-8",
            "{path}"
        );
        assert!(
            !answer.shows("<style") && !answer.shows(" style="),
            "inline style at {path}"
        );
        assert!(
            !answer.shows("<script>") && !answer.shows(" onclick="),
            "inline script at {path}"
        );
    }
}

#[tokio::test]
async fn url_with_a_secret_is_not_sent_as_referrer() {
    let (running, _) = Running::with_ada().await;
    for path in ["/join?token=0", "/setup?token=0"] {
        let answer = running.visitor().get(path).await;
        assert_eq!(answer.header("referrer-policy"), "strict-origin", "{path}");
    }
}

#[tokio::test]
async fn every_response_has_the_security_headers() {
    let (running, _) = Running::with_ada().await;
    let visitor = running.visitor();
    let ada = running.signed_in("ada").await;
    for path in ["/", "/sign-in", "/setup", "/nowhere", LIST, "/assets/nothing.css"] {
        assert_protected(path, &visitor.get(path).await);
    }
    let general = "/organizations/acme/settings/general";
    for path in [
        "/",
        "/sign-in",
        LIST,
        NEW,
        general,
        "/organizations/other/settings/api-keys",
    ] {
        assert_protected(path, &ada.get(path).await);
    }
    let refused = visitor.send(visitor.request(Method::POST, "/sign-in")).await;
    assert_protected("cross-site", &refused);
    let wrong_method = ada.send(ada.request(Method::GET, "/sign-out")).await;
    assert_protected("/sign-out", &wrong_method);
}

#[tokio::test]
async fn hsts_is_sent_over_public_https_only() {
    let https = Running::behind_https().await.visitor().get("/sign-in").await;
    assert_eq!(https.header("strict-transport-security"), "max-age=31536000");
    let (local, _) = Running::with_ada().await;
    let local = local.visitor().get("/sign-in").await;
    assert_eq!(local.header("strict-transport-security"), "");
}

#[tokio::test]
async fn front_door_refusal_uses_console_page_and_policy() {
    let response = keyward_console::error_page(poem::http::StatusCode::SERVICE_UNAVAILABLE, "request-7");
    assert_eq!(response.status(), 503);
    let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap());
    assert_eq!(header("content-security-policy"), Some(CONTENT_SECURITY_POLICY));
    assert_eq!(header("cache-control"), Some("no-store"));
    let body = response.into_body().into_string().await.unwrap();
    assert!(body.contains("<code>request-7</code>") && body.contains("href=\"/\""));
}
