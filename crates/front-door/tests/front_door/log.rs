//! The log line of a request, and data that it never contains.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use tracing::subscriber::{DefaultGuard, set_default};
use tracing_subscriber::fmt::MakeWriter;

use crate::{
    client::eventually,
    running::{Running, request_id},
};

/// Everything logged at TRACE by the test's thread, which runs the server, too.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn start() -> (Self, DefaultGuard) {
        let log = Self::default();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_ansi(false)
            .with_writer(log.clone())
            .finish();
        (log, set_default(subscriber))
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    async fn line_with(&self, part: &str) -> String {
        eventually(async || self.text().contains(part)).await;
        self.text()
            .lines()
            .find(|line| line.contains(part))
            .unwrap()
            .to_owned()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn request_log_line_has_path_status_client_and_id_only() {
    let (log, _guard) = Log::start();
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    client
        .send(
            "POST /missing?q=canary1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer canary2\r\n\
             Cookie: session=canary3\r\nX-Request-Id: canary4\r\nContent-Length: 7\r\n\r\ncanary5",
        )
        .await;
    assert_eq!(client.answer().await.status, 404);

    let line = log.line_with("request answered").await;
    for part in [
        "INFO",
        "method=POST",
        "path=\"/missing\"",
        "status=404",
        "duration_ms=",
        "client=127.0.0.1",
        &request_id(1),
    ] {
        assert!(line.contains(part), "{part} in {line}");
    }
    assert!(!log.text().contains("canary"), "{}", log.text());
}

#[tokio::test]
async fn request_that_is_no_http_is_logged_without_its_text() {
    for (request, reason) in [
        ("canary\r\n\r\n", "invalid"),
        (
            "GET / HTTP/1.1\r\nHost: localhost\r\ncanary\r\n\r\n",
            "invalid HTTP header",
        ),
    ] {
        let (log, _guard) = Log::start();
        let door = Running::with_defaults().await;
        let mut client = door.client().await;
        client.send(request).await;
        assert_eq!(client.answer().await.status, 400);
        let line = log.line_with("request not readable").await;
        for part in ["INFO", "peer=127.0.0.1:", reason] {
            assert!(line.contains(part), "{part} in {line}");
        }
        assert!(!log.text().contains("canary"), "{}", log.text());
    }
}

#[tokio::test]
async fn overlong_path_segment_is_not_logged() {
    let (log, _guard) = Log::start();
    let door = Running::with_defaults().await;
    // A token where its id belongs.
    let token = format!("kwp_{}xx", "canary".repeat(6));
    let mut client = door.client().await;
    client.get(&format!("/keys/{token}/more")).await;
    let line = log.line_with("request answered").await;
    assert!(line.contains("path=\"/keys/…/more\""), "{line}");
    assert!(!log.text().contains("canary"), "{}", log.text());
}

#[tokio::test]
async fn client_disconnect_is_logged() {
    let (log, _guard) = Log::start();
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    client.ask("/never").await;
    door.stage.is_asked("/never").await;
    drop(client);
    let line = log.line_with("client left before the response").await;
    assert!(
        line.contains("path=\"/never\"") && line.contains(&request_id(1)),
        "{line}"
    );
}

#[tokio::test]
async fn log_lines_within_a_request_have_its_id() {
    let (log, _guard) = Log::start();
    let door = Running::with_defaults().await;
    assert_eq!(door.client().await.get("/panic").await.status, 500);
    let line = log.line_with("application panicked").await;
    assert!(
        line.contains(&format!("request{{request_id={}}}", request_id(1))),
        "{line}"
    );
}

#[tokio::test]
async fn aborted_response_is_logged_with_its_request() {
    let (log, _guard) = Log::start();
    let door = Running::with(|config| config.deadlines.response = Duration::from_millis(100)).await;
    let mut client = door.client().await;
    client.ask("/unending").await;
    client.closed().await;
    let line = log.line_with("response cut off: application").await;
    assert!(line.contains("WARN") && line.contains(&request_id(1)), "{line}");
}

#[tokio::test]
async fn response_aborted_for_a_stalled_reader_is_logged_as_such() {
    let (log, _guard) = Log::start();
    let door = Running::with(|config| config.deadlines.stalled_response = Duration::from_millis(100)).await;
    let mut client = door.client().await;
    client.ask("/large").await;
    let line = log.line_with("response cut off: client").await;
    assert!(line.contains("WARN") && line.contains(&request_id(1)), "{line}");
}

#[tokio::test]
async fn successful_health_checks_are_logged_at_debug() {
    let (log, _guard) = Log::start();
    let door = Running::with(|config| config.health_paths = &["/healthz", "/missing"]).await;
    let mut client = door.client().await;
    for (path, level) in [("/healthz", "DEBUG"), ("/missing", "INFO"), ("/other", "INFO")] {
        client.get(path).await;
        let line = log.line_with(&format!("path=\"{path}\"")).await;
        assert!(line.contains(level), "{line}");
    }
}

#[tokio::test]
async fn request_log_lines_have_one_id_and_key_and_trace() {
    let (log, _guard) = Log::start();
    let door = Running::with(|config| {
        config.trusted_proxies.networks = vec!["127.0.0.1/32".parse().unwrap()];
    })
    .await;
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let mut client = door.client().await;
    client
        .send(format!(
            "GET /as-key HTTP/1.1\r\nHost: localhost\r\ntraceparent: 00-{trace}-b7ad6b7169203331-01\r\n\r\n"
        ))
        .await;
    assert_eq!(client.answer().await.status, 200);
    let line = log.line_with("request answered").await;
    assert_eq!(line.matches(&request_id(1)).count(), 1, "{line}");
    assert!(line.contains("key_id=\"key-7\""), "{line}");
    assert!(line.contains(&format!("trace_id=\"{trace}\"")), "{line}");
}

#[tokio::test]
async fn forwarded_header_from_an_unknown_proxy_is_warned_of_once() {
    let (log, _guard) = Log::start();
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    client.get("/").await;
    assert!(!log.text().contains("--trusted-proxy"));
    for header in ["X-Forwarded-For: 192.0.2.1", "Forwarded: for=192.0.2.1"] {
        client
            .send(format!("GET / HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n"))
            .await;
        client.answer().await;
    }
    assert_eq!(log.text().matches("--trusted-proxy").count(), 1);
    let line = log.line_with("--trusted-proxy").await;
    assert!(line.contains("WARN") && line.contains("peer=127.0.0.1"), "{line}");
}

#[tokio::test]
async fn trusted_proxy_sending_the_other_header_is_warned_of_once() {
    let (log, _guard) = Log::start();
    let door = Running::with(|config| {
        config.trusted_proxies.networks = vec!["127.0.0.1/32".parse().unwrap()];
    })
    .await;
    let mut client = door.client().await;
    let expected = "X-Forwarded-For: 192.0.2.1\r\n";
    let other = "Forwarded: for=192.0.2.1\r\n";
    for (headers, warnings) in [
        (String::new(), 0),
        (expected.to_owned(), 0),
        ([expected, other].concat(), 0),
        (other.to_owned(), 1),
        (other.to_owned(), 1),
    ] {
        client
            .send(format!("GET / HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n"))
            .await;
        client.answer().await;
        assert_eq!(
            log.text().matches("--forwarded-header").count(),
            warnings,
            "{headers}"
        );
    }
    let line = log.line_with("--forwarded-header").await;
    assert!(
        line.contains("WARN") && line.contains("expected=x-forwarded-for"),
        "{line}"
    );
}

#[tokio::test]
async fn trusting_all_addresses_is_warned_of_at_start() {
    for (network, warned) in [("0.0.0.0/0", 1), ("::/0", 1), ("10.0.0.0/8", 0)] {
        let (log, _guard) = Log::start();
        let door = Running::with(|config| {
            config.trusted_proxies.networks = vec![network.parse().unwrap()];
        })
        .await;
        door.client().await.get("/").await;
        let found = log
            .text()
            .matches("every address counts as a trusted proxy")
            .count();
        assert_eq!(found, warned, "{network}");
    }
}

#[tokio::test]
async fn response_with_disconnected_client_is_logged_with_its_request() {
    let (log, _guard) = Log::start();
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    client.ask("/endless").await;
    client.first_byte().await;
    drop(client);
    let line = log.line_with("response failed").await;
    assert!(line.contains("INFO") && line.contains(&request_id(1)), "{line}");
}

#[tokio::test]
async fn a_second_of_waiting_clients_is_logged_once() {
    let (log, _guard) = Log::start();
    let door = Running::with(|config| config.limits.connections = Some(1)).await;
    let mut busy = door.client().await;
    busy.ask("/gated").await;
    door.stage.is_asked("/gated").await;
    let mut waiting = door.client().await;
    waiting.ask("/").await;
    let line = log.line_with("--max-connections").await;
    assert!(line.contains("WARN") && line.contains("connections=1"), "{line}");
    assert!(waiting.hears_nothing_for(Duration::from_millis(1_500)).await);
    assert_eq!(log.text().matches("--max-connections").count(), 1);
}

#[tokio::test]
async fn log_lines_during_response_streaming_have_its_id() {
    let (log, _guard) = Log::start();
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    client.ask("/breaks").await;
    client.closed().await;
    let line = log.line_with("the stream breaks").await;
    assert!(
        line.contains(&format!("request{{request_id={}}}", request_id(1))),
        "{line}"
    );
}
