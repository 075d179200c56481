//! How many headers go in, and which come out.

use crate::{
    client::Answer,
    running::{Running, request_id},
};

/// A request with this many headers beside `Host`.
fn with_headers(headers: usize) -> String {
    format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n",
        "X-Some: x\r\n".repeat(headers)
    )
}

/// A request whose head has this length.
fn with_head_of(bytes: usize) -> String {
    let rest = "GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: \r\n\r\n".len();
    format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: {}\r\n\r\n",
        "x".repeat(bytes - rest)
    )
}

#[tokio::test]
async fn headers_up_to_the_limit_are_read() {
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    client.send(with_headers(63)).await;
    assert_eq!(client.answer().await.status, 200);
    client.send(with_head_of(32 * 1024)).await;
    assert_eq!(client.answer().await.status, 200);
}

#[tokio::test]
async fn too_many_headers_are_rejected() {
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    client.send(with_headers(64)).await;
    let answer = client.answer().await;
    assert_eq!((answer.status, &*answer.body), (431, ""));
    assert_eq!(client.closed().await, b"");
}

#[tokio::test]
async fn headers_over_the_size_limit_are_rejected_at_any_size() {
    let door = Running::with_defaults().await;
    for bytes in [32 * 1024 + 1, 100 * 1024, 1024 * 1024] {
        let mut client = door.client().await;
        client.send(with_head_of(bytes)).await;
        assert_eq!(client.answer().await.status, 431, "{bytes}");
    }
    assert!(door.stage.paths().is_empty());
}

fn assert_has_security_headers(answer: &Answer) {
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(answer.header(name), [value], "{name} in {answer:?}");
    }
    for name in [
        "referrer-policy",
        "permissions-policy",
        "content-security-policy",
        "x-request-id",
    ] {
        assert_eq!(answer.header(name).len(), 1, "{name} in {answer:?}");
    }
    assert!(answer.header("server").is_empty(), "{answer:?}");
}

#[tokio::test]
async fn every_response_has_security_headers_and_a_request_id() {
    let door = Running::with(|config| config.deadlines.handler = std::time::Duration::from_millis(100)).await;
    for (request, status) in [
        ("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
        ("GET /own-headers HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
        ("GET /missing HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        (
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999\r\n\r\n",
            413,
        ),
        ("GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n", 503),
        ("GET /panic HTTP/1.1\r\nHost: localhost\r\n\r\n", 500),
    ] {
        let mut client = door.client().await;
        client.send(request).await;
        let answer = client.answer().await;
        assert_eq!(answer.status, status, "{request}");
        assert_has_security_headers(&answer);
        assert!(answer.header("strict-transport-security").is_empty());
    }
}

#[tokio::test]
async fn every_https_response_has_strict_transport_security() {
    let door = Running::with(|config| config.https = true).await;
    let mut client = door.client().await;
    for path in ["/", "/missing", "/panic"] {
        assert_eq!(
            client.get(path).await.header("strict-transport-security"),
            ["max-age=31536000"]
        );
    }
}

#[tokio::test]
async fn page_overrides_only_content_security_and_referrer_policies() {
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    let default = client.get("/").await;
    assert_eq!(
        default.header("content-security-policy"),
        ["default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"]
    );
    assert_eq!(default.header("referrer-policy"), ["no-referrer"]);
    let own = client.get("/own-headers").await;
    assert_eq!(own.header("content-security-policy"), ["default-src 'self'"]);
    assert_eq!(own.header("referrer-policy"), ["same-origin"]);
    assert_eq!(own.header("x-frame-options"), ["DENY"]);
    assert_eq!(own.header("x-request-id"), [request_id(2)]);
}
