//! The failure of one request does not affect others.

use std::{sync::Arc, time::Duration};

use keyward_front_door::Refused;

use crate::running::{Running, request_id};

#[tokio::test]
async fn panic_becomes_500_with_all_headers_and_connection_continues() {
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    for (id, path) in [(1, "/panic"), (2, "/panic-at-once")] {
        let answer = client.get(path).await;
        assert_eq!(answer.status, 500);
        assert_eq!(
            answer.body,
            format!("HandlerPanicked GET {path} {}", request_id(id))
        );
        assert_eq!(answer.header("x-content-type-options"), ["nosniff"]);
    }
    assert_eq!(client.get("/").await.status, 200);
}

#[tokio::test]
async fn panic_outside_the_application_ends_one_connection_only() {
    let door = Running::with(|config| {
        config.limits.connections = Some(1);
        config.error_pages = Arc::new(|_: &Refused<'_>| panic!("on purpose"));
    })
    .await;
    let mut client = door.client().await;
    client.send("TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!(client.closed().await, b"");
    assert_eq!(door.client().await.get("/").await.status, 200);
}

#[tokio::test]
async fn work_for_a_disconnected_client_is_dropped() {
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    client.ask("/never").await;
    door.stage.is_asked("/never").await;
    drop(client);
    door.stage.is_abandoned().await;
}

#[tokio::test]
async fn disconnects_at_any_point_leak_no_connection_slots() {
    let door = Running::with(|config| config.limits.connections = Some(2)).await;
    let request = "POST /length HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\n123";
    for bytes in 0..=request.len() {
        let mut client = door.client().await;
        client.send(&request[..bytes]).await;
    }
    assert_eq!(door.client().await.get("/").await.status, 200);
}

#[tokio::test]
async fn non_http_input_is_rejected() {
    let door = Running::with_defaults().await;
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"[..],
        b"\0\0\0\0\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: local\0host\r\n\r\n",
        b"GET /\x01 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n folded: x\r\n\r\n",
    ] {
        let mut client = door.client().await;
        client.send(bytes).await;
        assert_eq!(
            client.answer().await.status,
            400,
            "{}",
            String::from_utf8_lossy(bytes)
        );
        assert_eq!(client.closed().await, b"");
    }
    assert!(door.stage.paths().is_empty());
}

/// hyper has no answer to HTTP/2's preface, so that only the closed connection tells.
#[tokio::test]
async fn http_2_client_is_refused_immediately() {
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    let closed = tokio::time::timeout(Duration::from_secs(2), client.closed()).await;
    assert_eq!(closed.as_deref(), Ok(&b""[..]));
}
