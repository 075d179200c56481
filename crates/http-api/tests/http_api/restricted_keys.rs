//! Keys that may not manage keys.

use keyward_domain::audit::{Action, RequestSource};
use reqwest::Method;
use serde_json::{Value, json};

use crate::api::{API_KEYS, USER};
use crate::scene::Scene;

/// A key that may not manage keys, created by ada's first key.
async fn restricted(scene: &Scene, name: &str) -> (String, String) {
    let body = json!({"name": name, "canManageKeys": false});
    let created = scene.api.post(API_KEYS, &scene.ada.token, &body).await.ok(201);
    assert_eq!(created["canManageKeys"], false);
    let text = |member: &str| created[member].as_str().unwrap().to_owned();
    (text("key"), text("id"))
}

#[tokio::test]
async fn key_can_be_created_without_the_right_to_manage_keys() {
    let scene = Scene::new().await;
    let (token, id) = restricted(&scene, "deploy").await;
    assert_eq!(scene.last_event().action, Action::CreateRestrictedApiKey);
    for (path, asking) in [
        (format!("{API_KEYS}/{id}"), &scene.ada.token),
        (format!("{API_KEYS}/{id}"), &token),
        (format!("{API_KEYS}/current"), &token),
    ] {
        let item = scene.api.get(&path, asking).await.ok(200);
        assert_eq!(item["canManageKeys"], false);
        assert_eq!(item["createdByKeyId"], scene.ada.key_id);
    }
    let user = scene.api.get(USER, &token).await.ok(200);
    assert_eq!(user["apiKey"]["canManageKeys"], false);
    let parent = scene
        .api
        .get(&scene.ada.key_path(), &scene.ada.token)
        .await
        .ok(200);
    assert_eq!(parent["canManageKeys"], true);
}

#[tokio::test]
async fn restricted_key_creates_no_key() {
    let scene = Scene::new().await;
    let (token, _) = restricted(&scene, "deploy").await;
    let events = scene.installation.store.events().len();
    for asked in [
        json!({}),
        json!({"canManageKeys": true}),
        json!({"canManageKeys": false}),
    ] {
        let mut body = json!({"name": "child"});
        body.as_object_mut()
            .unwrap()
            .extend(asked.as_object().unwrap().clone());
        let answer = scene.api.post(API_KEYS, &token, &body).await;
        let problem = answer.refusal(403, "key_may_not_manage_keys");
        assert_eq!(problem["title"], "Key may not manage keys");
    }
    assert_eq!(scene.installation.store.events().len(), events);
}

#[tokio::test]
async fn restricted_key_lists_only_itself() {
    let scene = Scene::new().await;
    let (token, id) = restricted(&scene, "deploy").await;
    scene.create(&scene.ada.token, "deploy, too").await;
    restricted(&scene, "deploy, three").await;
    for (query, found) in [
        ("", true),
        ("?limit=1", true),
        ("?status=all&search=deploy&limit=1", true),
        ("?search=too", false),
        ("?status=revoked", false),
    ] {
        let answer = scene.api.get(&format!("{API_KEYS}{query}"), &token).await;
        assert_eq!(answer.header("link"), None, "{query}");
        let page = answer.ok(200);
        let ids: Vec<&Value> = page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| &item["id"])
            .collect();
        let expected: Vec<Value> = found.then(|| id.clone().into()).into_iter().collect();
        assert_eq!(ids, expected.iter().collect::<Vec<_>>(), "{query}");
        assert_eq!(page.get("nextCursor"), None, "{query}");
    }
    // Nor does a cursor of another key of the same consumer lead on.
    let first = scene
        .api
        .get(&format!("{API_KEYS}?limit=1"), &scene.ada.token)
        .await
        .ok(200);
    let cursor = first["nextCursor"].as_str().unwrap();
    let page = scene
        .api
        .get(&format!("{API_KEYS}?cursor={cursor}"), &token)
        .await
        .ok(200);
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
    assert_eq!(page["items"][0]["id"], id);
}

#[tokio::test]
async fn other_keys_look_unknown_to_a_restricted_key() {
    let scene = Scene::new().await;
    let (token, _) = restricted(&scene, "deploy").await;
    let (_, sibling) = restricted(&scene, "sibling").await;
    let unknown = "019b76da-a800-7c3e-8f21-5d1c3a9e4b70";
    for (method, query) in [
        (Method::GET, ""),
        (Method::PATCH, ""),
        (Method::DELETE, ""),
        (Method::DELETE, "?descendants=revoke"),
    ] {
        let mut answers = Vec::new();
        for id in [&scene.ada.key_id, &sibling, unknown] {
            let mut request = scene
                .api
                .request(method.clone(), &format!("{API_KEYS}/{id}{query}"), &token);
            if method == Method::PATCH {
                request = request.json(&json!({"name": "stolen"}));
            }
            answers.push(scene.api.send(request).await.refusal(404, "not_found"));
        }
        assert_eq!(answers[0], answers[2], "{method}");
        assert_eq!(answers[1], answers[2], "{method}");
    }
    for path in [scene.ada.key_path(), format!("{API_KEYS}/{sibling}")] {
        let item = scene.api.get(&path, &scene.ada.token).await.ok(200);
        assert_eq!(item["status"], "valid");
        assert_ne!(item["name"], "stolen");
    }
}

#[tokio::test]
async fn restricted_key_renames_and_revokes_itself() {
    let scene = Scene::new().await;
    for query in ["", "?descendants=revoke"] {
        for by_name in [true, false] {
            let (token, id) = restricted(&scene, "deploy").await;
            let own = if by_name { "current" } else { &id };
            let path = format!("{API_KEYS}/{own}");
            let request = scene.api.request(Method::PATCH, &path, &token);
            let renamed = scene
                .api
                .send(request.json(&json!({"name": "renamed"})))
                .await
                .ok(200);
            assert_eq!(
                (&renamed["name"], &renamed["canManageKeys"]),
                (&"renamed".into(), &false.into())
            );
            let request = scene
                .api
                .request(Method::DELETE, &format!("{path}{query}"), &token);
            scene.api.send(request).await.ok(204);
            scene.api.get(USER, &token).await.refusal(401, "invalid_token");
        }
    }
    scene.api.get(USER, &scene.ada.token).await.ok(200);
}

#[tokio::test]
async fn key_right_never_changes() {
    let scene = Scene::new().await;
    let (token, id) = restricted(&scene, "deploy").await;
    for (path, asking) in [
        (format!("{API_KEYS}/{id}"), &scene.ada.token),
        (format!("{API_KEYS}/current"), &token),
        (scene.ada.key_path(), &scene.ada.token),
    ] {
        let request = scene.api.request(Method::PATCH, &path, asking);
        let answer = scene
            .api
            .send(request.json(&json!({"canManageKeys": true})))
            .await;
        assert_eq!(answer.pointers(), ["/canManageKeys"]);
    }
}

#[tokio::test]
async fn key_right_must_be_a_boolean() {
    let scene = Scene::new().await;
    for wrong in [json!("false"), json!(0), json!([]), json!({})] {
        let body = json!({"name": "x", "canManageKeys": wrong});
        let answer = scene.api.post(API_KEYS, &scene.ada.token, &body).await;
        assert_eq!(answer.pointers(), ["/canManageKeys"]);
    }
}

#[tokio::test]
async fn omitted_key_right_follows_the_organizations_choice() {
    let scene = Scene::new().await;
    for chosen in [false, true] {
        scene
            .installation
            .organizations()
            .set_default_for_new_keys(&scene.authority(), chosen, RequestSource::default())
            .await
            .unwrap();
        for asked in [Some(Value::Null), None, Some(true.into()), Some(false.into())] {
            let expected = asked.as_ref().and_then(Value::as_bool).unwrap_or(chosen);
            let mut body = json!({"name": "x"});
            if let Some(asked) = asked {
                body["canManageKeys"] = asked;
            }
            let created = scene.api.post(API_KEYS, &scene.ada.token, &body).await.ok(201);
            assert_eq!(created["canManageKeys"], expected, "{body}");
        }
    }
}
