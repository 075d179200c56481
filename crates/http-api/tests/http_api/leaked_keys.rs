//! `POST /api/v1/leaked-keys`: reports of leaked tokens, without credentials.

use std::sync::Arc;
use std::time::Duration;

use keyward_domain::clock::Clock;
use keyward_domain::leaked_keys::RevokeLeakedKeys;
use keyward_domain::ports::{MockApiKeys, RevokeKeyError, StorageError};
use keyward_domain::testing::TestInstallation;
use keyward_domain::token::Token;
use keyward_http_api::{HttpApi, RateLimits};
use keyward_rate_limits::{Elapsed, Limiter, Quota};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::answer::Answer;
use crate::api::{Api, USER};
use crate::scene::{Scene, http_api};

const LEAKED_KEYS: &str = "/api/v1/leaked-keys";

async fn report(api: &Api, body: &Value) -> Answer {
    api.send(api.anonymous(Method::POST, LEAKED_KEYS).json(body))
        .await
}

fn tokens(tokens: &[&str]) -> Value {
    let tokens: Vec<Value> = tokens.iter().map(|token| json!({"token": token})).collect();
    json!({"tokens": tokens})
}

/// All parts of an answer, without those that differ between any two.
fn told(answer: &Answer) -> (u16, Vec<(String, String)>, String) {
    let headers = answer.headers.iter();
    let headers = headers
        .filter(|(name, _)| !["x-request-id", "date"].contains(&name.as_str()))
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect();
    (answer.status, headers, answer.body.clone())
}

#[tokio::test]
async fn reported_key_is_revoked_and_says_why() {
    let scene = Scene::new().await;
    let (ada, grace) = (&scene.ada, &scene.grace);
    let other = scene.create(&ada.token, "other").await;
    let body = json!({"tokens": [
        {"token": ada.token, "url": "https://example.com/x", "type": "commit"},
        {"token": grace.token},
    ]});
    report(&scene.api, &body).await.ok(202);

    for person in [ada, grace] {
        let answer = scene.api.get(USER, &person.token).await;
        answer.refusal(401, "invalid_token");
    }
    let other = other["key"].as_str().unwrap();
    let key = scene.api.get(&ada.key_path(), other).await.ok(200);
    assert_eq!(
        (&key["status"], &key["revokedReason"]),
        (&json!("revoked"), &json!("leak"))
    );
    let event = scene.last_event();
    assert_eq!(event.source.address, Some([127, 0, 0, 1].into()));
    assert!(event.source.request_id.is_some());
}

#[tokio::test]
async fn answer_reveals_nothing_about_any_token() {
    let scene = Scene::new().await;
    let revoked = scene.revoked_token().await;
    let unknown = Token::generate(&*scene.installation.builder.random);
    let known = told(&report(&scene.api, &tokens(&[&scene.ada.token])).await);
    assert_eq!((known.0, known.2.as_str()), (202, ""));
    for other in [
        &[unknown.expose()][..],
        &[&revoked],
        &["no token"],
        &[""],
        &["x"; 100],
    ] {
        let begun = Instant::now();
        assert_eq!(
            told(&report(&scene.api, &tokens(other)).await),
            known,
            "{other:?}"
        );
        assert!(begun.elapsed() >= Duration::from_millis(250), "{other:?}");
    }
}

#[tokio::test]
async fn report_without_a_store_is_to_be_repeated() {
    let scene = Scene::new().await;
    scene.installation.store.go_down();
    for token in [
        scene.ada.token.as_str(),
        Token::generate(&*scene.installation.builder.random).expose(),
    ] {
        let answer = report(&scene.api, &tokens(&[token])).await;
        answer.refusal(503, "unavailable");
        assert!(answer.header("retry-after").is_some());
    }
    scene.installation.store.come_back();
    report(&scene.api, &tokens(&[&scene.ada.token])).await.ok(202);
    let answer = scene.api.get(USER, &scene.ada.token).await;
    answer.refusal(401, "invalid_token");
}

/// Over a store that revokes one key, and then is away.
pub(crate) fn revoking_one_key(installation: &TestInstallation) -> RevokeLeakedKeys {
    let mut keys = MockApiKeys::new();
    keys.expect_revoke()
        .times(1)
        .returning(|_, id, _, _, _, _| Ok(vec![id]));
    keys.expect_revoke().returning(|_, _, _, _, _, _| {
        let away = StorageError::Unavailable("the connection broke".into());
        Err(RevokeKeyError::Storage(away))
    });
    let credentials = Arc::new(installation.store.clone());
    let sources = installation.builder.sources.clone();
    RevokeLeakedKeys::new(credentials, Arc::new(keys), sources)
}

#[tokio::test]
async fn half_done_report_does_not_say_that_nothing_changed() {
    let scene = Scene::new().await;
    let api = Api::start(HttpApi {
        leaks: revoking_one_key(&scene.installation),
        ..http_api(&scene.installation)
    })
    .await;
    let [first, second] = [&scene.ada.token, &scene.grace.token];
    let answer = report(&api, &tokens(&[first, "no token", second])).await;
    answer.refusal(503, "outcome_unknown");
    assert!(answer.header("retry-after").is_some());
    assert!(!answer.body.contains("Nothing was changed"), "{}", answer.body);
    let answer = report(&api, &tokens(&["no token", second])).await;
    answer.refusal(503, "unavailable");
}

#[tokio::test]
async fn malformed_reports_are_refused_with_every_error() {
    let scene = Scene::new().await;
    let token = &scene.ada.token;
    for (body, pointers) in [
        (json!({}), vec!["/tokens"]),
        (json!({"tokens": null}), vec!["/tokens"]),
        (json!({"tokens": []}), vec!["/tokens"]),
        (json!({"tokens": token}), vec!["/tokens"]),
        (tokens(&["x"; 101]), vec!["/tokens"]),
        (
            json!({"tokens": [token, {}, 7]}),
            vec!["/tokens/0", "/tokens/1/token", "/tokens/2"],
        ),
        (
            json!({"tokens": [{"token": null, "url": 1, "type": [], "more": 1}], "other": 1}),
            vec![
                "/tokens/0/token",
                "/tokens/0/url",
                "/tokens/0/type",
                "/tokens/0/more",
                "/other",
            ],
        ),
        (json!({"tokens": [{"token": "x", token: "x"}]}), vec!["/tokens/0"]),
    ] {
        let answer = report(&scene.api, &body).await;
        assert_eq!(answer.pointers(), pointers, "{body}");
        assert!(!answer.body.contains(&token[4..]), "{}", answer.body);
    }
    let many: Vec<Value> = (0..100).map(|_| json!({"a": 1, "b": 2})).collect();
    let answer = report(&scene.api, &json!({"tokens": many})).await;
    assert_eq!(answer.pointers().len(), 50);
    let answer = report(&scene.api, &tokens(&[&"x".repeat(64 * 1024)])).await;
    answer.refusal(413, "body_too_large");
    let request = scene.api.anonymous(Method::POST, LEAKED_KEYS);
    let form = scene.api.send(request.form(&[("token", token)])).await;
    form.refusal(415, "unsupported_media_type");
    let key = scene.api.get(USER, token).await;
    key.ok(200);
}

#[tokio::test]
async fn optional_members_may_be_null_and_credentials_are_ignored() {
    let scene = Scene::new().await;
    let token = &scene.ada.token;
    let body = json!({"tokens": [{"token": token, "url": null, "type": null}]});
    for authorization in ["Bearer x", "Basic x", &format!("Bearer {token}")] {
        let request = scene.api.anonymous(Method::POST, LEAKED_KEYS);
        let request = request.header("authorization", authorization).json(&body);
        scene.api.send(request).await.ok(202);
    }
    let request = scene
        .api
        .anonymous(Method::POST, &format!("{LEAKED_KEYS}?token={token}"));
    scene
        .api
        .send(request.json(&body))
        .await
        .refusal(400, "malformed_query");
}

#[tokio::test]
async fn address_that_reports_too_often_waits() {
    let scene = Scene::new().await;
    let clock = Arc::clone(&scene.installation.builder.clock);
    let elapsed: Elapsed =
        Arc::new(move || Duration::from_millis(clock.now().timestamp_millis().unsigned_abs()));
    let quota: Quota = "2/1m".parse().unwrap();
    let api = Api::start(HttpApi {
        rate_limits: RateLimits {
            leak_reports: Some(Arc::new(Limiter::new("leak-reports", quota, 10, &elapsed))),
            ..RateLimits::default()
        },
        ..http_api(&scene.installation)
    })
    .await;
    let made_up = Token::generate(&*scene.installation.builder.random);
    let body = tokens(&["x", made_up.expose()]);
    for remaining in ["r=1;t=30", "r=0;t=30"] {
        let answer = report(&api, &body).await;
        let told = format!("\"leak-reports\";{remaining}");
        assert_eq!(answer.header("ratelimit"), Some(&*told));
        assert_eq!(
            answer.header("ratelimit-policy"),
            Some("\"leak-reports\";q=2;w=60")
        );
        answer.ok(202);
    }
    let answer = report(&api, &body).await;
    assert_eq!(answer.header("retry-after"), Some("30"));
    assert_eq!(answer.header("ratelimit"), Some("\"leak-reports\";r=0;t=30"));
    assert_eq!(
        answer.header("ratelimit-policy"),
        Some("\"leak-reports\";q=2;w=60")
    );
    answer.refusal(429, "rate_limited");
    // A report without any token is not counted, so that it does not use up a neighbour's limit.
    report(&api, &tokens(&["x"])).await.ok(202);
    assert_eq!(report(&api, &json!({"no": "report"})).await.status, 422);
    scene
        .installation
        .builder
        .clock
        .advance(chrono::TimeDelta::seconds(30));
    report(&api, &body).await.ok(202);
    api.get(USER, &scene.ada.token).await.ok(200);
}
