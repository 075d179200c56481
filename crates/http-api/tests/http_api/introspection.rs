//! `POST /api/v1/introspect`: RFC 7662.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use keyward_domain::api_key::{Revocation, RevocationReason};
use keyward_domain::audit::Actor;
use keyward_domain::clock::Clock;
use keyward_domain::ports::LastUses;
use keyward_domain::recent_uses::RecentUses;
use keyward_domain::refused_uses::RefusedUses;
use keyward_domain::testing::conformance::Arrange;
use keyward_domain::token::Token;
use keyward_domain::validity::End;
use keyward_http_api::HttpApi;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::api::{API_KEYS, Api, USER};
use crate::scene::{Scene, VERIFIER, VERIFIER_SECRET, http_api, names};

pub(crate) const INTROSPECT: &str = "/api/v1/introspect";
const FORM: &str = "application/x-www-form-urlencoded";
const CHALLENGE: &str = "Basic realm=\"introspection\", charset=\"UTF-8\"";

/// A request by the verifier, without a body.
fn by_verifier(api: &Api) -> RequestBuilder {
    api.anonymous(Method::POST, INTROSPECT)
        .basic_auth(VERIFIER, Some(VERIFIER_SECRET))
}

async fn introspect(api: &Api, token: &str) -> Answer {
    api.send(by_verifier(api).form(&[("token", token)])).await
}

async fn send_body(api: &Api, body: impl Into<Vec<u8>>) -> Answer {
    let request = by_verifier(api).header("content-type", FORM).body(body.into());
    api.send(request).await
}

#[track_caller]
fn assert_inactive(answer: &Answer, why: &str) {
    assert_eq!(answer.ok(200), json!({"active": false}), "{why}");
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{why}");
}

#[tokio::test]
async fn accepted_token_reveals_its_holder() {
    let scene = Scene::new().await;
    let project = scene.project_of(&scene.ada, "Engine").await;
    let answer = introspect(&scene.api, &scene.ada.token).await;
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let user = scene.api.get(USER, &scene.ada.token).await.ok(200);
    assert_eq!(
        answer.ok(200),
        json!({
            "active": true,
            "sub": user["userId"],
            "username": "ada",
            "client_id": user["consumerId"],
            "token_type": "Bearer",
            "iat": 1_767_225_600,
            "jti": scene.ada.key_id,
            "organization": user["organization"],
            "projects": [
                {"id": project.id.to_string(), "name": "Engine", "createdAt": "2026-01-01T00:00:00.000Z"}
            ],
            "more_projects": false,
        })
    );
}

#[tokio::test]
async fn exp_is_the_earlier_of_key_and_membership_end() {
    let scene = Scene::new().await;
    let now = scene.installation.now();
    let expires_at = (now + TimeDelta::hours(2)).to_rfc3339();
    let key = scene
        .api
        .post(
            API_KEYS,
            &scene.ada.token,
            &json!({"name": "expires", "expiresAt": expires_at}),
        )
        .await
        .ok(201);
    let token = key["key"].as_str().unwrap();
    let exp = async || introspect(&scene.api, token).await.ok(200)["exp"].clone();
    assert_eq!(exp().await, json!(now.timestamp() + 7_200));
    scene
        .installation
        .store
        .plan_end_of_membership(scene.ada.member.membership.id, now + TimeDelta::hours(1))
        .await;
    assert_eq!(exp().await, json!(now.timestamp() + 3_600));

    scene.installation.builder.clock.advance(TimeDelta::hours(1));
    assert_inactive(&introspect(&scene.api, token).await, "the membership ended");
}

#[tokio::test]
async fn every_token_that_is_not_accepted_is_just_inactive() {
    let scene = Scene::new().await;
    let unknown = Token::generate(&*scene.installation.builder.random);
    let revoked = scene.revoked_token().await;
    let expiring = scene
        .installation
        .issue(&scene.ada.member.as_holder(), "expiring")
        .await;
    let revocation = Revocation {
        end: End::Planned(scene.installation.now()),
        by: Actor::Administrator,
        reason: RevocationReason::Administrator,
        note: None,
    };
    scene
        .installation
        .store
        .plan_revocation(&expiring.key, revocation)
        .await;
    scene
        .installation
        .store
        .end_membership(scene.grace.member.membership.id, scene.installation.now());
    let reversed: String = scene.ada.token.chars().rev().collect();
    for (token, why) in [
        (unknown.expose(), "unknown"),
        (&revoked, "revoked"),
        (expiring.token.expose(), "expired"),
        (&scene.grace.token, "its user left"),
        (&reversed, "malformed"),
        (&format!("kwp_{}", &reversed[..38]), "wrong checksum"),
        (&format!(" {}", scene.ada.token), "a space before it"),
        ("ä\u{0}", "no token at all"),
        (&"x".repeat(60_000), "long"),
    ] {
        assert_inactive(&introspect(&scene.api, token).await, why);
    }
}

#[tokio::test]
async fn hint_and_unknown_parameters_are_ignored() {
    let scene = Scene::new().await;
    for parameters in [
        "token_type_hint=access_token",
        "token_type_hint=refresh_token",
        "token_type_hint=",
        "client_id=x&client_secret=y",
        "&&x=1&",
    ] {
        let body = format!("token={}&{parameters}", scene.ada.token);
        let answer = send_body(&scene.api, body).await;
        assert_eq!(answer.ok(200)["active"], true, "{parameters}");
    }
}

#[tokio::test]
async fn form_without_exactly_one_token_is_malformed() {
    let scene = Scene::new().await;
    let token = &scene.ada.token;
    for body in [
        String::new(),
        "token".to_owned(),
        "token=".to_owned(),
        format!("Token={token}"),
        format!("token={token}&token={token}"),
        format!("token={token}&token="),
        format!("token={token}&token_type_hint=a&token_type_hint=b"),
        format!("token={token}&x=%zz"),
        "token=%ff".to_owned(),
        format!("{{\"token\": \"{token}\"}}"),
    ] {
        let answer = send_body(&scene.api, body.clone()).await;
        let problem = answer.refusal(400, "malformed_request");
        assert_eq!(problem["error"], "invalid_request", "{body}");
        assert!(!answer.body.contains(&token[4..]), "{body}");
    }
    let answer = send_body(&scene.api, b"token=\xff".to_vec()).await;
    answer.refusal(400, "malformed_request");
}

#[tokio::test]
async fn body_of_another_type_or_size_is_refused() {
    let scene = Scene::new().await;
    let body = format!("token={}", scene.ada.token);
    for types in [&[][..], &["application/json"], &["text/plain"], &[FORM, FORM]] {
        let mut request = by_verifier(&scene.api).body(body.clone());
        for value in types {
            request = request.header("content-type", *value);
        }
        let answer = scene.api.send(request).await;
        let problem = answer.refusal(415, "unsupported_media_type");
        assert!(problem["detail"].as_str().unwrap().contains(FORM), "{problem}");
    }
    let charset = by_verifier(&scene.api)
        .header("content-type", format!("{FORM}; charset=utf-8"))
        .body(body.clone());
    assert_eq!(scene.api.send(charset).await.ok(200)["active"], true);
    let coded = by_verifier(&scene.api)
        .header("content-type", FORM)
        .header("content-encoding", "gzip")
        .body(body);
    let answer = scene.api.send(coded).await;
    answer.refusal(415, "unsupported_media_type");
    assert_eq!(answer.header("accept-encoding"), Some("identity"));
    let answer = introspect(&scene.api, &"x".repeat(64 * 1024)).await;
    answer.refusal(413, "body_too_large");
}

#[tokio::test]
async fn token_in_the_query_is_refused() {
    let scene = Scene::new().await;
    let token = &scene.ada.token;
    for (query, body) in [
        (format!("token={token}"), String::new()),
        (format!("token={token}"), format!("token={token}")),
        ("token_type_hint=x".to_owned(), format!("token={token}")),
    ] {
        let request = scene
            .api
            .anonymous(Method::POST, &format!("{INTROSPECT}?{query}"))
            .basic_auth(VERIFIER, Some(VERIFIER_SECRET))
            .header("content-type", FORM)
            .body(body);
        scene.api.send(request).await.refusal(400, "malformed_query");
    }
    let without_form = scene
        .api
        .anonymous(Method::POST, &format!("{INTROSPECT}?token={token}"))
        .basic_auth(VERIFIER, Some(VERIFIER_SECRET));
    let answer = scene.api.send(without_form).await;
    answer.refusal(400, "malformed_query");
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        let request = scene
            .api
            .anonymous(method, INTROSPECT)
            .basic_auth(VERIFIER, Some(VERIFIER_SECRET));
        let answer = scene.api.send(request).await;
        answer.refusal(405, "method_not_allowed");
        assert_eq!(answer.header("allow"), Some("POST"));
    }
}

#[tokio::test]
async fn only_a_verifiers_name_and_secret_are_accepted() {
    let scene = Scene::new().await;
    let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
    let right = basic(&format!("{VERIFIER}:{VERIFIER_SECRET}"));
    let key = format!("Bearer {}", scene.ada.token);
    let mut refusals = Vec::new();
    for headers in [
        &[][..],
        &[basic(&format!("{VERIFIER}:"))],
        &[basic(&format!("{VERIFIER}:wrong"))],
        &[basic(&format!("{VERIFIER}:{VERIFIER_SECRET} "))],
        &[basic(&format!("{}:{VERIFIER_SECRET}", VERIFIER.to_uppercase()))],
        &[basic(&format!("nobody:{VERIFIER_SECRET}"))],
        &[basic(VERIFIER)],
        &[basic(":")],
        &[basic(&format!("ada:{}", scene.ada.token))],
        &["Basic".to_owned()],
        &["Basic %%%".to_owned()],
        &["Basic //79".to_owned()],
        std::slice::from_ref(&key),
        &[right.clone(), right.clone()],
        &[right.clone(), key.clone()],
    ] {
        let mut request = scene
            .api
            .anonymous(Method::POST, INTROSPECT)
            .form(&[("token", &scene.ada.token)]);
        for value in headers {
            request = request.header("authorization", value);
        }
        let answer = scene.api.send(request).await;
        refusals.push(answer.refusal(401, "invalid_client"));
        assert_eq!(answer.header("www-authenticate"), Some(CHALLENGE), "{headers:?}");
    }
    assert!(refusals.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(refusals[0]["error"], "invalid_client");

    // RFC 6749 §2.3.1: OAuth clients encode both like a form.
    let encoded = "orders%2Dservice:50%25+off+%2B+more%3A+%C3%BC";
    for value in [right.clone(), right.replace("Basic", "bAsIc "), basic(encoded)] {
        let request = scene
            .api
            .anonymous(Method::POST, INTROSPECT)
            .header("authorization", &value)
            .form(&[("token", &scene.ada.token)]);
        assert_eq!(scene.api.send(request).await.ok(200)["active"], true, "{value}");
    }
}

#[tokio::test]
async fn introspection_without_verifiers_says_how_to_add_them() {
    let scene = Scene::new().await;
    let api = Api::start(HttpApi {
        verifiers: None,
        ..http_api(&scene.installation)
    })
    .await;
    for request in [api.anonymous(Method::POST, INTROSPECT), by_verifier(&api)] {
        let problem = api.send(request).await.refusal(404, "not_found");
        assert!(
            problem["detail"].as_str().unwrap().contains("--verifiers"),
            "{problem}"
        );
    }
}

#[tokio::test]
async fn storage_outage_is_neither_active_nor_inactive() {
    let scene = Scene::new().await;
    scene.installation.store.go_down();
    let answer = introspect(&scene.api, &scene.ada.token).await;
    answer.refusal(503, "unavailable");
    assert_eq!(answer.header("retry-after"), Some("5"));
    assert_inactive(
        &introspect(&scene.api, "kwp_x").await,
        "malformed without storage",
    );
}

#[tokio::test]
async fn fifty_projects_are_listed_and_more_are_reported() {
    let scene = Scene::new().await;
    for number in 0..51 {
        scene.project_of(&scene.ada, &format!("Project {number}")).await;
        let response = introspect(&scene.api, &scene.ada.token).await.ok(200);
        assert_eq!(response["projects"].as_array().unwrap().len(), 50.min(number + 1));
        assert_eq!(response["more_projects"], json!(number == 50));
    }
    let response = introspect(&scene.api, &scene.ada.token).await.ok(200);
    let page: Value = json!({"items": response["projects"]});
    assert_eq!(names(&page)[0], "Project 50");
}

/// The request comes from the service, whose address must not be shown as that of the key's user.
#[tokio::test]
async fn introspection_counts_as_a_use_without_an_address() {
    let scene = Scene::new().await;
    let (uses, refused) = (Arc::new(RecentUses::new(100)), Arc::new(RefusedUses::new(100)));
    let api = Api::start(HttpApi {
        authenticate: scene
            .installation
            .authenticate()
            .with_recent_uses(Arc::clone(&uses))
            .with_refused_uses(Arc::clone(&refused)),
        ..http_api(&scene.installation)
    })
    .await;
    let now = scene.installation.builder.clock.now();
    introspect(&api, &scene.ada.token).await.ok(200);
    let due = uses.take_due(now);
    scene.installation.store.record(due, now).await.unwrap();
    let key = scene
        .api
        .get(&scene.ada.key_path(), &scene.ada.token)
        .await
        .ok(200);
    assert_eq!(key["lastUsedAt"], "2026-01-01T00:00:00.000Z");
    assert!(key.get("lastUsedFrom").is_none(), "{key}");

    assert_eq!(refused.unwritten(), 0);
    scene
        .api
        .delete(&scene.ada.key_path(), &scene.ada.token)
        .await
        .ok(204);
    assert_inactive(&introspect(&api, &scene.ada.token).await, "revoked");
    assert_eq!(refused.unwritten(), 1);
}
