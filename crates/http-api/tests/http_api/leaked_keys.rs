//! `POST /api/v1/leaked-keys`: anybody reports tokens that they found.

use std::sync::Arc;
use std::time::Duration;

use keyward_domain::clock::Clock;
use keyward_domain::leaked_keys::{ReportedLeaks, RevokeLeakedKeys};
use keyward_domain::token::Token;
use keyward_http_api::{HttpApi, RateLimits};
use keyward_rate_limits::{Elapsed, Limiter, Quota};
use reqwest::Method;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::api::{API_KEYS, Api, USER};
use crate::scene::{Scene, http_api};

const LEAKED_KEYS: &str = "/api/v1/leaked-keys";

struct Leaks {
    scene: Scene,
    api: Api,
    reported: Arc<ReportedLeaks>,
}

impl Leaks {
    async fn keeping(tokens: usize) -> Self {
        let scene = Scene::new().await;
        let reported = Arc::new(ReportedLeaks::new(tokens));
        let api = Api::start(HttpApi {
            leaks: Arc::clone(&reported),
            ..http_api(&scene.installation)
        })
        .await;
        Self { scene, api, reported }
    }

    async fn report(&self, body: &Value) -> Answer {
        report(&self.api, body).await
    }

    /// As the server does every few seconds.
    async fn revoke(&self) -> usize {
        let store = Arc::new(self.scene.installation.store.clone());
        let sources = self.scene.installation.builder.sources.clone();
        let leaks = RevokeLeakedKeys::new(
            Arc::clone(&self.reported),
            Arc::clone(&store) as _,
            store,
            sources,
        );
        leaks.revoke_reported().await.unwrap()
    }
}

async fn report(api: &Api, body: &Value) -> Answer {
    api.send(api.anonymous(Method::POST, LEAKED_KEYS).json(body))
        .await
}

fn tokens(tokens: &[&str]) -> Value {
    let tokens: Vec<Value> = tokens.iter().map(|token| json!({"token": token})).collect();
    json!({"tokens": tokens})
}

/// All that an answer tells, but for what differs between any two.
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
    let leaks = Leaks::keeping(100).await;
    let (ada, grace) = (&leaks.scene.ada, &leaks.scene.grace);
    let other = leaks.scene.create(&ada.token, "other").await;
    let body = json!({"tokens": [
        {"token": ada.token, "url": "https://example.com/x", "type": "commit"},
        {"token": grace.token},
    ]});
    leaks.report(&body).await.ok(202);
    assert_eq!(leaks.revoke().await, 2);

    for person in [ada, grace] {
        leaks
            .api
            .get(USER, &person.token)
            .await
            .refusal(401, "invalid_token");
    }
    let other = other["key"].as_str().unwrap();
    let key = leaks.api.get(&ada.key_path(), other).await.ok(200);
    assert_eq!(
        (&key["status"], &key["revokedReason"]),
        (&json!("revoked"), &json!("leak"))
    );
    let event = leaks.scene.last_event();
    assert_eq!(event.source.address, Some([127, 0, 0, 1].into()));
    assert!(event.source.request_id.is_some());
}

/// Whatever is reported is looked up after the answer, so that no time tells either.
#[tokio::test]
async fn answer_tells_nothing_about_any_token() {
    let leaks = Leaks::keeping(1_000).await;
    let scene = &leaks.scene;
    let revoked = scene.create(&scene.ada.token, "revoked").await;
    let revoked = revoked["key"].as_str().unwrap();
    scene
        .api
        .delete(&format!("{API_KEYS}/current"), revoked)
        .await
        .ok(204);
    let unknown = Token::generate(&*scene.installation.builder.random);
    let known = told(&leaks.report(&tokens(&[&scene.ada.token])).await);
    assert_eq!((known.0, known.2.as_str()), (202, ""));
    for other in [
        &[unknown.expose()][..],
        &[revoked],
        &["no token"],
        &[""],
        &["x"; 100],
    ] {
        assert_eq!(told(&leaks.report(&tokens(other)).await), known, "{other:?}");
    }
    assert_eq!(leaks.reported.waiting(), 3, "what is no token is not kept");
    scene.installation.store.go_down();
    assert_eq!(told(&leaks.report(&tokens(&[&scene.ada.token])).await), known);
    leaks.scene.api.get(USER, "x").await.refusal(401, "invalid_token");
}

#[tokio::test]
async fn malformed_reports_are_refused_with_every_error() {
    let leaks = Leaks::keeping(100).await;
    let token = &leaks.scene.ada.token;
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
        let answer = leaks.report(&body).await;
        assert_eq!(answer.pointers(), pointers, "{body}");
        assert!(!answer.body.contains(&token[4..]), "{}", answer.body);
    }
    let many: Vec<Value> = (0..100).map(|_| json!({"a": 1, "b": 2})).collect();
    let answer = leaks.report(&json!({"tokens": many})).await;
    assert_eq!(answer.pointers().len(), 50);
    let answer = leaks.report(&tokens(&[&"x".repeat(64 * 1024)])).await;
    answer.refusal(413, "body_too_large");
    let request = leaks.api.anonymous(Method::POST, LEAKED_KEYS);
    let form = leaks.api.send(request.form(&[("token", token)])).await;
    form.refusal(415, "unsupported_media_type");
    assert_eq!(leaks.reported.waiting(), 0);
}

#[tokio::test]
async fn optional_members_may_be_null_and_credentials_are_ignored() {
    let leaks = Leaks::keeping(100).await;
    let token = &leaks.scene.ada.token;
    let body = json!({"tokens": [{"token": token, "url": null, "type": null}]});
    for authorization in ["Bearer x", "Basic x", &format!("Bearer {token}")] {
        let request = leaks.api.anonymous(Method::POST, LEAKED_KEYS);
        let request = request.header("authorization", authorization).json(&body);
        leaks.api.send(request).await.ok(202);
    }
    let request = leaks
        .api
        .anonymous(Method::POST, &format!("{LEAKED_KEYS}?token={token}"));
    leaks
        .api
        .send(request.json(&body))
        .await
        .refusal(400, "malformed_query");
}

#[tokio::test]
async fn full_memory_is_unavailable_whatever_is_reported() {
    let leaks = Leaks::keeping(1).await;
    let token = leaks.scene.ada.token.as_str();
    let random = &*leaks.scene.installation.builder.random;
    let [first, second] = [(); 2].map(|()| Token::generate(random).expose().to_owned());
    leaks.report(&tokens(&[&first, &first])).await.ok(202);
    for another in [token, &second] {
        let answer = leaks.report(&tokens(&[another])).await;
        answer.refusal(503, "unavailable");
        assert_eq!(answer.header("retry-after"), Some("5"));
    }
    assert_eq!(leaks.revoke().await, 0);
    leaks.report(&tokens(&[token])).await.ok(202);
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
            leak_reports: Some(Arc::new(Limiter::new("leak-reports", quota, 10, elapsed))),
            ..RateLimits::default()
        },
        ..http_api(&scene.installation)
    })
    .await;
    for _ in 0..2 {
        report(&api, &tokens(&["x"])).await.ok(202);
    }
    for body in [tokens(&["x"]), json!({"no": "report"})] {
        let answer = report(&api, &body).await;
        answer.refusal(429, "rate_limited");
        assert_eq!(answer.header("retry-after"), Some("30"));
        assert_eq!(
            answer.header("ratelimit-policy"),
            Some("\"leak-reports\";q=2;w=60")
        );
    }
    scene
        .installation
        .builder
        .clock
        .advance(chrono::TimeDelta::seconds(30));
    report(&api, &tokens(&["x"])).await.ok(202);
    api.get(USER, &scene.ada.token).await.ok(200);
}
