//! Traces of requests at a collector.

mod collector;
mod delivery;

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode as SpanStatus;
use rustix::process::Signal;
use serde_json::Value;

use self::collector::{Collector, text};
use crate::browser::{cookie, create_key, sign_in, token_in};
use crate::place::Place;
use crate::server::{HttpAnswer, Server};
use crate::setup::PASSWORD;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";
const EVERY: &str = "--trace-sampling=1";
const NONE: &str = "--trace-sampling=0";
const TRUSTED: &str = "--trusted-proxy=127.0.0.1";

fn traceparent(flags: &str) -> String {
    format!("traceparent: 00-{TRACE}-{PARENT}-{flags}")
}

fn attribute(span: &Span, name: &str) -> Option<String> {
    text(&span.attributes, name)
}

/// The log line of the next answered request.
fn logged(server: &mut Server) -> Value {
    server.event("request answered")
}

fn get_user(server: &Server, token: &str, more: &[&str]) -> HttpAnswer {
    let authorization = format!("Authorization: Bearer {token}");
    let headers: Vec<&str> = [&*authorization]
        .into_iter()
        .chain(more.iter().copied())
        .collect();
    server.ask("GET", "/api/v1/user", &headers, "")
}

/// A key of a new installation.
fn new_key(server: &Server) -> String {
    let signed_in = sign_in(server, "ada", PASSWORD);
    let page = create_key(server, cookie(&signed_in), "laptop");
    token_in(&page.body).to_owned()
}

fn stop(server: &mut Server) -> String {
    server.signal(Signal::TERM);
    let (status, log) = server.ended();
    assert!(status.success(), "{log}");
    log
}

#[tokio::test]
async fn request_is_a_server_span_of_its_proxys_trace() {
    for place in [Place::file("traces-request"), Place::server().await] {
        place.bootstrap();
        let collector = Collector::start();
        let mut server = place.serve(&[&collector.option(), NONE, TRUSTED]);
        let token = new_key(&server);
        // The sign-in had no trace, and no trace is sampled here.
        let answer = get_user(&server, &token, &[&traceparent("01")]);
        assert_eq!(answer.status, 200);
        assert!(answer.header("traceparent").is_none() && answer.header("traceresponse").is_none());
        let log = loop {
            let line = logged(&mut server);
            if line["path"] == "/api/v1/user" {
                break line;
            }
        };
        assert_eq!(log["span"]["trace_id"], TRACE);

        let batch = collector.batch();
        assert_eq!(
            (batch.path.as_str(), batch.header("content-type")),
            ("/v1/traces", Some("application/x-protobuf"))
        );
        assert_eq!(batch.of_service("service.name"), "keyward");
        assert!(!batch.of_service("service.version").is_empty());
        assert_eq!(batch.of_service("service.instance.id").len(), 36);
        let spans = batch.spans();
        let span = spans.iter().find(|span| span.name == "GET /api/v1/user").unwrap();
        assert_eq!(span.kind(), SpanKind::Server);
        assert_eq!(
            (
                hex::encode(&span.trace_id).as_str(),
                hex::encode(&span.parent_span_id).as_str()
            ),
            (TRACE, PARENT)
        );
        assert!(span.end_time_unix_nano > span.start_time_unix_nano);
        for (name, value) in [
            ("http.request.method", "GET"),
            ("http.route", "/api/v1/user"),
            ("http.response.status_code", "200"),
            ("url.path", "/api/v1/user"),
            ("url.scheme", "http"),
            ("client.address", "127.0.0.1"),
        ] {
            assert_eq!(attribute(span, name).as_deref(), Some(value), "{name}");
        }
        for name in ["request_id", "key_id"] {
            assert_eq!(
                attribute(span, name).as_deref(),
                log["span"][name].as_str(),
                "{name}"
            );
        }
        assert_eq!(attribute(span, "trace_id"), None);
        assert!(spans.iter().all(|span| hex::encode(&span.trace_id) == TRACE));
        let sent = String::from_utf8_lossy(&batch.encoded);
        assert!(!sent.contains(&token[..12]), "{sent}");
        stop(&mut server);
        assert_eq!(collector.rest(), []);
    }
}

#[test]
fn strangers_traceparent_is_only_linked_to() {
    let place = Place::file("traces-stranger");
    let collector = Collector::start();
    let mut server = place.serve(&[&collector.option(), EVERY]);
    assert_eq!(
        get_user(&server, "kwp_nothing", &[&traceparent("00")]).status,
        401
    );
    let log = logged(&mut server);
    let spans = collector.spans_until("GET /api/v1/user");
    let span = spans.last().unwrap();
    let own = hex::encode(&span.trace_id);
    assert_ne!(own, TRACE);
    assert_eq!(log["span"]["trace_id"], own);
    assert!(span.parent_span_id.is_empty());
    let linked: Vec<_> = span
        .links
        .iter()
        .map(|link| (hex::encode(&link.trace_id), hex::encode(&link.span_id)))
        .collect();
    assert_eq!(linked, [(TRACE.to_owned(), PARENT.to_owned())]);
    assert_eq!(attribute(span, "error.type").as_deref(), Some("invalid_token"));
    // A client's error is no error of the server.
    assert_eq!(span.status.as_ref().unwrap().code(), SpanStatus::Unset);
}

#[test]
fn stranger_cannot_have_a_request_sampled() {
    let place = Place::file("traces-forced");
    let collector = Collector::start();
    let mut server = place.serve(&[&collector.option(), NONE]);
    assert_eq!(
        server
            .ask("GET", "/api/v1/user", &[&traceparent("01")], "")
            .status,
        401
    );
    let id = logged(&mut server)["span"]["trace_id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(id.len() == 32 && id != TRACE, "{id}");
    stop(&mut server);
    assert_eq!(collector.rest(), []);
}

#[test]
fn proxy_decides_that_its_request_is_not_sampled() {
    let place = Place::file("traces-unsampled");
    let collector = Collector::start();
    let mut server = place.serve(&[&collector.option(), EVERY, TRUSTED]);
    assert_eq!(
        server
            .ask("GET", "/api/v1/user", &[&traceparent("00")], "")
            .status,
        401
    );
    assert_eq!(logged(&mut server)["span"]["trace_id"], TRACE);
    stop(&mut server);
    let spans = collector.rest();
    assert!(
        spans.iter().all(|span| span.kind() != SpanKind::Server),
        "{spans:?}"
    );
}

#[test]
fn malformed_traceparent_begins_a_new_trace() {
    let place = Place::file("traces-malformed");
    let collector = Collector::start();
    let mut server = place.serve(&[&collector.option(), EVERY, TRUSTED]);
    let valid = format!("00-{TRACE}-{PARENT}-01");
    for headers in [
        vec!["traceparent: ".to_owned()],
        vec![format!("traceparent: {valid}-more")],
        vec![format!("traceparent: ff-{TRACE}-{PARENT}-01")],
        vec![format!("traceparent: 00-{}-{PARENT}-01", "0".repeat(32))],
        vec![format!("traceparent: 00-{TRACE}-{}-01", "0".repeat(16))],
        vec![format!("traceparent: 00-{}-{PARENT}-01", TRACE.to_uppercase())],
        vec![format!("traceparent: {valid}"), format!("traceparent: {valid}")],
        vec![format!("traceparent: {}", "0".repeat(4_000))],
    ] {
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        assert_eq!(server.ask("GET", "/api/v1/user", &headers, "").status, 401);
        let id = logged(&mut server)["span"]["trace_id"]
            .as_str()
            .unwrap()
            .to_owned();
        let spans = collector.spans_until("GET /api/v1/user");
        let span = spans.last().unwrap();
        assert_eq!(hex::encode(&span.trace_id), id, "{headers:?}");
        assert_ne!(id, TRACE);
        assert_eq!((&*span.parent_span_id, span.links.len()), (&[][..], 0));
    }
}

#[test]
fn pages_and_unknown_paths_have_bounded_names() {
    let place = Place::file("traces-names");
    let collector = Collector::start();
    let mut server = place.serve(&[&collector.option(), EVERY]);
    assert_eq!(server.get("/healthz").status, 200);
    assert_eq!(server.get("/sign-in?next=canary").status, 303);
    assert_eq!(server.ask("BREW", "/made/up", &[], "").status, 403);
    let token = format!("kwp_{}", "x".repeat(39));
    assert_eq!(server.get(&format!("/api/v1/{token}")).status, 404);
    stop(&mut server);
    let mut spans: Vec<_> = collector
        .rest()
        .into_iter()
        .filter(|span| span.kind() == SpanKind::Server)
        .map(|span| {
            let path = attribute(&span, "url.path").unwrap();
            (
                span.name.clone(),
                attribute(&span, "http.request.method").unwrap(),
                path,
            )
        })
        .collect();
    spans.sort();
    let expected = [
        ("GET", "GET", "/api/v1/…"),
        ("GET /sign-in", "GET", "/sign-in"),
        ("HTTP", "_OTHER", "/made/up"),
    ];
    let expected = expected.map(|(name, method, path)| (name.to_owned(), method.to_owned(), path.to_owned()));
    assert_eq!(spans, expected);
}

/// The database operations below a span.
#[track_caller]
fn below<'a>(spans: &'a [Span], parent: &Span, name: &str, operation: &str) -> &'a Span {
    let mut children = spans.iter().filter(|span| span.parent_span_id == parent.span_id);
    let is_wanted = |span: &&Span| {
        span.name == name && attribute(span, "db.operation.name").as_deref() == Some(operation)
    };
    children.find(is_wanted).unwrap_or_else(|| {
        let names: Vec<_> = spans.iter().map(|span| &span.name).collect();
        panic!("no `{name}` below `{}`: {names:?}", parent.name)
    })
}

#[tokio::test]
async fn database_work_is_below_its_request() {
    for (place, system) in [
        (Place::file("traces-database"), "sqlite"),
        (Place::server().await, "postgresql"),
    ] {
        place.bootstrap();
        let collector = Collector::start();
        let mut server = place.serve(&[&collector.option(), EVERY, "--verification-cache=off"]);
        let token = new_key(&server);
        assert_eq!(get_user(&server, &token, &[]).status, 200);
        let body = r#"{"name": "canary"}"#;
        let headers = [
            &*format!("Authorization: Bearer {token}"),
            "Content-Type: application/json",
        ];
        assert_eq!(
            server.ask("POST", "/api/v1/user/api-keys", &headers, body).status,
            201
        );
        let log = stop(&mut server);
        assert!(!log.contains("otel."), "{log}");
        let spans = collector.rest();
        let request = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
        let read = below(&spans, request("GET /api/v1/user"), "find", "read");
        let change = below(&spans, request("POST /api/v1/user/api-keys"), "add", "change");
        for span in [read, change] {
            assert_eq!(span.kind(), SpanKind::Client);
            assert_eq!(attribute(span, "db.system.name").as_deref(), Some(system));
        }
        if system == "postgresql" {
            for name in ["GET /api/v1/user", "POST /api/v1/user/api-keys"] {
                below(&spans, request(name), "connect", "connect");
            }
        }
        assert!(!format!("{spans:?}").contains("canary"));
        // Work without a request has no trace, such as the verification cache's poll.
        let roots = spans.iter().filter(|span| span.parent_span_id.is_empty());
        for root in roots {
            let is_task = [
                "last_uses",
                "refused_uses",
                "refused_sign_ins",
                "seen_sessions",
                "retention",
                "planned_ends",
            ]
            .contains(&root.name.as_str());
            assert!(is_task || root.kind() == SpanKind::Server, "{root:?}");
        }
    }
}

#[tokio::test]
async fn background_task_has_own_trace_with_its_failure() {
    let place = Place::server().await;
    let Place::Server(database) = &place else {
        unreachable!("it is on a server")
    };
    place.bootstrap();
    let collector = Collector::start();
    let server = place.serve(&[&collector.option(), EVERY]);
    let spans = collector.spans_until("planned_ends");
    let task = spans.last().unwrap();
    assert!(task.parent_span_id.is_empty() && task.kind() == SpanKind::Internal);
    assert_eq!(task.status.as_ref().unwrap().code(), SpanStatus::Unset);
    database.refuse_connections().await.unwrap();
    let token = "kwp_000000000000000000000000000000002wjyrI";
    assert_eq!(get_user(&server, token, &[]).status, 503);
    let spans = collector.spans_until("GET /api/v1/user");
    let request = spans.last().unwrap();
    assert_eq!(request.status.as_ref().unwrap().code(), SpanStatus::Error);
    assert_eq!(attribute(request, "error.type").as_deref(), Some("unavailable"));
    // A connection that was open until then may have been acquired before.
    let mut connects = spans
        .iter()
        .filter(|span| span.parent_span_id == request.span_id && span.name == "connect");
    let failed = connects
        .find(|span| attribute(span, "error.type").is_some())
        .unwrap();
    assert_eq!(failed.status.as_ref().unwrap().code(), SpanStatus::Error);
    assert_eq!(attribute(failed, "error.type").as_deref(), Some("unavailable"));
}

#[test]
fn log_has_no_spans_of_traces_at_any_level() {
    for level in ["--log-level=trace", "--log-level=trace,[request]=trace"] {
        let place = Place::file("traces-levels");
        let collector = Collector::start();
        let mut server = place.serve(&[&collector.option(), EVERY, level]);
        assert_eq!(server.get("/sign-in").status, 303);
        assert_eq!(logged(&mut server)["span"]["name"], "request");
        let log = stop(&mut server);
        assert!(!log.contains("keyward_traces") && !log.contains("otel."), "{log}");
        assert!(collector.rest().iter().any(|span| span.name == "GET /sign-in"));
    }
}
