//! Responses of gateways while Keyward refuses, fails or is unreachable.

use std::time::Instant;

use keyward_tests::api::{Api, text};
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::{Keyward, TIMEOUT};

use super::answer::Answer;
use super::gateway::{Gateway, Program};
use super::programs::free_address;
use super::service::Service;

/// A key that the server knows passes until the lease ends.
pub(super) async fn outage_becomes_503(
    program: Program,
    keyward: &Keyward,
    api: &Api,
    gateway: &Gateway,
    service: &Service,
) {
    let created = api.create("first used in the outage", "").await;
    let database = keyward.storage().as_postgres();
    database.refuse_connections().await.expect("an outage");
    database.terminate_connections().await.expect("an outage");
    let known = first_refusal(gateway, api.token().expect("a token")).await;
    let before = service.requests();
    let unknown = gateway.ask_with_key("/orders", text(&created, "key"), &[]).await;
    for answer in [known, unknown] {
        assert_eq!(answer.status, 503, "{program:?}: {answer:?}");
        assert_eq!(answer.values("retry-after"), ["5"], "{program:?}");
    }
    assert_eq!(
        service.requests(),
        before,
        "{program:?} passed on what was not verified"
    );
}

/// The first answer to a key that is not 200.
async fn first_refusal(gateway: &Gateway, token: &str) -> Answer {
    let deadline = Instant::now() + TIMEOUT;
    let mut accepted = 0;
    loop {
        let answer = gateway.ask_with_key("/orders", token, &[]).await;
        if answer.status != 200 {
            assert!(accepted > 0, "a known key is refused at once: {answer:?}");
            return answer;
        }
        accepted += 1;
        assert!(Instant::now() < deadline, "the key passes without a database");
    }
}

pub(super) async fn limit_of_a_key_becomes_429(program: Program, service: &Service) {
    let keyward = Keyward::start_set_up_with(&["--limit-per-key", "1/24h"]).await;
    let api = PlainConsole::sign_in_owner(&keyward).await;
    let api = api.api_with_first_key().await;
    let token = api.token().expect("a token");
    let gateway = Gateway::start(program, keyward.authority(), service.address).await;
    let before = service.requests();
    let accepted = gateway.ask_with_key("/orders", token, &[]).await;
    assert_eq!(accepted.status, 200, "{program:?}: {accepted:?}");
    let limited = gateway.ask_with_key("/orders", token, &[]).await;
    assert_eq!(limited.status, 429, "{program:?}: {limited:?}");
    let seconds: Vec<u32> = limited
        .values("retry-after")
        .iter()
        .map(|value| value.parse().expect("seconds"))
        .collect();
    assert!(
        matches!(seconds[..], [86_000..=86_400]),
        "{program:?}: {limited:?}"
    );
    assert_eq!(service.requests(), before + 1, "{program:?}");
    gateway.end().await;
}

/// No request passes, for any response of a stand-in for Keyward, or none.
pub(super) async fn failure_lets_nothing_pass(program: Program, token: &str, service: &Service) {
    let before = service.requests();
    for (said, status, retry_after) in [
        (
            "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n",
            429,
            Some("7"),
        ),
        (
            "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n",
            503,
            Some("7"),
        ),
        ("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", 403, None),
    ] {
        let keyward = Service::saying(said).await;
        let answer = answer_of_gateway_that_asks(program, &keyward.address.to_string(), token, service).await;
        assert_eq!(answer.status, status, "{program:?}: {answer:?}");
        let expected = Vec::from_iter(retry_after);
        assert_eq!(answer.values("retry-after"), expected, "{program:?}");
    }
    // What only a mistake in the configuration, or a defect, brings about. Caddy passes on what Keyward says.
    for (said, from_caddy) in [
        ("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", 400),
        (
            "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
            500,
        ),
        ("no HTTP\r\n\r\n", 502),
        // Another server, or Keyward behind a page for maintenance.
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 503),
        (
            "HTTP/1.1 200 OK\r\nX-Consumer-ID: 1\r\nContent-Length: 0\r\n\r\n",
            503,
        ),
        (
            "HTTP/1.1 200 OK\r\nX-Consumer-ID: \r\nX-Consumer-Username: \r\nX-Credential-Identifier: \r\n\
             X-Organization-ID: \r\nX-Organization-Slug: \r\nContent-Length: 0\r\n\r\n",
            503,
        ),
    ] {
        let keyward = Service::saying(said).await;
        let answer = answer_of_gateway_that_asks(program, &keyward.address.to_string(), token, service).await;
        assert_eq!(
            answer.status,
            program.failure(from_caddy),
            "{program:?}: {answer:?}"
        );
    }
    let silent = Service::silent().await;
    let unused = free_address();
    for (keyward, from_caddy) in [(silent.address, 504), (unused, 502)] {
        let answer = answer_of_gateway_that_asks(program, &keyward.to_string(), token, service).await;
        assert_eq!(
            answer.status,
            program.failure(from_caddy),
            "{program:?}: {answer:?}"
        );
    }
    assert_eq!(
        service.requests(),
        before,
        "{program:?} passed on what was not verified"
    );
}

/// The response of a gateway that asks this address instead of Keyward.
async fn answer_of_gateway_that_asks(
    program: Program,
    address: &str,
    token: &str,
    service: &Service,
) -> Answer {
    let gateway = Gateway::start(program, address, service.address).await;
    let answer = gateway
        .ask_with_key("/orders", token, &["--max-time", "10"])
        .await;
    gateway.end().await;
    answer
}
