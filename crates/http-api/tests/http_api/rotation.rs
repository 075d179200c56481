//! `POST /api/v1/user/api-keys/{id}/rotate`.

use chrono::TimeDelta;
use keyward_domain::audit::Action;
use reqwest::Method;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::api::{API_KEYS, USER};
use crate::documented::DOCUMENT;
use crate::scene::Scene;

async fn rotate(scene: &Scene, path: &str, token: &str, body: &Value) -> Answer {
    scene.api.post(&format!("{path}/rotate"), token, body).await
}

fn path_of(key: &Value) -> String {
    format!("{API_KEYS}/{}", key["id"].as_str().unwrap())
}

fn text<'a>(key: &'a Value, member: &str) -> &'a str {
    key[member].as_str().unwrap()
}

#[tokio::test]
async fn rotated_key_works_for_a_day_beside_its_successor() {
    let scene = Scene::new().await;
    let body = json!({"name": "ci", "description": "nightly", "canManageKeys": false});
    let old = scene.api.post(API_KEYS, &scene.ada.token, &body).await.ok(201);
    let answer = rotate(&scene, &path_of(&old), &scene.ada.token, &json!({})).await;
    let new = answer.ok(201);
    assert_eq!(answer.header("location"), Some(path_of(&new).as_str()));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    for member in ["name", "description", "canManageKeys", "consumerId"] {
        assert_eq!(new[member], old[member], "{member}");
    }
    let [old_token, new_token] = [text(&old, "key"), text(&new, "key")];
    assert_ne!(old_token, new_token);
    let item = scene.api.get(&path_of(&new), new_token).await.ok(200);
    assert_eq!(item["createdByKeyId"], scene.ada.key_id);
    assert_eq!(
        (&item["rotatedFromId"], &item["rotatedToId"]),
        (&old["id"], &Value::Null)
    );
    let item = scene.api.get(&path_of(&old), old_token).await.ok(200);
    assert_eq!(
        (&item["rotatedFromId"], &item["rotatedToId"]),
        (&Value::Null, &new["id"])
    );
    assert_eq!(item["expiresAt"], "2026-01-02T00:00:00.000Z");

    scene.installation.builder.clock.advance(TimeDelta::days(1));
    scene.api.get(USER, old_token).await.refusal(401, "invalid_token");
    scene.api.get(USER, new_token).await.ok(200);
    let item = scene.api.get(&path_of(&old), &scene.ada.token).await.ok(200);
    assert_eq!(
        (&item["status"], &item["revokedReason"]),
        (&json!("revoked"), &json!("rotation"))
    );
}

#[tokio::test]
async fn key_that_rotates_itself_at_once_is_replaced() {
    let scene = Scene::new().await;
    let current = format!("{API_KEYS}/current");
    let body = json!({"oldKeyEnds": "at_once", "graceSeconds": null, "expiresAt": null});
    let new = rotate(&scene, &current, &scene.ada.token, &body).await.ok(201);
    scene
        .api
        .get(USER, &scene.ada.token)
        .await
        .refusal(401, "invalid_token");
    let user = scene.api.get(USER, text(&new, "key")).await.ok(200);
    assert_eq!(user["apiKey"]["id"], new["id"]);
    let events = scene.installation.store.events();
    let last: Vec<Action> = events.iter().rev().take(3).map(|event| event.action).collect();
    assert_eq!(
        last,
        [Action::RevokeApiKey, Action::RotateApiKey, Action::CreateApiKey]
    );
}

#[tokio::test]
async fn second_rotation_names_the_successor_without_its_token() {
    let scene = Scene::new().await;
    let old = scene.create(&scene.ada.token, "ci").await;
    let path = path_of(&old);
    let new = rotate(&scene, &path, &scene.ada.token, &json!({})).await.ok(201);
    for body in [json!({}), json!({"oldKeyEnds": "at_once"})] {
        let again = rotate(&scene, &path, &scene.ada.token, &body).await;
        let problem = again.refusal(409, "already_rotated");
        assert_eq!(problem["id"], new["id"]);
        assert!(problem["hint"].is_string(), "{problem}");
        assert!(!again.body.contains(text(&new, "key")));
    }
}

#[tokio::test]
async fn rotation_with_an_idempotency_key_can_be_repeated() {
    let scene = Scene::new().await;
    let send = async |path: &str, body: Value| {
        let request = scene
            .api
            .request(Method::POST, &format!("{path}/rotate"), &scene.ada.token);
        let request = request.header("idempotency-key", "rotation-1").json(&body);
        scene.api.send(request).await
    };
    let old = scene.create(&scene.ada.token, "ci").await;
    let path = path_of(&old);
    let new = send(&path, json!({})).await.ok(201);
    let spelled_out = json!({"oldKeyEnds": "after_grace", "graceSeconds": 86_400});
    for body in [json!({}), spelled_out] {
        let problem = send(&path, body).await.refusal(409, "already_created");
        assert_eq!(problem["id"], new["id"]);
    }
    let of_another = rotate(&scene, &path, &scene.ada.token, &json!({})).await;
    assert_eq!(of_another.refusal(409, "already_rotated")["id"], new["id"]);
    send(&path, json!({"graceSeconds": 60}))
        .await
        .refusal(422, "idempotency_key_reused");
    send(&path_of(&new), json!({}))
        .await
        .refusal(422, "idempotency_key_reused");
}

#[tokio::test]
async fn rotation_without_body_is_one_with_empty_object() {
    let scene = Scene::new().await;
    let bare = |path: &str| {
        scene
            .api
            .request(Method::POST, &format!("{path}/rotate"), &scene.ada.token)
    };
    let old = scene.create(&scene.ada.token, "ci").await;
    let path = path_of(&old);
    let request = || bare(&path).header("idempotency-key", "rotation-1");
    let new = scene.api.send(request()).await.ok(201);
    for body in [request().json(&json!({})), request().body("")] {
        let problem = scene.api.send(body).await.refusal(409, "already_created");
        assert_eq!(problem["id"], new["id"]);
    }
    let item = scene.api.get(&path, &scene.ada.token).await.ok(200);
    assert_eq!(item["expiresAt"], "2026-01-02T00:00:00.000Z");
    let typed = bare(&path_of(&new)).header("content-type", "application/json");
    scene.api.send(typed).await.ok(201);
    for untyped in [
        bare(&path).body("{}"),
        bare(&path).body("null").header("content-type", "text/plain"),
    ] {
        scene
            .api
            .send(untyped)
            .await
            .refusal(415, "unsupported_media_type");
    }
}

#[tokio::test]
async fn grace_with_a_fraction_of_zero_is_a_whole_number() {
    let scene = Scene::new().await;
    let old = scene.create(&scene.ada.token, "ci").await;
    let body = json!({"graceSeconds": 3600.0});
    rotate(&scene, &path_of(&old), &scene.ada.token, &body)
        .await
        .ok(201);
    let item = scene.api.get(&path_of(&old), &scene.ada.token).await.ok(200);
    assert_eq!(item["expiresAt"], "2026-01-01T01:00:00.000Z");
}

#[tokio::test]
async fn malformed_rotation_is_refused_with_every_error() {
    let scene = Scene::new().await;
    let current = format!("{API_KEYS}/current");
    for (body, pointer) in [
        (json!({"oldKeyEnds": "never"}), "/oldKeyEnds"),
        (json!({"oldKeyEnds": ""}), "/oldKeyEnds"),
        (json!({"oldKeyEnds": 1}), "/oldKeyEnds"),
        (json!({"graceSeconds": 0}), "/graceSeconds"),
        (json!({"graceSeconds": -1}), "/graceSeconds"),
        (json!({"graceSeconds": 604_801}), "/graceSeconds"),
        (json!({"graceSeconds": 1.5}), "/graceSeconds"),
        (json!({"graceSeconds": "60"}), "/graceSeconds"),
        (json!({"graceSeconds": u64::MAX}), "/graceSeconds"),
        (
            json!({"oldKeyEnds": "at_once", "graceSeconds": 60}),
            "/graceSeconds",
        ),
        (
            json!({"oldKeyEnds": "on_first_use", "graceSeconds": 60}),
            "/graceSeconds",
        ),
        (json!({"expiresAt": "2025-12-31T00:00:00Z"}), "/expiresAt"),
        (json!({"name": "other"}), "/name"),
    ] {
        let answer = rotate(&scene, &current, &scene.ada.token, &body).await;
        let problem = answer.refusal(422, "invalid_fields");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{body}");
    }
    let body = json!({"oldKeyEnds": "never", "graceSeconds": 0, "expiresAt": 1, "name": "x"});
    let answer = rotate(&scene, &current, &scene.ada.token, &body).await;
    let mut pointers = answer.pointers();
    pointers.sort_unstable();
    assert_eq!(pointers, ["/expiresAt", "/graceSeconds", "/name", "/oldKeyEnds"]);
    let item = scene.api.get(&current, &scene.ada.token).await.ok(200);
    assert_eq!(item["rotatedToId"], Value::Null);
}

#[tokio::test]
async fn null_old_key_end_counts_as_absent_as_documented() {
    let scene = Scene::new().await;
    let old = scene.create(&scene.ada.token, "ci").await;
    let path = path_of(&old);
    let nulls = json!({"oldKeyEnds": null, "graceSeconds": null});
    rotate(&scene, &path, &scene.ada.token, &nulls).await.ok(201);
    let item = scene.api.get(&path, &scene.ada.token).await.ok(200);
    assert_eq!(item["expiresAt"], "2026-01-02T00:00:00.000Z");
    let request = &DOCUMENT["components"]["schemas"]["RotateApiKeyRequest"];
    let description = text(&request["properties"]["oldKeyEnds"], "description");
    assert!(description.contains("`null` counts as absent"), "{description}");
}

#[tokio::test]
async fn grace_of_a_wrong_type_is_no_whole_number() {
    let scene = Scene::new().await;
    let current = format!("{API_KEYS}/current");
    let out_of_range = "must be from 1 to 604800 seconds";
    let wrong_type = "must be a whole number from 1 to 604800";
    for (seconds, detail) in [
        (json!(0), out_of_range),
        (json!(604_801), out_of_range),
        (json!("3600"), wrong_type),
        (json!(1.5), wrong_type),
        (json!(true), wrong_type),
    ] {
        let body = json!({"graceSeconds": seconds});
        let answer = rotate(&scene, &current, &scene.ada.token, &body).await;
        let problem = answer.refusal(422, "invalid_fields");
        assert_eq!(problem["errors"][0]["detail"], detail, "{seconds}");
    }
}

#[tokio::test]
async fn only_a_valid_key_within_reach_is_rotated() {
    let scene = Scene::new().await;
    let revoked = scene.create(&scene.ada.token, "revoked").await;
    let path = path_of(&revoked);
    scene.api.delete(&path, &scene.ada.token).await.ok(204);
    let body = json!({"name": "expired", "expiresAt": "2026-01-01T01:00:00Z"});
    let expired = scene.api.post(API_KEYS, &scene.ada.token, &body).await.ok(201);
    scene.installation.builder.clock.advance(TimeDelta::hours(1));
    for path in [path, path_of(&expired)] {
        rotate(&scene, &path, &scene.ada.token, &json!({}))
            .await
            .refusal(409, "key_revoked");
    }
    for path in [scene.grace.key_path(), format!("{API_KEYS}/unknown")] {
        rotate(&scene, &path, &scene.ada.token, &json!({}))
            .await
            .refusal(404, "not_found");
    }
    let body = json!({"name": "restricted", "canManageKeys": false});
    let restricted = scene.api.post(API_KEYS, &scene.ada.token, &body).await.ok(201);
    for path in [format!("{API_KEYS}/current"), scene.ada.key_path()] {
        rotate(&scene, &path, text(&restricted, "key"), &json!({}))
            .await
            .refusal(403, "key_may_not_manage_keys");
    }
}

#[tokio::test]
async fn successor_outlives_a_key_that_rotates_itself_in_no_case() {
    let scene = Scene::new().await;
    let body = json!({"name": "ci", "expiresAt": "2026-01-31T00:00:00Z"});
    let old = scene.api.post(API_KEYS, &scene.ada.token, &body).await.ok(201);
    let longer = json!({"expiresAt": "2026-02-01T00:00:00Z"});
    rotate(&scene, &path_of(&old), text(&old, "key"), &longer)
        .await
        .refusal(403, "key_may_not_extend_itself");
    let new = rotate(&scene, &path_of(&old), text(&old, "key"), &json!({}))
        .await
        .ok(201);
    assert_eq!(new["expiresAt"], old["expiresAt"]);
    let newer = rotate(&scene, &path_of(&new), &scene.ada.token, &longer)
        .await
        .ok(201);
    assert_eq!(newer["expiresAt"], "2026-02-01T00:00:00.000Z");
}

#[tokio::test]
async fn rotated_keys_end_is_not_postponed() {
    let scene = Scene::new().await;
    let old = scene.create(&scene.ada.token, "ci").await;
    let path = path_of(&old);
    rotate(&scene, &path, &scene.ada.token, &json!({})).await.ok(201);
    for expires_at in [json!("2026-01-31T00:00:00Z"), Value::Null] {
        let body = json!({"expiresAt": expires_at});
        scene
            .api
            .patch(&path, &scene.ada.token, &body)
            .await
            .refusal(409, "key_rotated");
    }
    let sooner = json!({"expiresAt": "2026-01-01T01:00:00Z"});
    let item = scene.api.patch(&path, &scene.ada.token, &sooner).await.ok(200);
    assert_eq!(item["expiresAt"], "2026-01-01T01:00:00.000Z");
}

/// After a lost response to a rotation, both ways that `already_created` names lead to a token.
#[tokio::test]
async fn lost_rotation_is_made_good_in_both_documented_ways() {
    for old_key_ends in ["after_grace", "on_first_use"] {
        let scene = Scene::new().await;
        let body = json!({"oldKeyEnds": old_key_ends});
        let send = async |path: &str, idempotency_key: &str| {
            let request = scene
                .api
                .request(Method::POST, &format!("{path}/rotate"), &scene.ada.token);
            let request = request.header("idempotency-key", idempotency_key).json(&body);
            scene.api.send(request).await
        };
        let old = scene.create(&scene.ada.token, "ci").await;
        let path = path_of(&old);
        let lost = send(&path, "rotation-1").await.ok(201);
        let again = send(&path, "rotation-1").await;
        let problem = again.refusal(409, "already_created");
        assert_eq!(problem["id"], lost["id"]);
        // The successor is revoked, and the old key rotated again.
        scene.api.delete(&path_of(&lost), &scene.ada.token).await.ok(204);
        let new = send(&path, "rotation-2").await.ok(201);
        scene.api.get(USER, text(&new, "key")).await.ok(200);
        let item = scene.api.get(&path, &scene.ada.token).await.ok(200);
        assert_eq!(
            (&item["status"], &item["rotatedToId"]),
            (&json!("valid"), &new["id"])
        );
        // Or the successor is rotated.
        let newer = send(&path_of(&new), "rotation-3").await.ok(201);
        scene.api.get(USER, text(&newer, "key")).await.ok(200);
        scene
            .api
            .get(USER, text(&old, "key"))
            .await
            .refusal(401, "invalid_token");
    }
}

#[tokio::test]
async fn end_is_free_once_the_successor_is_revoked() {
    let scene = Scene::new().await;
    let old = scene.create(&scene.ada.token, "ci").await;
    let path = path_of(&old);
    let new = rotate(&scene, &path, &scene.ada.token, &json!({})).await.ok(201);
    scene.api.delete(&path_of(&new), &scene.ada.token).await.ok(204);
    let item = scene.api.get(&path, &scene.ada.token).await.ok(200);
    assert_eq!(item["expiresAt"], "2026-01-02T00:00:00.000Z");
    for expires_at in [json!("2026-01-31T00:00:00.000Z"), Value::Null] {
        let body = json!({"expiresAt": expires_at});
        let item = scene.api.patch(&path, &scene.ada.token, &body).await.ok(200);
        assert_eq!(item["expiresAt"], expires_at);
    }
}
