//! `/docs` in a real browser: a person reads the document there, and tries an operation with a key of their
//! own.

use serde_json::{Value, json};

use crate::browser::Browser;
use keyward_tests::api::{Api, text};
use keyward_tests::console::{PlainConsole, token_in};
use keyward_tests::keyward::Keyward;

/// Notes every violation of the page's policy and every error of its script, from before its first line on.
const WATCH: &str = "window.reports = [];
    addEventListener('securitypolicyviolation', e => reports.push(`${e.violatedDirective} ${e.blockedURI}`));
    addEventListener('error', e => reports.push(`error ${e.message ?? e.target.outerHTML}`), true);
    addEventListener('unhandledrejection', e => reports.push(`rejection ${e.reason}`));";

/// The reports since the page began to load.
async fn reports(browser: &Browser) -> Value {
    let reports = browser.driver.execute("return window.reports", vec![]).await;
    reports.expect("the reports").json().clone()
}

async fn watched_docs_page(keyward: &Keyward) -> Browser {
    let browser = Browser::open().await;
    let watch = json!({ "source": WATCH });
    let watching = browser
        .driver
        .cdp()
        .send_raw("Page.addScriptToEvaluateOnNewDocument", watch)
        .await;
    watching.expect("the page is watched");
    browser.go_to(&format!("{}/docs", keyward.base_url())).await;
    browser
}

/// Opens the form of an operation.
async fn try_it(browser: &Browser, operation: &str) {
    let summary = browser.element(&format!("#{operation} .try > summary")).await;
    summary.click().await.expect("the form opens");
}

async fn send(browser: &Browser, operation: &str) {
    let button = browser.element(&format!("#{operation} form button")).await;
    button.click().await.expect("the request is sent");
}

/// The result that is shown once a request has ended.
async fn outcome(browser: &Browser, operation: &str, end: End) -> String {
    let tone = match end {
        End::Success => "success",
        End::Failure => "failure",
    };
    let outcome = format!("#{operation} .outcome");
    browser
        .element(&format!("{outcome} [role=status] > .{tone}"))
        .await;
    browser.element(&outcome).await.text().await.expect("text")
}

/// How a request can end.
enum End {
    Success,
    Failure,
}

#[tokio::test(flavor = "multi_thread")]
async fn user_creates_a_key_on_the_docs_page() {
    let keyward = Keyward::start_set_up().await;
    let api = PlainConsole::sign_in_owner(&keyward)
        .await
        .api_with_first_key()
        .await;
    let browser = watched_docs_page(&keyward).await;

    try_it(&browser, "createApiKey").await;
    send(&browser, "createApiKey").await;
    let shown = outcome(&browser, "createApiKey", End::Failure).await;
    assert!(shown.contains("API key"), "{shown}");

    browser.fill("key", api.token().expect("a token")).await;
    browser
        .fill("body", r#"{"name": "From the docs <b>page</b>"}"#)
        .await;
    send(&browser, "createApiKey").await;
    let shown = outcome(&browser, "createApiKey", End::Success).await;
    assert!(shown.starts_with("201 Created"), "{shown}");
    let told = browser.element("#createApiKey [role=status]").await.text().await;
    assert_eq!(told.expect("text"), "201 Created", "only this is read out");
    let focused = browser.driver.active_element().await.expect("a focused button");
    assert_eq!(focused.text().await.expect("text"), "Send POST");
    let token = token_in(&shown).unwrap_or_else(|| panic!("no token in {shown}"));
    assert!(
        Api::anonymous(keyward.base_url())
            .with_token(&token)
            .is_accepted()
            .await
    );
    assert!(shown.contains("<b>page</b>"), "{shown}");

    try_it(&browser, "getApiKey").await;
    browser.fill("id", "current").await;
    send(&browser, "getApiKey").await;
    let shown = outcome(&browser, "getApiKey", End::Success).await;
    assert!(shown.contains("\"name\": \"first\""), "{shown}");

    browser.fill("id", "no such/../key?").await;
    send(&browser, "getApiKey").await;
    let shown = outcome(&browser, "getApiKey", End::Failure).await;
    assert!(shown.contains("\"code\": \"not_found\""), "{shown}");

    assert_eq!(reports(&browser).await, json!([]));
    browser.close().await;
    let names = api.list("").await;
    assert_eq!(text(&names["items"][0], "name"), "From the docs <b>page</b>");
}

#[tokio::test(flavor = "multi_thread")]
async fn docs_page_revokes_a_key_only_after_confirmation() {
    let keyward = Keyward::start_set_up().await;
    let api = PlainConsole::sign_in_owner(&keyward)
        .await
        .api_with_first_key()
        .await;
    let browser = watched_docs_page(&keyward).await;
    browser.fill("key", api.token().expect("a token")).await;
    try_it(&browser, "deleteApiKey").await;
    browser.fill("id", "current").await;

    send(&browser, "deleteApiKey").await;
    let question = browser.element("dialog[open]").await.text().await.expect("text");
    assert!(
        question.contains("DELETE /api/v1/user/api-keys/current"),
        "{question}"
    );
    browser.press("Cancel").await;
    assert!(api.is_accepted().await);

    send(&browser, "deleteApiKey").await;
    let sends = browser.element("dialog[open] .danger").await;
    sends.click().await.expect("yes");
    let shown = outcome(&browser, "deleteApiKey", End::Success).await;
    assert!(shown.starts_with("204"), "{shown}");
    assert!(!api.is_accepted().await);
    assert_eq!(reports(&browser).await, json!([]));
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn docs_page_sends_and_shows_headers() {
    let keyward = Keyward::start_set_up().await;
    let api = PlainConsole::sign_in_owner(&keyward)
        .await
        .api_with_first_key()
        .await;
    let browser = watched_docs_page(&keyward).await;
    browser.fill("key", api.token().expect("a token")).await;
    try_it(&browser, "getApiKey").await;
    browser.fill("id", "current").await;
    send(&browser, "getApiKey").await;
    let shown = outcome(&browser, "getApiKey", End::Success).await;
    assert!(shown.contains("ETag: \""), "{shown}");
    try_it(&browser, "getApiKey").await;

    try_it(&browser, "deleteApiKey").await;
    browser.fill("id", "current").await;
    browser.fill("If-Match", "\"another-version\"").await;
    send(&browser, "deleteApiKey").await;
    let sends = browser.element("dialog[open] .danger").await;
    sends.click().await.expect("yes");
    let shown = outcome(&browser, "deleteApiKey", End::Failure).await;
    assert!(shown.starts_with("412"), "{shown}");
    assert!(api.is_accepted().await);
    assert_eq!(reports(&browser).await, json!([]));
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn docs_page_sends_nothing_invalid_in_a_header() {
    let keyward = Keyward::start().await;
    let browser = watched_docs_page(&keyward).await;
    browser.fill("key", "kwp_…").await;
    try_it(&browser, "getUser").await;
    send(&browser, "getUser").await;
    let shown = outcome(&browser, "getUser", End::Failure).await;
    assert!(shown.contains("Enter your API key first."), "{shown}");
    browser.press("Enter API key").await;
    let focused = browser.driver.active_element().await.expect("a focused field");
    assert_eq!(focused.id().await.expect("an id").as_deref(), Some("key"));
    browser.press("Back to the operation").await;
    assert!(browser.address().await.ends_with("/docs#getUser"));
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn docs_page_stores_no_entered_key() {
    let keyward = Keyward::start_set_up().await;
    let api = PlainConsole::sign_in_owner(&keyward)
        .await
        .api_with_first_key()
        .await;
    let browser = watched_docs_page(&keyward).await;
    browser.fill("key", api.token().expect("a token")).await;
    try_it(&browser, "getUser").await;
    send(&browser, "getUser").await;
    outcome(&browser, "getUser", End::Success).await;

    let kept = "return [localStorage.length, sessionStorage.length, document.cookie, location.href.includes('kwp_')]";
    let kept = browser.driver.execute(kept, vec![]).await.expect("what is kept");
    assert_eq!(kept.json(), &json!([0, 0, "", false]));
    for leave_and_return in ["reload", "back"] {
        if leave_and_return == "reload" {
            browser.driver.refresh().await.expect("a reload");
        } else {
            browser.fill("key", api.token().expect("a token")).await;
            browser
                .go_to(&format!("{}/problems/not_found", keyward.base_url()))
                .await;
            browser.driver.back().await.expect("the way back");
        }
        let field = browser.element("#key").await;
        let value = field.prop("value").await.expect("a value");
        assert_eq!(value.as_deref(), Some(""), "after {leave_and_return}");
    }
    assert_eq!(reports(&browser).await, json!([]));
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn docs_page_policy_monitor_detects_a_violation() {
    let keyward = Keyward::start().await;
    let browser = watched_docs_page(&keyward).await;
    let script = "document.body.setAttribute('style', 'color: red')";
    browser.driver.execute(script, vec![]).await.expect("a violation");
    let reports = reports(&browser).await.to_string();
    assert!(reports.contains("style-src"), "{reports}");
    browser.close().await;
}
