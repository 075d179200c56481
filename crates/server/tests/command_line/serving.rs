//! Start, signals and options of a server.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use keyward_test_database::TestDatabase;
use rustix::process::Signal;

use crate::keyward::Keyward;
use crate::place::Place;
use crate::readiness::{UNKNOWN, until};
use crate::server::{HttpAnswer, NEXT_SIGNAL_COUNTS, Server};

async fn database() -> TestDatabase {
    TestDatabase::empty().await.unwrap()
}

#[tokio::test]
async fn empty_database_is_migrated_and_served() {
    let database = database().await;
    let server = Server::start(database.url(), &[]);
    let live = server.get("/healthz");
    assert_eq!(
        (live.status, live.body.as_str()),
        (200, "{\"status\":\"live\"}\n")
    );
    let ready = server.get("/readyz");
    assert_eq!(
        (ready.status, ready.body.as_str()),
        (200, "{\"status\":\"ready\"}\n")
    );
    for answer in [live, ready] {
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
    assert_eq!(server.get("/openapi.json").body, keyward_http_api::document());
}

/// They would keep memory resident that nothing is in.
#[tokio::test]
async fn server_uses_no_huge_pages() {
    let database = database().await;
    let status = Server::start(database.url(), &[]).process_status();
    assert!(status.contains("THP_enabled:\t0\n"), "{status}");
}

#[tokio::test]
async fn health_answers_head_and_rejects_other_methods() {
    let database = database().await;
    let server = Server::start(database.url(), &[]);
    for path in ["/healthz", "/readyz"] {
        let head = server.ask("HEAD", path, &[], "");
        assert_eq!((head.status, head.body.as_str()), (200, ""), "{path}");
        for method in ["POST", "TRACE"] {
            let other = server.ask(method, path, &[], "");
            assert_eq!(other.status, 405, "{method} {path}");
            assert_eq!(other.header("allow"), Some("GET, HEAD"), "{method} {path}");
            assert_eq!(other.json()["code"], "method_not_allowed");
        }
    }
    for (path, allow) in [
        ("/sign-in", "GET, HEAD, POST"),
        ("/api/v1/user/api-keys", "GET, HEAD, POST"),
        ("/api/v1/%75ser", "GET, HEAD"),
    ] {
        let trace = server.ask("TRACE", path, &[], "");
        assert_eq!(
            (trace.status, trace.header("allow")),
            (405, Some(allow)),
            "{path}"
        );
    }
}

#[tokio::test]
async fn programs_get_problems_and_people_get_pages() {
    let database = database().await;
    let server = Server::start(database.url(), &[]);
    // Refused by the front door (TRACE) and by the interface itself.
    for (method, status) in [("TRACE", 405), ("GET", 404)] {
        let problem = server.ask(method, "/api/v1/nothing", &[], "");
        assert_eq!(
            problem.header("content-type"),
            Some("application/problem+json"),
            "{method}"
        );
        let page = server.ask(method, "/nothing", &[], "");
        assert_eq!(
            page.header("content-type"),
            Some("text/html; charset=utf-8"),
            "{method}"
        );
        assert_eq!((problem.status, page.status), (status, status));
        let id = problem.header("x-request-id").unwrap();
        assert_eq!(problem.json()["requestId"], id);
    }
}

#[tokio::test]
async fn front_door_errors_have_the_clients_format() {
    let database = database().await;
    let server = Server::start(database.url(), &[]);
    let refused = |header: &str| {
        let mut stream = server.connect();
        let head = format!(
            "POST /nothing HTTP/1.1\r\nHost: {}\r\nContent-Length: 1000000\r\n{header}\r\n\r\n",
            server.address
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        HttpAnswer::parse(&answer)
    };
    for (header, media_type) in [
        ("Accept: */*", "text/html; charset=utf-8"),
        ("Accept: text/html", "text/html; charset=utf-8"),
        ("Accept: application/json", "application/problem+json"),
        (UNKNOWN, "application/problem+json"),
    ] {
        let answer = refused(header);
        assert_eq!(answer.status, 413, "{header}");
        assert_eq!(answer.header("content-type"), Some(media_type), "{header}");
        assert!(answer.body.ends_with('\n'), "{answer:?}");
    }
}

#[tokio::test]
async fn missing_documentation_is_reported_in_the_clients_format() {
    let database = database().await;
    let server = Server::start(database.url(), &[]);
    let page = "text/html; charset=utf-8";
    let problem = "application/problem+json";
    for path in ["/docs/nothing", "/docs/a/b", "/problems/nothing", "/problems/a/b"] {
        for (accept, media_type) in [("*/*", page), ("text/html", page), ("application/json", problem)] {
            let answer = server.ask("GET", path, &[&format!("Accept: {accept}")], "");
            assert_eq!(answer.status, 404, "{path} {accept}");
            assert_eq!(answer.header("content-type"), Some(media_type), "{path} {accept}");
        }
    }
    let known = server.ask("GET", "/problems/not_found", &["Accept: application/json"], "");
    assert_eq!((known.status, known.header("content-type")), (200, Some(page)));
}

/// Templates drop the line feed at the end of a file.
#[tokio::test]
async fn every_response_body_ends_with_a_line_feed() {
    let database = database().await;
    let server = Server::start(database.url(), &[]);
    for path in [
        "/",
        "/nothing",
        "/setup",
        "/join",
        "/docs",
        "/docs/nothing",
        "/problems/not_found",
        "/problems/nothing",
        "/openapi.json",
        "/healthz",
        "/readyz",
        "/api/v1/user",
    ] {
        let answer = server.get(path);
        assert!(answer.body.ends_with('\n'), "{path}: {answer:?}");
        assert!(!answer.body.ends_with("\n\n"), "{path}: {answer:?}");
    }
}

#[tokio::test]
async fn database_outage_makes_the_server_unready_without_exiting() {
    let database = database().await;
    let mut server = Server::start(database.url(), &[]);
    assert_eq!(server.get("/readyz").status, 200);
    database.refuse_connections().await.unwrap();
    let unready = until(&server, 503);
    assert_eq!(unready.header("content-type"), Some("application/problem+json"));
    let problem = unready.json();
    assert_eq!(problem["code"], "unavailable");
    assert_eq!(problem["detail"], "The database does not answer.");
    assert_eq!(problem["requestId"], unready.header("x-request-id").unwrap());
    assert_eq!(unready.header("retry-after"), Some("5"));
    assert_eq!(server.get("/healthz").status, 200);
    server.event("not ready");
    database.accept_connections().await.unwrap();
    until(&server, 200);
    server.event("ready again");
}

#[tokio::test]
async fn database_outage_is_logged_once_at_start_and_end() {
    let database = database().await;
    let mut server = Server::start(database.url(), &[]);
    database.refuse_connections().await.unwrap();
    let token = format!("Authorization: Bearer kwp_{}2wjyrI", "0".repeat(32));
    for _ in 0..20 {
        assert_eq!(server.ask("GET", "/api/v1/user", &[&token], "").status, 503);
    }
    database.accept_connections().await.unwrap();
    let end = server.event("storage available again");
    assert_eq!(end["failed_requests"], 20, "{end}");
    server.signal(Signal::TERM);
    let (_, log) = server.ended();
    assert_eq!(log.matches("storage unavailable").count(), 1, "{log}");
    assert_eq!(log.matches("\"level\":\"ERROR\"").count(), 1, "{log}");
}

#[tokio::test]
async fn setup_link_is_never_logged() {
    let database = database().await;
    let mut server = Server::start(database.url(), &["--log-level=trace"]);
    server.signal(Signal::TERM);
    let (_, log) = server.ended();
    assert!(
        log.contains("keyward admin setup-link --public-url") && !log.contains("--database-url"),
        "{log}"
    );
    assert!(!log.contains("token="), "{log}");
}

#[tokio::test]
async fn sigterm_sigint_and_sighup_exit_with_success() {
    let database = database().await;
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut server = Server::start(database.url(), &[]);
        server.signal(signal);
        let (status, log) = server.ended();
        assert_eq!(status.code(), Some(0), "{log}");
    }
}

#[test]
fn second_hangup_does_not_cut_the_shutdown_short() {
    let place = Place::file("hangups");
    let mut server = place.serve(&["--shutdown-delay=1"]);
    server.signal(Signal::HUP);
    server.event("shutting down");
    server.signal(Signal::HUP);
    let (status, log) = server.ended();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!log.contains("second signal"), "{log}");
}

#[test]
fn server_that_shall_ignore_hangups_survives_them() {
    let place = Place::file("nohup");
    let keyward = place.keyward(&["serve", "--listen=127.0.0.1:0"]);
    let mut server = Server::listening_as(keyward.ignoring_hangups());
    server.signal(Signal::HUP);
    assert_eq!(server.ask("GET", "/healthz", &[], "").status, 200);
    server.signal(Signal::TERM);
    let (status, log) = server.ended();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("SIGTERM") && !log.contains("SIGHUP"), "{log}");
}

#[test]
fn server_waiting_for_the_database_can_be_stopped() {
    let mut server = Server::begin("postgres://keyward@127.0.0.1:1/keyward", &[]);
    server.event("waiting for the database");
    server.signal(Signal::TERM);
    let (status, log) = server.ended();
    assert_eq!(status.code(), Some(0), "{log}");
}

#[tokio::test]
async fn draining_server_is_unready() {
    let database = database().await;
    let mut server = Server::start(database.url(), &["--shutdown-delay=3600"]);
    server.signal(Signal::TERM);
    server.event("shutting down");
    assert_eq!(until(&server, 503).json()["code"], "unavailable");
    assert_eq!(server.get("/healthz").status, 200);
}

#[tokio::test]
async fn signal_after_the_first_second_exits_immediately() {
    let database = database().await;
    let mut server = Server::start(database.url(), &["--shutdown-delay=3600"]);
    server.signal(Signal::TERM);
    server.event(NEXT_SIGNAL_COUNTS);
    server.signal(Signal::TERM);
    let (status, log) = server.ended();
    assert_eq!(status.code(), Some(1), "{log}");
}

/// As `timeout` does: one to the process, and one to its group.
#[test]
fn signals_within_a_second_count_as_one() {
    let place = Place::file("two-signals");
    let mut server = place.serve(&["--shutdown-delay=3600"]);
    server.signal(Signal::TERM);
    server.signal(Signal::INT);
    server.event(NEXT_SIGNAL_COUNTS);
    assert_eq!(server.get("/healthz").status, 200);
}

/// Sends the sign-in form but for its body; it is in flight once this returns.
fn form_in_flight(server: &Server) -> TcpStream {
    let mut stream = server.connect();
    let head = format!(
        "POST /sign-in HTTP/1.1\r\nHost: {}\r\nSec-Fetch-Site: same-origin\r\nContent-Length: {}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nExpect: 100-continue\r\n\r\n",
        server.address,
        FORM.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

const FORM: &str = "username=ada&password=nobody+knows+this";

#[tokio::test]
async fn request_in_flight_is_answered_before_exit() {
    let database = database().await;
    let mut server = Server::start(database.url(), &[]);
    let mut stream = form_in_flight(&server);
    server.signal(Signal::TERM);
    server.event("draining");
    stream.write_all(FORM.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(HttpAnswer::parse(&answer).status, 422, "{answer}");
    assert_eq!(server.event("stopped")["cut_off"], 0);
    assert_eq!(server.ended().0.code(), Some(0));
}

#[tokio::test]
async fn endless_request_is_aborted_at_the_drain_deadline() {
    let database = database().await;
    let mut server = Server::start(database.url(), &["--drain-timeout=1"]);
    let _stream = form_in_flight(&server);
    server.signal(Signal::TERM);
    assert_eq!(server.event("stopped")["cut_off"], 1);
    assert_eq!(server.ended().0.code(), Some(0));
}

#[tokio::test]
async fn healthcheck_succeeds_while_the_server_runs_and_fails_after() {
    let database = database().await;
    let mut server = Server::start(database.url(), &[]);
    let listen = format!("--listen={}", server.address);
    let healthy = Keyward::new(&["healthcheck", &listen]).run();
    assert_eq!(
        (healthy.code, healthy.output.as_str(), healthy.errors.as_str()),
        (Some(0), "", "")
    );
    server.signal(Signal::TERM);
    server.ended();
    let gone = Keyward::new(&["healthcheck", &listen]).run();
    let refusal = gone.refusal();
    assert!(refusal.contains("start it, or say with --listen"), "{refusal}");
}

#[test]
fn healthcheck_fails_where_something_else_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = listener.local_addr().unwrap().to_string();
    let other = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        let _ = stream.read(&mut request).unwrap();
        stream.write_all(b"HTTP/1.1 404 Not Found\r\n\r\n").unwrap();
    });
    let refused = Keyward::new(&["healthcheck"])
        .variable("KEYWARD_LISTEN", &listen)
        .run();
    assert!(refused.refusal().contains("does not answer as a healthy Keyward"));
    other.join().unwrap();
}
