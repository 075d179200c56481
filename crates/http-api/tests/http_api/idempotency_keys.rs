//! `Idempotency-Key` on `POST /api/v1/user/api-keys` and, while the first request is in progress, on rotation.

use std::sync::{Arc, Mutex, mpsc};

use chrono::TimeDelta;
use keyward_domain::keys::{IdempotencyKey, PersonalKeys, RotateKeyError};
use keyward_domain::ports::{KeyLimit, KeyLimits, MockApiKeys};
use keyward_http_api::HttpApi;
use reqwest::Method;
use reqwest::header::HeaderValue;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::block_in_place;

use crate::answer::Answer;
use crate::api::{API_KEYS, Api};
use crate::scene::{Scene, http_api};

const CHOSEN: &str = "8e03978e-40d5-43dd-bc93-6894a57f9324";

async fn send(scene: &Scene, token: &str, body: &Value, lines: &[&[u8]]) -> Answer {
    send_to(API_KEYS, scene, token, body, lines).await
}

async fn send_to(path: &str, scene: &Scene, token: &str, body: &Value, lines: &[&[u8]]) -> Answer {
    let mut request = scene.api.request(Method::POST, path, token).json(body);
    for line in lines {
        request = request.header("idempotency-key", HeaderValue::from_bytes(line).unwrap());
    }
    scene.api.send(request).await
}

async fn create(scene: &Scene, body: &Value) -> Answer {
    send(scene, &scene.ada.token, body, &[CHOSEN.as_bytes()]).await
}

async fn count_of_keys(scene: &Scene) -> usize {
    let path = format!("{API_KEYS}?status=all");
    let page = scene.api.get(&path, &scene.ada.token).await.ok(200);
    page["items"].as_array().unwrap().len()
}

#[tokio::test]
async fn repeated_request_names_the_key_without_its_token() {
    let scene = Scene::new().await;
    let body = json!({"name": "ci", "expiresAt": "2026-01-31T00:00:00Z"});
    let created = create(&scene, &body).await.ok(201);
    let token = created["key"].as_str().unwrap();
    // Equivalent bodies count as the same request.
    let reworded = json!({
        "expiresAt": "2026-01-31T01:00:00+01:00", "description": "", "name": " ci ", "canManageKeys": null,
    });
    let quoted = format!("\"{CHOSEN}\"");
    for (body, line) in [(&body, CHOSEN), (&reworded, CHOSEN), (&body, &quoted)] {
        let again = send(&scene, &scene.ada.token, body, &[line.as_bytes()]).await;
        let problem = again.refusal(409, "already_created");
        assert_eq!(problem["id"], created["id"]);
        assert_eq!(
            problem["hint"].as_str().unwrap(),
            format!("kwp_…{}", &token[token.len() - 4..])
        );
        assert!(!again.body.contains(token));
    }
    assert_eq!(count_of_keys(&scene).await, 2);
}

#[tokio::test]
async fn request_is_known_as_repeated_after_its_key_has_expired() {
    let scene = Scene::new().await;
    let body = json!({"name": "ci", "expiresAt": "2026-01-01T01:00:00Z"});
    let created = create(&scene, &body).await.ok(201);
    scene.installation.builder.clock.advance(TimeDelta::hours(2));
    let problem = create(&scene, &body).await.refusal(409, "already_created");
    assert_eq!(problem["id"], created["id"]);
    let first = send(&scene, &scene.ada.token, &body, &[b"another"]).await;
    assert_eq!(first.pointers(), ["/expiresAt"]);
}

#[tokio::test]
async fn idempotency_key_for_another_body_is_refused() {
    let scene = Scene::new().await;
    create(&scene, &json!({"name": "ci"})).await.ok(201);
    for other in [
        json!({"name": "cd"}),
        json!({"name": "ci", "description": "for ci"}),
        json!({"name": "ci", "canManageKeys": true}),
        json!({"name": "ci", "expiresAt": "2026-01-31T00:00:00Z"}),
    ] {
        create(&scene, &other)
            .await
            .refusal(422, "idempotency_key_reused");
    }
    assert_eq!(count_of_keys(&scene).await, 2);
}

#[tokio::test]
async fn idempotency_key_belongs_to_the_consumer() {
    let scene = Scene::new().await;
    let body = json!({"name": "ci"});
    let first = create(&scene, &body).await.ok(201);
    let chosen = [CHOSEN.as_bytes()];
    send(&scene, &scene.grace.token, &body, &chosen).await.ok(201);
    let through_another = send(&scene, first["key"].as_str().unwrap(), &body, &chosen).await;
    through_another.refusal(409, "already_created");
}

#[tokio::test]
async fn repeated_request_names_its_revoked_key() {
    let scene = Scene::new().await;
    let body = json!({"name": "ci"});
    let first = create(&scene, &body).await.ok(201);
    let path = format!("{API_KEYS}/{}", first["id"].as_str().unwrap());
    scene.api.delete(&path, &scene.ada.token).await.ok(204);
    let again = create(&scene, &body).await;
    assert_eq!(again.refusal(409, "already_created")["id"], first["id"]);
}

#[tokio::test]
async fn former_holder_learns_nothing_by_repeating() {
    let scene = Scene::new().await;
    let body = json!({"name": "ci"});
    create(&scene, &body).await.ok(201);
    scene
        .api
        .delete(&scene.ada.key_path(), &scene.ada.token)
        .await
        .ok(204);
    create(&scene, &body).await.refusal(401, "invalid_token");
}

#[tokio::test]
async fn refused_request_may_be_repeated_with_its_idempotency_key() {
    let scene = Scene::with_limits(KeyLimits {
        valid: KeyLimit(2),
        ..KeyLimits::default()
    })
    .await;
    create(&scene, &json!({"name": ""}))
        .await
        .refusal(422, "invalid_fields");
    let second = scene.create(&scene.ada.token, "second").await;
    create(&scene, &json!({"name": "ci"}))
        .await
        .refusal(409, "key_limit_reached");
    let path = format!("{API_KEYS}/{}", second["id"].as_str().unwrap());
    scene.api.delete(&path, &scene.ada.token).await.ok(204);
    create(&scene, &json!({"name": "cd"})).await.ok(201);
}

#[tokio::test]
async fn idempotency_key_is_forgotten_after_24_hours() {
    let scene = Scene::new().await;
    let first = create(&scene, &json!({"name": "ci"})).await.ok(201);
    let clock = &scene.installation.builder.clock;
    clock.advance(IdempotencyKey::REMEMBERED - TimeDelta::milliseconds(1));
    create(&scene, &json!({"name": "ci"}))
        .await
        .refusal(409, "already_created");
    clock.advance(TimeDelta::milliseconds(1));
    let second = create(&scene, &json!({"name": "ci"})).await.ok(201);
    assert_ne!(first["id"], second["id"]);
}

#[tokio::test]
async fn malformed_idempotency_key_is_named_with_its_limits() {
    let scene = Scene::new().await;
    let long = "a".repeat(300);
    let quoted = format!("\"{long}\"");
    let lines: [&[&[u8]]; 14] = [
        &[b""],
        &[b"\"\""],
        &[long.as_bytes()],
        &[quoted.as_bytes()],
        &[b"a\tb"],
        &[b"\"a\tb\""],
        &["é".as_bytes()],
        &[b"\xff"],
        &[b"a b"],
        &[b"a, b"],
        &[b"\"a"],
        &[b"\"a\";p"],
        &[b"a", b"a"],
        &[b"a", b"\"b\""],
    ];
    let rotate = format!("{API_KEYS}/current/rotate");
    for (path, body) in [(API_KEYS, json!({"name": "ci"})), (&rotate, json!({}))] {
        for lines in lines {
            let answer = send_to(path, &scene, &scene.ada.token, &body, lines).await;
            let problem = answer.refusal(400, "malformed_request");
            let detail = problem["detail"].as_str().unwrap();
            assert!(
                detail.contains("`Idempotency-Key`") && detail.contains("255"),
                "{path} {lines:?}: {detail}"
            );
        }
    }
    assert_eq!(count_of_keys(&scene).await, 1);
}

/// The point at which the store waits once, until the test releases it.
struct Pause {
    begun: UnboundedSender<()>,
    may_go_on: Mutex<mpsc::Receiver<()>>,
}

impl Pause {
    fn wait(&self) {
        _ = self.begun.send(());
        // It fails if the test does.
        _ = block_in_place(|| self.may_go_on.lock().unwrap().recv());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_request_is_refused_while_the_first_is_running() {
    let scene = Scene::new().await;
    for (path, body, status) in [
        (API_KEYS.to_owned(), json!({"name": "ci"}), 201),
        (format!("{API_KEYS}/current/rotate"), json!({}), 404),
    ] {
        let (begun, mut has_begun) = unbounded_channel();
        let (go_on, may_go_on) = mpsc::channel();
        let pause = Arc::new(Pause {
            begun,
            may_go_on: Mutex::new(may_go_on),
        });
        let mut store = MockApiKeys::new();
        let at = Arc::clone(&pause);
        store.expect_add().returning(move |new, _, _| {
            at.wait();
            Ok(new.key)
        });
        store.expect_rotate().returning(move |_, _, _| {
            pause.wait();
            Err(RotateKeyError::NotFound)
        });
        let (sources, limits) = (scene.installation.builder.sources.clone(), KeyLimits::default());
        let api = Api::start(HttpApi {
            keys: PersonalKeys::new(Arc::new(store), sources, limits),
            ..http_api(&scene.installation)
        })
        .await;
        let request = || {
            let request = api.request(Method::POST, &path, &scene.ada.token).json(&body);
            request.header("idempotency-key", CHOSEN)
        };
        let first = tokio::spawn(request().send());
        has_begun.recv().await.unwrap();
        let repeated = api.send(request()).await;
        assert_eq!(repeated.header("retry-after"), Some("1"));
        repeated.refusal(409, "in_progress");
        go_on.send(()).unwrap();
        assert_eq!(first.await.unwrap().unwrap().status(), status, "{path}");
    }
}
