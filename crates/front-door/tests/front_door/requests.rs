//! Which requests reach the application, and how.

use crate::running::{Running, request_id};

#[tokio::test]
async fn client_supplied_request_id_is_replaced() {
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    for number in 1..=3 {
        client
            .send("GET /request-ids HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: forged\r\nx-request-id: again\r\n\r\n")
            .await;
        let answer = client.answer().await;
        assert_eq!(answer.body, request_id(number));
        assert_eq!(answer.header("x-request-id"), [request_id(number)]);
    }
}

#[tokio::test]
async fn valid_request_id_from_a_trusted_proxy_is_adopted() {
    let door = Running::with(|config| {
        config.trusted_proxies.networks = vec!["127.0.0.1/32".parse().unwrap()];
    })
    .await;
    let mut client = door.client().await;
    for (sent, taken) in [
        ("X-Request-Id: 7f3a-b.c\r\n", "7f3a-b.c".to_owned()),
        ("X-Request-Id: a\tb\r\n", request_id(1)),
        ("X-Request-Id: a\r\nX-Request-Id: b\r\n", request_id(2)),
        ("", request_id(3)),
    ] {
        client
            .send(format!(
                "GET /request-ids HTTP/1.1\r\nHost: localhost\r\n{sent}\r\n"
            ))
            .await;
        let answer = client.answer().await;
        assert_eq!(answer.body, taken, "{sent}");
        assert_eq!(answer.header("x-request-id"), [taken]);
    }
}

#[tokio::test]
async fn percent_encoded_letters_in_a_path_are_decoded() {
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    assert_eq!(client.get("/h%65llo%2Fyou?%65").await.status, 200);
    assert_eq!(door.stage.paths(), ["/hello%2Fyou"]);
}

#[tokio::test]
async fn error_page_contains_its_responses_request_id() {
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    client.send("GET /somewhere?secret HTTP/1.1\r\n\r\n").await;
    let answer = client.answer().await;
    assert_eq!(
        answer.body,
        format!("InvalidHost GET /somewhere?secret {}", request_id(1))
    );
    assert_eq!(answer.header("x-request-id"), [request_id(1)]);
}

#[tokio::test]
async fn request_without_exactly_one_host_is_rejected() {
    let door = Running::with_defaults().await;
    for hosts in [
        "",
        "Host:\r\n",
        "Host: localhost\r\nHost: localhost\r\n",
        "Host: a.example\r\nHost: b.example\r\n",
        "Host: a.example, b.example\r\n",
        "Host: user@a.example\r\n",
    ] {
        for version in ["HTTP/1.1", "HTTP/1.0"] {
            if hosts.is_empty() && version == "HTTP/1.0" {
                continue;
            }
            let mut client = door.client().await;
            client.send(format!("GET / {version}\r\n{hosts}\r\n")).await;
            assert_eq!(client.answer().await.status, 400, "{hosts:?} {version}");
        }
    }
    assert!(door.stage.paths().is_empty());
}

#[tokio::test]
async fn http_1_0_without_host_is_answered_and_closed() {
    let door = Running::with_defaults().await;
    for method in ["GET", "HEAD"] {
        let mut client = door.client().await;
        // As HAProxy's `option httpchk` sends it.
        client.send(format!("{method} /healthz HTTP/1.0\r\n\r\n")).await;
        assert_eq!(client.answer_to_head().await.status, 200, "{method}");
        client.closed().await;
    }
    assert_eq!(door.stage.paths(), ["/healthz", "/healthz"]);
}

#[tokio::test]
async fn trace_and_connect_are_405_with_allowed_methods() {
    let door = Running::with_defaults().await;
    for (request, allow) in [
        ("TRACE / HTTP/1.1", "GET, HEAD"),
        ("CONNECT localhost:443 HTTP/1.1", ""),
    ] {
        let mut client = door.client().await;
        client.send(format!("{request}\r\nHost: localhost\r\n\r\n")).await;
        let answer = client.answer().await;
        assert_eq!(answer.status, 405, "{request}");
        assert_eq!(answer.header("allow"), [allow], "{request}");
    }
    assert!(door.stage.paths().is_empty());
}

/// A proxy may pass on what its client sent after the head of CONNECT, and give the connection to other clients.
#[tokio::test]
async fn bytes_after_connect_are_no_request() {
    let door = Running::with_defaults().await;
    for head in [
        "CONNECT localhost:443 HTTP/1.1\r\nHost: localhost",
        "CONNECT a,b HTTP/1.1\r\nHost: a,b",
    ] {
        let mut client = door.client().await;
        client
            .send(format!(
                "{head}\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
            ))
            .await;
        let answer = client.answer().await;
        assert_eq!(answer.header("connection"), ["close"], "{head}: {answer:?}");
        assert_eq!(client.closed().await, b"", "{head}");
    }
    assert!(door.stage.paths().is_empty());
}

#[tokio::test]
async fn head_response_has_length_but_no_body() {
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    for path in ["/", "/panic"] {
        client
            .send(format!("HEAD {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
            .await;
        let answer = client.answer_to_head().await;
        assert_ne!(answer.header("content-length"), ["0"], "{answer:?}");
        assert_eq!(client.get("/").await.body, "hello");
    }
}
