//! `DELETE /api/v1/user/api-keys/{id}`

use std::sync::Arc;

use keyward_domain::audit::Action;
use keyward_http_api::HttpApi;
use reqwest::Method;
use serde_json::Value;

use crate::api::{API_KEYS, Api, USER};
use crate::counted_waits::CountedWaits;
use crate::scene::{Scene, http_api};

fn path_of(key: &Value) -> String {
    format!("{API_KEYS}/{}", key["id"].as_str().unwrap())
}

fn token_of(key: &Value) -> &str {
    key["key"].as_str().unwrap()
}

#[tokio::test]
async fn deleted_key_stops_working_and_others_continue() {
    let scene = Scene::new().await;
    let second = scene.create(&scene.ada.token, "second").await;
    let third = scene.create(token_of(&second), "third").await;
    let answer = scene.api.delete(&path_of(&second), &scene.ada.token).await;
    answer.ok(204);
    assert_eq!(answer.body, "");
    let refused = scene.api.get(USER, token_of(&second)).await;
    refused.refusal(401, "invalid_token");
    scene.api.get(USER, token_of(&third)).await.ok(200);
    scene.api.get(USER, &scene.ada.token).await.ok(200);
}

#[tokio::test]
async fn deletion_with_a_body_is_refused_and_revokes_nothing() {
    let scene = Scene::new().await;
    let second = scene.create(&scene.ada.token, "second").await;
    let deletion = || {
        scene
            .api
            .request(Method::DELETE, &path_of(&second), &scene.ada.token)
    };
    for body in [r#"{"descendants":"revoke"}"#, "{}"] {
        let refused = scene.api.send(deletion().body(body)).await;
        let detail = &refused.refusal(400, "malformed_request")["detail"];
        assert!(detail.as_str().unwrap().contains("query parameters"), "{detail}");
        scene.api.get(USER, token_of(&second)).await.ok(200);
    }
    scene.api.send(deletion().body("")).await.ok(204);
}

#[tokio::test]
async fn deletion_with_an_empty_chunked_body_succeeds() {
    let scene = Scene::new().await;
    let request = format!(
        "DELETE {API_KEYS}/current HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
         transfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        scene.ada.token
    );
    let answer = scene.api.send_raw(request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
}

#[tokio::test]
async fn repeated_deletion_succeeds_without_a_second_event() {
    let scene = Scene::new().await;
    let second = scene.create(&scene.ada.token, "second").await;
    for _ in 0..3 {
        scene
            .api
            .delete(&path_of(&second), &scene.ada.token)
            .await
            .ok(204);
    }
    let events = scene.installation.store.events();
    let revocations = events.iter().filter(|event| event.action == Action::RevokeApiKey);
    assert_eq!(revocations.count(), 1);
}

#[tokio::test]
async fn repeated_deletion_with_the_refused_key_waits_for_all_servers() {
    let scene = Scene::new().await;
    let counted = Arc::new(CountedWaits::default());
    let installation = &scene.installation;
    let api = Api::start(HttpApi {
        authenticate: installation
            .authenticate()
            .with_propagation(Arc::clone(&counted) as _),
        ..http_api(installation)
    })
    .await;
    let (token, current) = (&scene.ada.token, format!("{API_KEYS}/current"));
    api.delete(&current, token).await.ok(204);
    api.get(USER, token).await.refusal(401, "invalid_token");
    assert_eq!(counted.count(), 0);
    api.delete(&current, token).await.refusal(401, "invalid_token");
    assert_eq!(counted.count(), 1);
}

#[tokio::test]
async fn descendants_are_revoked_when_requested() {
    let scene = Scene::new().await;
    let second = scene.create(&scene.ada.token, "second").await;
    let third = scene.create(token_of(&second), "third").await;
    let fourth = scene.create(token_of(&third), "fourth").await;
    let path = format!("{}?descendants=revoke", path_of(&second));
    scene.api.delete(&path, &scene.ada.token).await.ok(204);
    for key in [&second, &third, &fourth] {
        scene
            .api
            .get(USER, token_of(key))
            .await
            .refusal(401, "invalid_token");
    }
    scene.api.get(USER, &scene.ada.token).await.ok(200);
}

/// An importer such as Postman's sends every parameter, with its default.
#[tokio::test]
async fn descendants_explicitly_kept_remain_valid() {
    let scene = Scene::new().await;
    let second = scene.create(&scene.ada.token, "second").await;
    let third = scene.create(token_of(&second), "third").await;
    let path = format!("{}?descendants=keep", path_of(&second));
    scene.api.delete(&path, &scene.ada.token).await.ok(204);
    scene
        .api
        .get(USER, token_of(&second))
        .await
        .refusal(401, "invalid_token");
    scene.api.get(USER, token_of(&third)).await.ok(200);
}

#[tokio::test]
async fn key_can_revoke_itself() {
    let scene = Scene::new().await;
    scene
        .api
        .delete(&format!("{API_KEYS}/current"), &scene.ada.token)
        .await
        .ok(204);
    scene
        .api
        .get(USER, &scene.ada.token)
        .await
        .refusal(401, "invalid_token");
}

/// A typo must not silently keep descendants valid.
#[tokio::test]
async fn mistyped_parameter_revokes_nothing() {
    let scene = Scene::new().await;
    let second = scene.create(&scene.ada.token, "second").await;
    for query in [
        "desendants=revoke",
        "descendants=",
        "descendants=Revoke",
        "descendants=revoke&descendants=revoke",
    ] {
        let path = format!("{}?{query}", path_of(&second));
        let answer = scene.api.delete(&path, &scene.ada.token).await;
        answer.refusal(400, "malformed_query");
    }
    scene.api.get(USER, token_of(&second)).await.ok(200);
}
