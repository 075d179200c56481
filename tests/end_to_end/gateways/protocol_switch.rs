//! Clients that ask a gateway for a connection in which it would not read requests any more.

use super::ACCEPTED;
use super::answer::values;
use super::gateway::{Gateway, Program};
use super::service::Service;

#[tokio::test(flavor = "multi_thread")]
async fn nginx_passes_no_upgrade_on() {
    passes_at_most_websocket_on(Program::Nginx).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn caddy_passes_no_upgrade_but_websocket_on() {
    passes_at_most_websocket_on(Program::Caddy).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn haproxy_passes_no_upgrade_but_websocket_on() {
    passes_at_most_websocket_on(Program::Haproxy).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn apache_passes_no_upgrade_on() {
    passes_at_most_websocket_on(Program::Apache).await;
}

/// Over HTTP/2 in an upgraded connection, a client would send the service requests about which Keyward is not asked.
async fn passes_at_most_websocket_on(program: Program) {
    let keyward = Service::saying(ACCEPTED).await;
    let service = Service::switching().await;
    let gateway = Gateway::start(program, &keyward.address.to_string(), service.address).await;
    for (upgrades, is_websocket) in [
        (&["h2c"][..], false),
        (&["H2C"], false),
        (&["h2c, websocket"], false),
        (&["websocket, h2c"], false),
        (&["h2c", "websocket"], false),
        (&["websocket", "h2c"], false),
        (&["websocket", "websocket"], false),
        (&["websocket/13"], false),
        (&["TLS/1.2"], false),
        (&["websocket"], true),
        (&["WebSocket"], true),
    ] {
        let mut headers = vec![
            "Connection: Upgrade, HTTP2-Settings, X-Consumer-ID".to_owned(),
            "HTTP2-Settings: AAMAAABk".to_owned(),
            "Sec-WebSocket-Version: 13".to_owned(),
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==".to_owned(),
        ];
        headers.extend(upgrades.iter().map(|upgrade| format!("Upgrade: {upgrade}")));
        let arguments: Vec<&str> = headers
            .iter()
            .flat_map(|header| ["--header", header.as_str()])
            .collect();
        let answer = gateway.ask_with_key("/orders", "kwp_x", &arguments).await;
        let request = service.last_request();
        let connection = values(&request, "Connection").join(",").to_lowercase();
        if is_websocket && program.passes_websocket_on() {
            assert_eq!(answer.status, 101, "{program:?} {upgrades:?}: {answer:?}");
            assert_eq!(answer.body, "switched", "{program:?} {upgrades:?}: {answer:?}");
            assert_eq!(
                values(&request, "Upgrade"),
                ["websocket"],
                "{program:?}: {request}"
            );
            assert_eq!(connection, "upgrade", "{program:?}: {request}");
        } else {
            assert_eq!(answer.status, 200, "{program:?} {upgrades:?}: {answer:?}");
            assert!(values(&request, "Upgrade").is_empty(), "{program:?}: {request}");
            assert!(!connection.contains("upgrade"), "{program:?}: {request}");
        }
        assert!(!connection.contains("http2-settings"), "{program:?}: {request}");
        assert!(
            values(&request, "HTTP2-Settings").is_empty(),
            "{program:?}: {request}"
        );
        assert_eq!(values(&request, "X-Consumer-ID"), ["1"], "{program:?}: {request}");
    }
    gateway.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_passes_no_connect_on() {
    passes_no_connect_on(Program::Nginx, 400).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn caddy_passes_no_connect_on() {
    passes_no_connect_on(Program::Caddy, 405).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn haproxy_passes_no_connect_on() {
    passes_no_connect_on(Program::Haproxy, 405).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn apache_passes_no_connect_on() {
    passes_no_connect_on(Program::Apache, 405).await;
}

/// Bytes after it may reach the service unchanged, as requests about which Keyward is not asked.
async fn passes_no_connect_on(program: Program, status: u16) {
    let keyward = Service::saying(ACCEPTED).await;
    let service = Service::echo().await;
    let gateway = Gateway::start(program, &keyward.address.to_string(), service.address).await;
    for head in ["", "Content-Length: 0\r\n"] {
        let answer = gateway
            .send(&format!(
                "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com\r\nAuthorization: Bearer kwp_x\r\n\
                 Connection: close\r\n{head}\r\n"
            ))
            .await;
        assert_eq!(answer.status, status, "{program:?}: {answer:?}");
        assert_eq!(service.requests(), 0, "{program:?} passed CONNECT on");
    }
    gateway.end().await;
}
