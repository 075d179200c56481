//! `POST /api/v1/user/api-keys`

use keyward_domain::api_key::ApiKey;
use keyward_domain::audit::{Action, Actor, Subject};
use keyward_domain::ports::{KeyLimit, KeyLimits};
use keyward_domain::token::Token;
use reqwest::Method;
use serde_json::json;

use crate::api::{API_KEYS, USER};
use crate::documented::DOCUMENT;
use crate::scene::Scene;

#[tokio::test]
async fn created_key_has_a_working_token() {
    let scene = Scene::new().await;
    let body = json!({
        "name": " Nightly backup ",
        "description": "Two\r\nlines",
        "expiresAt": "2026-01-31T00:00:00Z",
    });
    let answer = scene.api.post(API_KEYS, &scene.ada.token, &body).await;
    let created = answer.ok(201);

    let members: Vec<&String> = created.as_object().unwrap().keys().collect();
    let declared = DOCUMENT["components"]["schemas"]["CreatedApiKey"]["properties"].as_object();
    assert_eq!(members, declared.unwrap().keys().collect::<Vec<_>>());
    assert_eq!(created["name"], "Nightly backup");
    assert_eq!(created["description"], "Two\nlines");
    assert_eq!(created["createdAt"], "2026-01-01T00:00:00.000Z");
    assert_eq!(created["consumerId"], scene.ada.member.membership.id.to_string());
    assert_eq!(created["consumerUsername"], "ada");
    assert_eq!(created["canManageKeys"], true);
    assert_eq!(created["key"], created["fullKey"]);
    let token = created["key"].as_str().unwrap();
    assert!(Token::parse(token).is_ok());

    let path = format!("{API_KEYS}/{}", created["id"].as_str().unwrap());
    assert_eq!(answer.header("location"), Some(path.as_str()));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let user = scene.api.get(USER, token).await.ok(200);
    assert_eq!(user["apiKey"]["id"], created["id"]);
}

/// The example of the request has a value for each of its fields.
#[tokio::test]
async fn every_requested_field_is_in_each_answer() {
    let scene = Scene::new().await;
    let token = &scene.ada.token;
    let request = &DOCUMENT["components"]["schemas"]["CreateApiKeyRequest"];
    let requested = request["example"].as_object().unwrap();
    let declared = request["properties"].as_object().unwrap();
    assert!(requested.keys().eq(declared.keys()), "{requested:?}");
    let created = scene.api.post(API_KEYS, token, &request["example"]).await.ok(201);
    let path = format!("{API_KEYS}/{}", created["id"].as_str().unwrap());
    let item = scene.api.get(&path, token).await.ok(200);
    let listed = scene.api.get(API_KEYS, token).await.ok(200)["items"][0].take();
    let rotation = format!("{path}/rotate");
    let successor = scene.api.post(&rotation, token, &json!({})).await.ok(201);
    for (field, value) in requested {
        for answer in [&created, &item, &listed, &successor] {
            assert_eq!(answer[field], *value, "{field} of {answer}");
        }
    }
}

#[tokio::test]
async fn calling_key_is_the_parent_of_the_created_key() {
    let scene = Scene::new().await;
    let second = scene.create(&scene.ada.token, "second").await;
    let third = scene.create(second["key"].as_str().unwrap(), "third").await;
    let path = format!("{API_KEYS}/{}", third["id"].as_str().unwrap());
    let item = scene.api.get(&path, &scene.ada.token).await.ok(200);
    assert_eq!(item["createdByKeyId"], second["id"]);
}

#[tokio::test]
async fn description_may_be_omitted() {
    let scene = Scene::new().await;
    assert_eq!(scene.create(&scene.ada.token, "short").await["description"], "");
}

#[tokio::test]
async fn every_script_and_emoji_is_accepted() {
    let scene = Scene::new().await;
    let body = json!({"name": "مفتاح 🔑 ключ", "description": "שלום\n你好"});
    let created = scene.api.post(API_KEYS, &scene.ada.token, &body).await.ok(201);
    assert_eq!(
        (&created["name"], &created["description"]),
        (&body["name"], &body["description"])
    );
}

#[tokio::test]
async fn charset_parameter_is_accepted() {
    let scene = Scene::new().await;
    for media_type in ["application/json; charset=utf-8", "Application/JSON"] {
        let request = scene
            .api
            .request(Method::POST, API_KEYS, &scene.ada.token)
            .header("content-type", media_type)
            .body(r#"{"name": "x"}"#);
        scene.api.send(request).await.ok(201);
    }
}

#[tokio::test]
async fn key_limit_is_a_conflict() {
    let limits = KeyLimits {
        valid: KeyLimit(2),
        ..KeyLimits::default()
    };
    let scene = Scene::with_limits(limits).await;
    scene.create(&scene.ada.token, "second").await;
    let answer = scene
        .api
        .post(API_KEYS, &scene.ada.token, &json!({"name": "third"}))
        .await;
    let problem = answer.refusal(409, "key_limit_reached");
    assert_eq!(
        problem["detail"],
        "At most 2 valid keys are allowed: revoke one first."
    );
}

#[tokio::test]
async fn key_at_the_maximum_tree_depth_makes_no_other() {
    let scene = Scene::new().await;
    let other = scene.create(&scene.ada.token, "other").await;
    let mut tokens = vec![scene.ada.token.clone()];
    for number in 2..=ApiKey::MAX_TREE_DEPTH {
        let calling = tokens.last().unwrap();
        let key = scene.create(calling, &format!("key {number}")).await;
        tokens.push(key["key"].as_str().unwrap().to_owned());
    }
    let last = tokens.last().unwrap();
    let create = async || scene.api.post(API_KEYS, last, &json!({"name": "one more"})).await;
    let problem = create().await.refusal(409, "key_tree_too_deep");
    assert!(problem["detail"].as_str().unwrap().contains("32"), "{problem}");
    let rotate = format!("{API_KEYS}/{}/rotate", other["id"].as_str().unwrap());
    let rotated = scene.api.post(&rotate, last, &json!({})).await;
    rotated.refusal(409, "key_tree_too_deep");

    let earlier = format!("{API_KEYS}/current");
    scene.api.delete(&earlier, &tokens[1]).await.ok(204);
    create().await.ok(201);
}

#[tokio::test]
async fn key_creation_event_records_request_id_and_client_address() {
    let scene = Scene::new().await;
    let answer = scene
        .api
        .post(API_KEYS, &scene.ada.token, &json!({"name": "x"}))
        .await;
    let event = scene.last_event();
    assert_eq!(event.action, Action::CreateApiKey);
    assert_eq!(event.actor, Actor::ApiKey(scene.ada.key_id.parse().unwrap()));
    let id = answer.ok(201)["id"].as_str().unwrap().parse().unwrap();
    assert_eq!(event.subject, Subject::ApiKey(id));
    assert_eq!(event.source.request_id.as_deref(), answer.header("x-request-id"));
    assert_eq!(event.source.address.unwrap().to_string(), "127.0.0.1");
}
