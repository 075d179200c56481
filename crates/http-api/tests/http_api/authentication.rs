//! Which credentials are accepted, on every operation of the document.

use std::sync::Arc;

use keyward_domain::access::Authenticate;
use keyward_domain::ports::MockCredentials;
use keyward_domain::testing::TestInstallation;
use keyward_domain::token::Token;
use keyward_http_api::HttpApi;
use reqwest::header::HeaderValue;
use reqwest::{Method, RequestBuilder};
use serde_json::json;

use crate::answer::Answer;
use crate::api::{API_KEYS, Api, USER};
use crate::documented::{Audience, Operation, operations};
use crate::scene::{Scene, http_api};

/// Everything about a request is wrong but its path and method.
fn with_nothing_right(api: &Api, method: Method, path: &str) -> RequestBuilder {
    api.anonymous(method, &format!("{path}?unknown=1&unknown=2"))
        .header("content-type", "text/plain")
        .body("no JSON")
}

/// An answer without what differs between any two requests, nor `connection`, which depends on the body
/// alone.
fn without_request_id(answer: &Answer) -> (u16, Vec<(String, String)>, String) {
    let request_id = answer.header("x-request-id").unwrap();
    let headers = answer.headers.iter();
    let headers = headers
        .filter(|(name, _)| !["x-request-id", "date", "connection"].contains(&name.as_str()))
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect();
    (answer.status, headers, answer.body.replace(request_id, ""))
}

#[tokio::test]
async fn every_operation_checks_credentials_first() {
    let scene = Scene::new().await;
    for operation in operations() {
        let (code, challenge) = match operation.audience() {
            Audience::KeyHolders => ("credentials_missing", "Bearer"),
            Audience::Verifiers => (
                "invalid_client",
                "Basic realm=\"introspection\", charset=\"UTF-8\"",
            ),
            Audience::Public => continue,
        };
        for path in [operation.path(), operation.template.replace("{id}", "%FF")] {
            let request = with_nothing_right(&scene.api, operation.method.clone(), &path);
            let answer = scene.api.send(request).await;
            let problem = answer.refusal(401, code);
            assert_eq!(
                answer.header("www-authenticate"),
                Some(challenge),
                "{}",
                operation.id()
            );
            assert!(problem.get("errors").is_none());
        }
    }
}

/// A refusal does not reveal whether a token ever worked.
#[tokio::test]
async fn every_operation_rejects_all_invalid_credentials_identically() {
    let scene = Scene::new().await;
    let builder = &scene.installation.builder;
    let unknown = Token::generate(&*builder.random);
    let revoked = scene.revoked_token().await;
    let left = scene.grace.token.as_str();
    let now = keyward_domain::clock::Clock::now(&*builder.clock);
    scene
        .installation
        .store
        .end_membership(scene.grace.member.membership.id, now);
    let reversed: String = scene.ada.token.chars().rev().collect();
    let wrong_checksum = format!("kwp_{}", &reversed[..38]);

    let mut credentials: Vec<Vec<HeaderValue>> = [
        unknown.expose(),
        &revoked,
        left,
        &wrong_checksum,
        "",
        "kwp_",
        "x",
        &format!("{} ", scene.ada.token.to_lowercase()),
        &format!("{}, Bearer {0}", scene.ada.token),
        &format!("{} {0}", scene.ada.token),
    ]
    .map(|token| vec![HeaderValue::from_str(&format!("Bearer {token}")).unwrap()])
    .into();
    let right = HeaderValue::from_str(&format!("Bearer {}", scene.ada.token)).unwrap();
    credentials.push(vec![HeaderValue::from_bytes(b"Bearer \xff\xfe").unwrap()]);
    credentials.push(vec![right.clone(), right.clone()]);
    credentials.push(vec![HeaderValue::from_static("Basic YTpi"), right]);

    let takes_keys = |operation: &Operation| operation.audience() == Audience::KeyHolders;
    for operation in operations().into_iter().filter(takes_keys) {
        let mut seen = Vec::new();
        for headers in &credentials {
            let mut request = with_nothing_right(&scene.api, operation.method.clone(), &operation.path());
            for value in headers {
                request = request.header("authorization", value);
            }
            let answer = scene.api.send(request).await;
            answer.refusal(401, "invalid_token");
            assert_eq!(
                answer.header("www-authenticate"),
                Some("Bearer error=\"invalid_token\"")
            );
            seen.push(without_request_id(&answer));
        }
        assert!(
            seen.windows(2).all(|pair| pair[0] == pair[1]),
            "{}",
            operation.id()
        );
    }
}

/// RFC 6750 §3.1: a client that knows another scheme only has sent nothing that could be refused.
#[tokio::test]
async fn other_scheme_counts_as_missing_credentials() {
    let scene = Scene::new().await;
    for value in ["Basic YTpi", "Digest username=\"a\"", "", &scene.ada.token] {
        let request = scene
            .api
            .anonymous(Method::GET, USER)
            .header("authorization", value);
        let answer = scene.api.send(request).await;
        let detail = answer.refusal(401, "credentials_missing")["detail"].to_string();
        assert!(detail.contains("Authorization: Bearer <API key>"), "{detail}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{value}");
    }
}

#[tokio::test]
async fn authorization_scheme_is_case_insensitive() {
    let scene = Scene::new().await;
    for scheme in ["Bearer", "bearer", "BEARER", "bEaReR "] {
        let value = format!("{scheme} {}", scene.ada.token);
        let request = scene
            .api
            .anonymous(Method::GET, USER)
            .header("authorization", value);
        scene.api.send(request).await.ok(200);
    }
}

#[tokio::test]
async fn token_is_accepted_in_its_header_only() {
    let scene = Scene::new().await;
    let token = &scene.ada.token;
    let elsewhere = [
        scene
            .api
            .anonymous(Method::GET, &format!("{USER}?access_token={token}")),
        scene
            .api
            .anonymous(Method::POST, API_KEYS)
            .json(&json!({"name": "x", "access_token": token})),
        scene
            .api
            .anonymous(Method::GET, USER)
            .header("cookie", format!("session={token}; Authorization=Bearer {token}")),
        scene.api.anonymous(Method::GET, USER).header("x-api-key", token),
    ];
    for request in elsewhere {
        scene.api.send(request).await.refusal(401, "credentials_missing");
    }
}

#[tokio::test]
async fn cookie_is_ignored() {
    let scene = Scene::new().await;
    let request = scene
        .api
        .request(Method::GET, USER, &scene.ada.token)
        .header("cookie", "__Host-session=x; =;; %FF=%FF");
    let answer = scene.api.send(request).await;
    answer.ok(200);
    assert_eq!(answer.header("set-cookie"), None);
}

/// A flood of garbage costs no storage.
#[tokio::test]
async fn malformed_token_is_rejected_without_storage_access() {
    let installation = TestInstallation::new();
    let mut credentials = MockCredentials::new();
    credentials.expect_find().never();
    let api = Api::start(HttpApi {
        authenticate: Authenticate::new(
            Arc::new(credentials),
            Arc::new(installation.builder.sources.clone()),
        ),
        ..http_api(&installation)
    })
    .await;
    let token = Token::generate(&*installation.builder.random);
    let mistyped = match token.expose().strip_suffix('0') {
        Some(rest) => format!("{rest}1"),
        None => format!("{}0", &token.expose()[..41]),
    };
    for malformed in [
        "",
        "x",
        "kwp_",
        &mistyped,
        &token.expose()[..41],
        &format!("{}0", token.expose()),
    ] {
        api.get(USER, malformed).await.refusal(401, "invalid_token");
    }
}

/// A thief could otherwise begin requests with a token and finish them after its revocation.
#[tokio::test]
async fn key_revoked_while_its_request_body_arrives_changes_nothing() {
    let scene = Scene::new().await;
    let kept = scene.ada.key_path();
    for (method, path) in [(Method::POST, API_KEYS), (Method::PATCH, kept.as_str())] {
        let stolen = scene.create(&scene.ada.token, "stolen").await;
        let (token, id) = (stolen["key"].as_str().unwrap(), stolen["id"].as_str().unwrap());
        let before = scene.api.get(API_KEYS, &scene.ada.token).await.ok(200);
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\n"
        );
        let revocation = async {
            let revoked = scene
                .api
                .delete(&format!("{API_KEYS}/{id}"), &scene.ada.token)
                .await;
            revoked.ok(204);
        };
        let body = r#"{"name": "thief's"}"#;
        let answer = scene.api.send_late_body(&head, body, revocation).await;
        assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
        assert!(answer.contains(r#""code":"invalid_token""#), "{answer}");

        let mut expected = before;
        let items = expected["items"].as_array_mut().unwrap();
        items.retain(|item| item["id"] != stolen["id"]);
        let after = scene.api.get(API_KEYS, &scene.ada.token).await.ok(200);
        assert_eq!(after, expected);
    }
}
