use reqwest::Method;
use reqwest::header::CONTENT_TYPE;

use crate::running::{LIST, NEW, Running};

#[tokio::test]
async fn unknown_page_is_404_with_links_onward() {
    let (running, _) = Running::with_ada().await;
    for path in [
        "/nowhere",
        "/organizations",
        "/sign-in/",
        "/organizations/acme/settings/pets",
    ] {
        let answer = running.visitor().get(path).await;
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.shows(answer.header("x-request-id")) && answer.shows("href=\"/\""));
    }
}

#[tokio::test]
async fn wrong_method_is_405_with_allowed_methods() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    for (method, path, allow) in [
        (Method::GET, "/sign-out", "POST"),
        (Method::POST, LIST, "GET, HEAD"),
        (Method::DELETE, NEW, "GET, HEAD, POST"),
        (Method::PUT, "/", "GET, HEAD"),
        (Method::OPTIONS, "/sign-in", "GET, HEAD, POST"),
    ] {
        let request = browser
            .request(method.clone(), path)
            .header("sec-fetch-site", "same-origin");
        let answer = browser.send(request).await;
        assert_eq!(
            (answer.status, answer.header("allow")),
            (405, allow),
            "{method} {path}"
        );
    }
}

#[tokio::test]
async fn head_answers_like_get_without_a_page_body() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let answer = browser.send(browser.request(Method::HEAD, LIST)).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, ""));
    assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
}

#[tokio::test]
async fn damaged_form_is_rejected_completely() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let idempotency_key = browser.get(NEW).await.field("idempotency_key").to_owned();
    for body in [
        String::new(),
        "name=x".to_owned(),
        format!("idempotency_key={idempotency_key}&name=x"),
        format!("idempotency_key={idempotency_key}&name=x&name=y&description="),
        format!("idempotency_key={idempotency_key}&name=%ff&description="),
        "idempotency_key=zzz&name=x&description=".to_owned(),
        "idempotency_key=&name=x&description=".to_owned(),
    ] {
        let answer = browser.post_body(NEW, body.clone()).await;
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.shows("This form could not be read"));
    }
    let list = browser.get(LIST).await;
    assert!(list.shows("Create your first key"), "nothing was created");
}

#[tokio::test]
async fn damaged_url_is_not_reported_as_a_form_error() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    for query in ["search=%ff", "search=a&search=b", "status=x", "after=x"] {
        let answer = browser.get(&format!("{LIST}?{query}")).await;
        assert_eq!(answer.status, 400, "{query}");
        assert!(answer.shows("Bad request"), "{query}");
    }
}

#[tokio::test]
async fn large_form_without_session_is_rejected_unread() {
    let (running, _) = Running::with_ada().await;
    let large = format!("username=ada&password={}", "x".repeat(16 * 1024));
    for path in ["/sign-in", "/join", "/setup", "/sign-out"] {
        assert_eq!(
            running.visitor().post_body(path, large.clone()).await.status,
            413,
            "{path}"
        );
    }
    for path in [NEW, "/account/password"] {
        let answer = running.visitor().post_body(path, large.clone()).await;
        assert!(
            answer.header("location").starts_with("/sign-in"),
            "{path}: {answer:?}"
        );
    }
}

#[tokio::test]
async fn large_form_with_session_is_read() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let idempotency_key = browser.get(NEW).await.field("idempotency_key").to_owned();
    let description = "x".repeat(17 * 1024);
    let answer = browser
        .post_body(
            NEW,
            format!("idempotency_key={idempotency_key}&name=x&description={description}"),
        )
        .await;
    assert_eq!(answer.status, 422, "its fields are judged: {answer:?}");
}

#[tokio::test]
async fn request_body_other_than_a_form_is_rejected() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    for content_type in [
        "application/json",
        "multipart/form-data; boundary=x",
        "text/plain",
        "",
    ] {
        let request = browser
            .request(Method::POST, NEW)
            .header("sec-fetch-site", "same-origin")
            .header(CONTENT_TYPE, content_type)
            .body("name=x");
        assert_eq!(browser.send(request).await.status, 415, "{content_type}");
    }
}

#[tokio::test]
async fn form_over_64_kib_is_rejected() {
    let (running, _) = Running::with_ada().await;
    let browser = running.signed_in("ada").await;
    let answer = browser
        .post_body(NEW, format!("name={}", "x".repeat(64 * 1024)))
        .await;
    assert_eq!(answer.status, 413);
}
