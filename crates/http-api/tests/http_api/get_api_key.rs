//! `GET /api/v1/user/api-keys/{id}`

use reqwest::Method;
use serde_json::json;

use crate::api::{API_KEYS, USER};
use crate::documented::{DOCUMENT, operations};
use crate::scene::Scene;

#[tokio::test]
async fn key_is_returned_without_token_or_absent_fields() {
    let scene = Scene::new().await;
    let answer = scene.api.get(&scene.ada.key_path(), &scene.ada.token).await;
    let hint = format!("kwp_…{}", &scene.ada.token[38..]);
    let item = answer.ok(200);
    let expected = json!({
        "id": scene.ada.key_id,
        "hint": hint,
        "name": "console",
        "description": "",
        "status": "valid",
        "canManageKeys": true,
        "createdAt": "2026-01-01T00:00:00.000Z",
        "expiresSoon": false,
        "consumerId": scene.ada.member.membership.id.to_string(),
        "consumerUsername": "ada",
    });
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(item[field], *value, "{field}");
    }
    let required = DOCUMENT["components"]["schemas"]["ApiKey"]["required"].as_array();
    for field in item.as_object().unwrap().keys() {
        assert!(required.unwrap().contains(&json!(field)), "{field}");
    }
    assert!(!item.to_string().contains(&scene.ada.token));
    for absent in ["key", "fullKey", "digest", "lastUsedAt", "revokedAt", "expiresAt"] {
        assert!(item.get(absent).is_none(), "{absent}");
    }
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn current_identifies_the_requesting_key() {
    let scene = Scene::new().await;
    let other = scene.create(&scene.ada.token, "other").await;
    let path = format!("{API_KEYS}/current");
    let current = scene.api.get(&path, other["key"].as_str().unwrap()).await.ok(200);
    assert_eq!(current["id"], other["id"]);
    assert_eq!(current["createdByKeyId"], json!(scene.ada.key_id));
}

#[tokio::test]
async fn revoked_key_includes_time_and_reason() {
    let scene = Scene::new().await;
    let other = scene.create(&scene.ada.token, "other").await;
    let path = format!("{API_KEYS}/{}", other["id"].as_str().unwrap());
    scene.api.delete(&path, &scene.ada.token).await.ok(204);
    let item = scene.api.get(&path, &scene.ada.token).await.ok(200);
    assert_eq!(item["status"], "revoked");
    assert_eq!(item["revokedAt"], "2026-01-01T00:00:00.000Z");
    assert_eq!(item["revokedReason"], "holder");
}

/// Responses do not reveal which identifiers exist.
#[tokio::test]
async fn unknown_foreign_and_malformed_ids_get_identical_responses() {
    let scene = Scene::new().await;
    let foreign = scene.grace.key_id.as_str();
    let ids = [
        foreign,
        "019b76da-a800-7c3e-8f21-5d1c3a9e4b70",
        "00000000-0000-0000-0000-000000000000",
        "f47ac10b-58cc-4372-a567-0e02b2c3d479",
        "7",
        "Current",
        "%FF",
        "%00",
        "a%2Fb",
        "..%2f..",
        "{id}",
    ];
    for method in [Method::GET, Method::PATCH, Method::DELETE] {
        let mut seen = Vec::new();
        for id in ids {
            let path = format!("{API_KEYS}/{id}");
            let mut request = scene.api.request(method.clone(), &path, &scene.ada.token);
            if method == Method::PATCH {
                request = request.json(&json!({"name": "mine now"}));
            }
            let answer = scene.api.send(request).await;
            answer.refusal(404, "not_found");
            let mut headers = answer.headers.clone();
            let request_id = headers.remove("x-request-id").unwrap();
            headers.remove("date");
            let body = answer.body.replace(request_id.to_str().unwrap(), "");
            seen.push((headers, body));
        }
        assert!(
            seen.windows(2).all(|pair| pair[0] == pair[1]),
            "{method}: {seen:?}"
        );
    }
    let untouched = scene
        .api
        .get(&scene.grace.key_path(), &scene.grace.token)
        .await
        .ok(200);
    assert_eq!(
        (&untouched["name"], &untouched["status"]),
        (&json!("console"), &json!("valid"))
    );
}

#[tokio::test]
async fn head_answers_like_get_without_a_body() {
    let scene = Scene::new().await;
    for path in [USER, &scene.ada.key_path()] {
        let ask = async |method| {
            let request = scene.api.request(method, path, &scene.ada.token);
            scene.api.send(request).await
        };
        let (get, head) = (ask(Method::GET).await, ask(Method::HEAD).await);
        assert_eq!((head.status, head.body.as_str()), (200, ""), "{path}");
        for name in ["content-type", "content-length", "cache-control", "etag"] {
            assert_eq!(head.header(name), get.header(name), "{name} of {path}");
        }
    }
}

#[tokio::test]
async fn get_and_head_of_every_operation_record_nothing() {
    let scene = Scene::new().await;
    let before = scene.installation.store.events();
    for operation in operations().iter().filter(|it| it.method == Method::GET) {
        for method in [Method::GET, Method::HEAD] {
            let request = scene.api.request(method, &operation.path(), &scene.ada.token);
            scene.api.send(request).await;
            assert_eq!(scene.installation.store.events(), before, "{}", operation.id());
        }
    }
}
