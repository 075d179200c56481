//! How often keys may be created and edited.

use chrono::TimeDelta;
use keyward_domain::ports::KeyLimits;
use keyward_domain::rate::Rate;
use keyward_rate_limits::RequestQuotas;
use serde_json::json;

use crate::api::API_KEYS;
use crate::rate_limits::{api_with, quota, rate_limit_fields};
use crate::scene::Scene;

/// The scene's person has made one change, which is her key.
async fn scene_with_burst(burst: u32) -> Scene {
    let limits = KeyLimits {
        changes: Rate::per_minute(40, burst),
        ..KeyLimits::default()
    };
    Scene::with_limits(limits).await
}

#[tokio::test]
async fn rate_limited_change_states_the_seconds_to_wait() {
    let scene = scene_with_burst(3).await;
    let (path, token) = (scene.ada.key_path(), &scene.ada.token);
    let other = scene.create(token, "other").await;
    let through_other = other["key"].as_str().unwrap();
    scene
        .api
        .patch(&path, token, &json!({"name": "console"}))
        .await
        .ok(200);

    for token in [token, through_other] {
        let events = scene.installation.store.events().len();
        let created = scene.api.post(API_KEYS, token, &json!({"name": "more"})).await;
        let problem = created.refusal(429, "rate_limited");
        assert_eq!(created.header("retry-after"), Some("2"));
        assert_eq!(created.header("ratelimit"), Some(r#""changes";r=0;t=2"#));
        // Three at once, which are allowed again after three times 1.5 seconds.
        assert_eq!(created.header("ratelimit-policy"), Some(r#""changes";q=3;w=5"#));
        assert_eq!(
            problem["detail"],
            "Keys were created and edited too often. Nothing was changed."
        );
        let edited = scene.api.patch(&path, token, &json!({"name": "renamed"})).await;
        edited.refusal(429, "rate_limited");
        assert_eq!(edited.header("retry-after"), Some("2"));
        let rotate = format!("{path}/rotate");
        let rotated = scene.api.post(&rotate, token, &json!({})).await;
        rotated.refusal(429, "rate_limited");
        assert_eq!(rotated.header("retry-after"), Some("2"));
        assert_eq!(
            scene.installation.store.events().len(),
            events,
            "no event tells of it"
        );
    }

    scene
        .installation
        .builder
        .clock
        .advance(TimeDelta::milliseconds(1_500));
    scene
        .api
        .patch(&path, token, &json!({"name": "renamed"}))
        .await
        .ok(200);
    let again = scene.api.patch(&path, token, &json!({"name": "once more"})).await;
    again.refusal(429, "rate_limited");
}

#[tokio::test]
async fn revoking_and_reading_keys_ignore_the_rate_limit() {
    let scene = scene_with_burst(2).await;
    let token = &scene.ada.token;
    let other = scene.create(token, "other").await;
    let refused = scene.api.post(API_KEYS, token, &json!({"name": "more"})).await;
    refused.refusal(429, "rate_limited");

    let other = format!("{API_KEYS}/{}", other["id"].as_str().unwrap());
    scene.api.get(&other, token).await.ok(200);
    assert_eq!(scene.api.delete(&other, token).await.status, 204);
    assert_eq!(scene.api.delete(&scene.ada.key_path(), token).await.status, 204);
}

#[tokio::test]
async fn users_rate_limits_are_separate() {
    let scene = scene_with_burst(2).await;
    scene.create(&scene.ada.token, "second").await;
    let refused = scene
        .api
        .post(API_KEYS, &scene.ada.token, &json!({"name": "third"}))
        .await;
    refused.refusal(429, "rate_limited");
    scene.create(&scene.grace.token, "second").await;
}

#[tokio::test]
async fn limit_of_changes_stands_in_one_line_with_configured_ones() {
    let scene = scene_with_burst(1).await;
    let quotas = RequestQuotas {
        per_key: quota("5/1h"),
        ..RequestQuotas::default()
    };
    let api = api_with(&scene, quotas).await;
    let refused = api
        .post(API_KEYS, &scene.ada.token, &json!({"name": "more"}))
        .await;
    refused.refusal(429, "rate_limited");
    let fields = (
        Some(r#""changes";r=0;t=2, "key";r=4;t=720"#),
        Some(r#""changes";q=1;w=2, "key";q=5;w=3600"#),
    );
    assert_eq!(rate_limit_fields(&refused), fields);
}
