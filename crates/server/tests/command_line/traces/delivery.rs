//! How spans reach the collector, and what becomes of them when they do not.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use hyper::StatusCode;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use tokio_rustls::TlsAcceptor;

use super::collector::{Collector, Conduct};
use super::{EVERY, stop};
use crate::place::Place;
use crate::server::Server;

const EXPORT_FAILED: &str = "trace export failed";

/// A certificate for 127.0.0.1 as PEM, and who serves with it.
fn certificate() -> (String, TlsAcceptor) {
    let signed = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signed.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![signed.cert.der().clone()], key)
        .unwrap();
    (signed.cert.pem(), TlsAcceptor::from(Arc::new(config)))
}

#[test]
fn collector_behind_tls_gets_the_headers_of_a_file() {
    let place = Place::file("traces-tls");
    let Place::File(directory) = &place else {
        unreachable!("it is in a file")
    };
    let (pem, tls) = certificate();
    let file = |name: &str, content: &str| {
        let path = directory.path().with_extension(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (roots, headers) = (
        file("pem", &pem),
        file("headers", "Authorization: Bearer s3cret\nX-Scope: a"),
    );
    let collector = Collector::start_with_tls(tls);
    let endpoint = format!("--otlp-endpoint=https://{}/otlp/", collector.address);
    let arguments = [
        "serve",
        "--listen=127.0.0.1:0",
        &endpoint,
        EVERY,
        "--otlp-headers-file",
        &headers,
    ];
    let keyward = place.keyward(&arguments).variable("SSL_CERT_FILE", &roots);
    let keyward = keyward.variable("OTEL_EXPORTER_OTLP_HEADERS", "x-scope=b,x-other=c");
    let mut server = Server::listening_as(keyward);
    assert_eq!(server.get("/sign-in").status, 303);
    let batch = collector.batch();
    assert_eq!(batch.path, "/otlp/v1/traces");
    assert_eq!(batch.header("authorization"), Some("Bearer s3cret"));
    assert_eq!(
        (batch.header("x-scope"), batch.header("x-other")),
        (Some("a"), None)
    );
    let log = stop(&mut server);
    assert!(!log.contains("s3cret"), "{log}");
    for path in [roots, headers] {
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn collector_with_an_unknown_certificate_gets_nothing() {
    let place = Place::file("traces-untrusted");
    let collector = Collector::start_with_tls(certificate().1);
    let endpoint = format!("--otlp-endpoint=https://{}", collector.address);
    let mut server = place.serve(&[&endpoint, EVERY]);
    assert_eq!(server.get("/sign-in").status, 303);
    let event = server.event(EXPORT_FAILED);
    assert!(
        event["cause"].as_str().unwrap().contains("certificate"),
        "{event}"
    );
    stop(&mut server);
    assert!(collector.rest().is_empty());
}

#[test]
fn environment_names_the_service_and_its_headers() {
    let place = Place::file("traces-environment");
    let collector = Collector::start();
    let option = collector.option();
    let keyward = place.keyward(&["serve", "--listen=127.0.0.1:0", &option, EVERY]);
    let keyward = keyward
        .variable("OTEL_SERVICE_NAME", "keys")
        .variable(
            "OTEL_RESOURCE_ATTRIBUTES",
            "service.name=other,service.instance.id=one,deployment.environment.name=test",
        )
        .variable("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20YWJj")
        // None of these counts: the option does.
        .variable("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
        .variable("OTEL_TRACES_SAMPLER", "always_off");
    let server = Server::listening_as(keyward);
    assert_eq!(server.get("/sign-in").status, 303);
    let batch = collector.batch();
    let attributes = [
        "service.name",
        "service.instance.id",
        "deployment.environment.name",
    ];
    assert_eq!(
        attributes.map(|name| batch.of_service(name)),
        ["keys", "one", "test"]
    );
    assert_eq!(batch.header("authorization"), Some("Basic YWJj"));
}

#[test]
fn unusable_option_is_refused_at_start_without_its_secret() {
    let place = Place::file("traces-options");
    for (arguments, expected) in [
        (
            &["--otlp-endpoint=http://me:s3cret@127.0.0.1:4318"][..],
            "--otlp-headers-file",
        ),
        (
            &["--otlp-endpoint=grpc://127.0.0.1:4317"],
            "gRPC is not supported",
        ),
        (
            &["--otlp-endpoint=http://127.0.0.1", "--trace-sampling=10%"],
            "from 0 (no request) to 1",
        ),
        (
            &["--otlp-endpoint=http://127.0.0.1", "--otlp-headers-file=/nowhere"],
            "cannot read /nowhere",
        ),
        (&["--otlp-headers-file=/nowhere"], "--otlp-endpoint"),
    ] {
        let answer = place.keyward(&[&["serve"], arguments].concat()).run();
        assert_ne!(answer.code, Some(0), "{arguments:?}");
        assert!(
            answer.errors.contains(expected) && !answer.errors.contains("s3cret"),
            "{}",
            answer.errors
        );
    }
}

#[test]
fn unreachable_collector_is_logged_once_and_on_recovery() {
    let place = Place::file("traces-away");
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let option = format!("--otlp-endpoint=http://{address}");
    let mut server = place.serve(&[&option, EVERY]);
    assert_eq!(server.get("/sign-in").status, 303);
    let event = server.event(EXPORT_FAILED);
    assert!(
        event["cause"].as_str().unwrap().contains("cannot be reached"),
        "{event}"
    );
    assert_eq!(server.get("/sign-in").status, 303);
    let collector = Collector::start_at(address);
    server.event("trace export works again");
    collector.spans_until("GET /sign-in");
    let log = stop(&mut server);
    assert_eq!(log.matches(EXPORT_FAILED).count(), 1, "{log}");
}

#[test]
fn collector_that_returns_and_refuses_is_logged_again() {
    let place = Place::file("traces-back-and-refusing");
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let option = format!("--otlp-endpoint=http://{address}");
    let mut server = place.serve(&[&option, EVERY]);
    assert_eq!(server.get("/sign-in").status, 303);
    server.event(EXPORT_FAILED);
    let collector = Collector::start_at(address);
    collector.set(Conduct::Answer(StatusCode::UNAUTHORIZED));
    let event = server.event(EXPORT_FAILED);
    assert!(event["cause"].as_str().unwrap().contains("401"), "{event}");
}

#[test]
fn refused_batches_are_dropped_and_logged_once() {
    let place = Place::file("traces-refused");
    let collector = Collector::start();
    collector.set(Conduct::Answer(StatusCode::UNAUTHORIZED));
    let mut server = place.serve(&[&collector.option(), EVERY]);
    assert_eq!(server.get("/sign-in").status, 303);
    let event = server.event(EXPORT_FAILED);
    assert!(event["cause"].as_str().unwrap().contains("401"), "{event}");
    collector.set(Conduct::Accept);
    assert_eq!(server.get("/sign-in").status, 303);
    let back = server.event("trace export works again");
    assert!(back["dropped_since_start"].as_u64().unwrap() >= 1, "{back}");
    let spans = collector.spans_until("GET /sign-in");
    // The first one was dropped.
    assert_eq!(
        spans
            .iter()
            .filter(|span| span.kind() == SpanKind::Server)
            .count(),
        1,
        "{spans:?}"
    );
    stop(&mut server);
}

#[test]
fn spans_beyond_the_queue_are_dropped_while_requests_are_served() {
    /// More than wait in the queue and in the batch that is on its way.
    const REQUESTS: usize = 3_000;
    let place = Place::file("traces-full");
    let collector = Collector::start();
    collector.set(Conduct::Hang);
    let mut server = place.serve(&[&collector.option(), EVERY, "--metrics-listen=127.0.0.1:0"]);
    let metrics = server.event("metrics listening")["address"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut stream = server.connect();
    let mut writing = stream.try_clone().unwrap();
    let writer = thread::spawn(move || {
        let head = "GET /api/nothing HTTP/1.1\r\nHost: localhost\r\n";
        let mut requests = format!("{head}\r\n").repeat(REQUESTS - 1);
        requests.push_str(&format!("{head}Connection: close\r\n\r\n"));
        writing.write_all(requests.as_bytes()).unwrap();
    });
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    writer.join().unwrap();
    assert_eq!(answers.matches("HTTP/1.1 404 ").count(), REQUESTS);
    let mut stream = TcpStream::connect(&metrics).unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let value = |series: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(series)).unwrap();
        line.trim().parse().unwrap()
    };
    let dropped = value("keyward_trace_spans_dropped_total{reason=\"queue_full\"}");
    assert!((440..3_000).contains(&dropped), "{dropped}");
    assert_eq!(value("keyward_trace_spans_dropped_total{reason=\"refused\"}"), 0);
    assert_eq!(value("keyward_trace_spans_exported_total"), 0);
}

#[test]
fn last_spans_are_sent_before_the_server_ends() {
    let place = Place::file("traces-flush");
    let collector = Collector::start();
    let mut server = place.serve(&[&collector.option(), EVERY]);
    for _ in 0..3 {
        assert_eq!(server.get("/sign-in").status, 303);
    }
    let log = stop(&mut server);
    let spans = collector.rest();
    assert_eq!(
        spans
            .iter()
            .filter(|span| span.kind() == SpanKind::Server)
            .count(),
        3,
        "{spans:?}"
    );
    assert!(!log.contains("lost"), "{log}");
}

#[test]
fn collector_that_hangs_does_not_keep_the_server_from_ending() {
    let place = Place::file("traces-hang");
    let collector = Collector::start();
    collector.set(Conduct::Hang);
    let mut server = place.serve(&[&collector.option(), EVERY]);
    assert_eq!(server.get("/sign-in").status, 303);
    let log = stop(&mut server);
    assert!(log.contains("spans of traces lost at shutdown"), "{log}");
}
