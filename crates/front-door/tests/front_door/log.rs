//! What is written down about a request, and what never is.

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
async fn a_request_is_logged_with_path_status_client_and_id_but_no_query_header_or_body() {
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
async fn what_is_too_long_for_a_part_of_a_path_is_not_logged() {
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
async fn a_client_that_hangs_up_is_logged() {
    let (log, _guard) = Log::start();
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    client
        .send("GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await;
    door.stage.is_asked("/never").await;
    drop(client);
    let line = log.line_with("client left before the answer").await;
    assert!(
        line.contains("path=\"/never\"") && line.contains(&request_id(1)),
        "{line}"
    );
}

#[tokio::test]
async fn what_happens_inside_a_request_is_logged_with_its_id() {
    let (log, _guard) = Log::start();
    let door = Running::with_defaults().await;
    assert_eq!(door.client().await.get("/panic").await.status, 500);
    let line = log.line_with("the application panicked").await;
    assert!(
        line.contains(&format!("request{{request_id={}}}", request_id(1))),
        "{line}"
    );
}

#[tokio::test]
async fn an_answer_that_is_cut_off_is_logged_with_its_request() {
    let (log, _guard) = Log::start();
    let door = Running::with(|config| config.deadlines.response = Duration::from_millis(100)).await;
    let mut client = door.client().await;
    client
        .send("GET /unending HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await;
    client.closed().await;
    let line = log.line_with("answer cut off").await;
    assert!(line.contains("WARN") && line.contains(&request_id(1)), "{line}");
}

#[tokio::test]
async fn an_answer_whose_client_leaves_is_logged_with_its_request() {
    let (log, _guard) = Log::start();
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    client
        .send("GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await;
    client.first_byte().await;
    drop(client);
    let line = log.line_with("answer broken off").await;
    assert!(line.contains("INFO") && line.contains(&request_id(1)), "{line}");
}

#[tokio::test]
async fn what_happens_while_an_answer_is_streamed_is_logged_with_its_id() {
    let (log, _guard) = Log::start();
    let door = Running::with_defaults().await;
    let mut client = door.client().await;
    client
        .send("GET /breaks HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await;
    client.closed().await;
    let line = log.line_with("the stream breaks").await;
    assert!(
        line.contains(&format!("request{{request_id={}}}", request_id(1))),
        "{line}"
    );
}
