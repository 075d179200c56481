//! `PATCH /api/v1/user/api-keys/{id}`

use keyward_domain::audit::Action;
use serde_json::json;

use crate::api::API_KEYS;
use crate::documented::DOCUMENT;
use crate::scene::Scene;

#[tokio::test]
async fn only_given_fields_change() {
    let scene = Scene::new().await;
    let (path, token) = (scene.ada.key_path(), &scene.ada.token);
    let described = scene
        .api
        .patch(&path, token, &json!({"description": "for tests"}))
        .await
        .ok(200);
    assert_eq!(
        (&described["name"], &described["description"]),
        (&json!("console"), &json!("for tests"))
    );
    let renamed = scene
        .api
        .patch(&path, token, &json!({"name": "renamed"}))
        .await
        .ok(200);
    assert_eq!(
        (&renamed["name"], &renamed["description"]),
        (&json!("renamed"), &json!("for tests"))
    );
    let emptied = scene
        .api
        .patch(&path, token, &json!({"description": ""}))
        .await
        .ok(200);
    assert_eq!(emptied["description"], "");
    assert_eq!(scene.api.get(&path, token).await.ok(200), emptied);
    assert_eq!(scene.last_event().action, Action::EditApiKey);
}

#[tokio::test]
async fn each_field_changes_alone_and_with_the_etag() {
    let scene = Scene::new().await;
    let (path, token) = (scene.ada.key_path(), &scene.ada.token);
    let schemas = &DOCUMENT["components"]["schemas"];
    let values = &schemas["CreateApiKeyRequest"]["example"];
    let fields = schemas["UpdateApiKeyRequest"]["properties"].as_object();
    for field in fields.unwrap().keys() {
        let before = scene.api.get(&path, token).await;
        let body = json!({field: values[field]});
        let after = scene.api.patch(&path, token, &body).await;
        let mut expected = before.ok(200);
        expected[field] = values[field].clone();
        assert_eq!(after.ok(200), expected, "{field}");
        assert_ne!(after.header("etag"), before.header("etag"), "{field}");
    }
}

#[tokio::test]
async fn empty_update_changes_nothing() {
    let scene = Scene::new().await;
    let before = scene
        .api
        .get(&scene.ada.key_path(), &scene.ada.token)
        .await
        .ok(200);
    let events = scene.installation.store.events().len();
    let after = scene
        .api
        .patch(&scene.ada.key_path(), &scene.ada.token, &json!({}))
        .await
        .ok(200);
    assert_eq!(after, before);
    assert_eq!(scene.installation.store.events().len(), events);
}

#[tokio::test]
async fn current_identifies_the_requesting_key() {
    let scene = Scene::new().await;
    let path = format!("{API_KEYS}/current");
    let item = scene
        .api
        .patch(&path, &scene.ada.token, &json!({"name": "mine"}))
        .await
        .ok(200);
    assert_eq!(
        (&item["id"], &item["name"]),
        (&json!(scene.ada.key_id), &json!("mine"))
    );
}

#[tokio::test]
async fn revoked_key_cannot_be_edited() {
    let scene = Scene::new().await;
    let key = scene.create(&scene.ada.token, "old").await;
    let path = format!("{API_KEYS}/{}", key["id"].as_str().unwrap());
    scene.api.delete(&path, &scene.ada.token).await.ok(204);
    for body in [json!({"name": "new"}), json!({})] {
        let answer = scene.api.patch(&path, &scene.ada.token, &body).await;
        answer.refusal(409, "key_revoked");
    }
    assert_eq!(
        scene.api.get(&path, &scene.ada.token).await.ok(200)["name"],
        "old"
    );
}

#[tokio::test]
async fn read_only_key_fields_are_rejected_on_update() {
    let scene = Scene::new().await;
    let body = json!({"id": "x", "consumerId": "y", "createdAt": "z", "status": "valid", "name": "w"});
    let answer = scene
        .api
        .patch(&scene.ada.key_path(), &scene.ada.token, &body)
        .await;
    assert_eq!(answer.pointers(), ["/id", "/consumerId", "/createdAt", "/status"]);
    let item = scene
        .api
        .get(&scene.ada.key_path(), &scene.ada.token)
        .await
        .ok(200);
    assert_eq!(item["name"], "console");
}
