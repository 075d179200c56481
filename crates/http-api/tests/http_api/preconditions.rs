//! `ETag`, and `If-Match` and `If-None-Match` on changes (RFC 9110 §13.1).

use reqwest::Method;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::api::{API_KEYS, USER};
use crate::scene::Scene;

/// A request of ada's with these lines of `If-Match`.
async fn send(scene: &Scene, method: Method, path: &str, body: Option<Value>, lines: &[&str]) -> Answer {
    let mut request = scene.api.request(method, path, &scene.ada.token);
    for line in lines {
        request = request.header("if-match", *line);
    }
    if let Some(body) = body {
        request = request.json(&body);
    }
    scene.api.send(request).await
}

async fn rename(scene: &Scene, path: &str, name: &str, lines: &[&str]) -> Answer {
    send(scene, Method::PATCH, path, Some(json!({"name": name})), lines).await
}

async fn delete(scene: &Scene, path: &str, lines: &[&str]) -> Answer {
    send(scene, Method::DELETE, path, None, lines).await
}

/// A change of ada's, or the revocation, with this line of `If-None-Match`.
async fn send_unless(scene: &Scene, method: Method, path: &str, line: &str) -> Answer {
    let is_edit = method == Method::PATCH;
    let mut request = scene.api.request(method, path, &scene.ada.token);
    request = request.header("if-none-match", line);
    if is_edit {
        request = request.json(&json!({"name": "new"}));
    }
    scene.api.send(request).await
}

async fn tag_of(scene: &Scene, path: &str) -> String {
    let answer = scene.api.get(path, &scene.ada.token).await;
    answer.ok(200);
    answer.header("etag").unwrap().to_owned()
}

/// A key, its path and its tag.
async fn key(scene: &Scene) -> (Value, String, String) {
    let created = scene
        .api
        .post(API_KEYS, &scene.ada.token, &json!({"name": "key"}))
        .await;
    let key = created.ok(201);
    let path = format!("{API_KEYS}/{}", key["id"].as_str().unwrap());
    (key, path, created.header("etag").unwrap().to_owned())
}

#[tokio::test]
async fn key_has_one_strong_entity_tag_until_edited() {
    let scene = Scene::new().await;
    let (key, path, created) = key(&scene).await;
    assert!(created.starts_with('"') && created.ends_with('"'), "{created}");
    scene.api.get(USER, key["key"].as_str().unwrap()).await.ok(200);
    assert_eq!(tag_of(&scene, &path).await, created);
    let unchanged = rename(&scene, &path, "key", &[]).await;
    assert_eq!(unchanged.header("etag"), Some(&*created));

    let renamed = rename(&scene, &path, "renamed", &[]).await;
    renamed.ok(200);
    let after = renamed.header("etag").unwrap();
    assert_ne!(after, created);
    assert_eq!(tag_of(&scene, &path).await, after);
    delete(&scene, &path, &[]).await.ok(204);
    assert_eq!(tag_of(&scene, &path).await, after);
}

/// The tag says nothing of the last use and the state, so no answer may be kept by it.
#[tokio::test]
async fn entity_tag_does_not_make_responses_cacheable() {
    let scene = Scene::new().await;
    let (_, path, tag) = key(&scene).await;
    let request = scene
        .api
        .request(Method::GET, &path, &scene.ada.token)
        .header("if-none-match", &tag);
    let answer = scene.api.send(request).await;
    answer.ok(200);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn second_concurrent_edit_is_refused_until_reloaded() {
    let scene = Scene::new().await;
    let (_, path, seen) = key(&scene).await;
    let first = rename(&scene, &path, "first", &[&seen]).await;
    first.ok(200);
    let second = rename(&scene, &path, "second", &[&seen]).await;
    second.refusal(412, "precondition_failed");
    let now = scene.api.get(&path, &scene.ada.token).await;
    assert_eq!(now.ok(200)["name"], "first");
    let again = rename(&scene, &path, "second", &[now.header("etag").unwrap()]).await;
    assert_eq!(again.ok(200)["name"], "second");
}

#[tokio::test]
async fn edited_key_is_not_revoked_with_its_old_version() {
    let scene = Scene::new().await;
    let (parent, path, seen) = key(&scene).await;
    let child = scene.create(parent["key"].as_str().unwrap(), "child").await;
    rename(&scene, &path, "do not revoke", &[]).await.ok(200);
    for path in [path.clone(), format!("{path}?descendants=revoke")] {
        let refused = delete(&scene, &path, &[&seen]).await;
        refused.refusal(412, "precondition_failed");
    }
    for key in [&parent, &child] {
        scene.api.get(USER, key["key"].as_str().unwrap()).await.ok(200);
    }

    let present = tag_of(&scene, &path).await;
    let with_child = format!("{path}?descendants=revoke");
    delete(&scene, &with_child, &[&present]).await.ok(204);
    let gone = scene.api.get(USER, child["key"].as_str().unwrap()).await;
    gone.refusal(401, "invalid_token");
}

/// The key is already revoked: the request may repeat one whose answer was lost.
#[tokio::test]
async fn already_revoked_key_matches_any_version() {
    let scene = Scene::new().await;
    let (_, path, seen) = key(&scene).await;
    let other = tag_of(&scene, &scene.ada.key_path()).await;
    delete(&scene, &path, &[&seen]).await.ok(204);
    for tag in [&seen, &other] {
        delete(&scene, &path, &[tag]).await.ok(204);
    }
    let edited = rename(&scene, &path, "new", &[&other]).await;
    edited.refusal(409, "key_revoked");
}

#[tokio::test]
async fn if_match_accepts_a_list_or_asterisk() {
    let scene = Scene::new().await;
    let (_, path, mut tag) = key(&scene).await;
    let other = tag_of(&scene, &scene.ada.key_path()).await;
    for number in 0..4 {
        let lines: &[&str] = match number {
            0 => &["*"],
            1 => &[&format!("{other}, {tag}")],
            2 => &[&other, &tag],
            _ => &[&format!("\"a,b\",{tag} , W/{other}")],
        };
        let answer = rename(&scene, &path, &format!("name {number}"), lines).await;
        answer.ok(200);
        tag = answer.header("etag").unwrap().to_owned();
    }
}

#[tokio::test]
async fn weak_and_unknown_entity_tags_never_match() {
    let scene = Scene::new().await;
    let (_, path, tag) = key(&scene).await;
    let upper = tag.to_uppercase();
    let lines = [&format!("W/{tag}"), "\"\"", "\"a\"", "W/\"*\"", "\"*\"", "\"é\""];
    for line in lines.into_iter().chain((upper != tag).then_some(&*upper)) {
        let edited = rename(&scene, &path, "new", &[line]).await;
        edited.refusal(412, "precondition_failed");
        let deleted = delete(&scene, &path, &[line]).await;
        deleted.refusal(412, "precondition_failed");
    }
    assert_eq!(tag_of(&scene, &path).await, tag);
}

#[tokio::test]
async fn malformed_if_match_header_is_named() {
    let scene = Scene::new().await;
    let (_, path, tag) = key(&scene).await;
    let bare = tag.trim_matches('"');
    for lines in [&[bare][..], &[""], &["*", &tag], &["*, \"a\""], &[&tag, "\"a"]] {
        for answer in [
            rename(&scene, &path, "new", lines).await,
            delete(&scene, &path, lines).await,
        ] {
            let problem = answer.refusal(400, "malformed_request");
            assert!(
                problem["detail"].as_str().unwrap().contains("`If-Match`"),
                "{lines:?}"
            );
        }
    }
    assert_eq!(tag_of(&scene, &path).await, tag);
}

#[tokio::test]
async fn missing_key_is_reported_before_its_version() {
    let scene = Scene::new().await;
    let unknown = format!("{API_KEYS}/019b76da-b3b8-7d05-9a6e-7f8091a2b3c4");
    for path in [unknown, scene.grace.key_path()] {
        for line in ["*", "\"a\""] {
            rename(&scene, &path, "new", &[line])
                .await
                .refusal(404, "not_found");
            delete(&scene, &path, &[line]).await.refusal(404, "not_found");
        }
    }
    let request = scene
        .api
        .anonymous(Method::DELETE, &scene.ada.key_path())
        .header("if-match", "malformed");
    let anonymous = scene.api.send(request).await;
    anonymous.refusal(401, "credentials_missing");
}

#[tokio::test]
async fn if_none_match_of_the_present_version_is_412() {
    let scene = Scene::new().await;
    let (_, path, tag) = key(&scene).await;
    let (listed, weak) = (format!("\"a\", {tag}"), format!("W/{tag}"));
    for line in ["*", tag.as_str(), listed.as_str(), weak.as_str()] {
        for method in [Method::PATCH, Method::DELETE] {
            let refused = send_unless(&scene, method, &path, line).await;
            refused.refusal(412, "precondition_failed");
        }
    }
    let item = scene.api.get(&path, &scene.ada.token).await;
    assert_eq!(item.ok(200)["status"], "valid");
    assert_eq!(item.header("etag"), Some(tag.as_str()));
}

#[tokio::test]
async fn if_none_match_of_other_versions_lets_changes_pass() {
    let scene = Scene::new().await;
    let (_, path, before) = key(&scene).await;
    for line in ["\"a\"", "\"é\"", &tag_of(&scene, &scene.ada.key_path()).await] {
        send_unless(&scene, Method::PATCH, &path, line).await.ok(200);
    }
    let present = tag_of(&scene, &path).await;
    for (if_match, status) in [(&before, 412), (&present, 200)] {
        let request = scene
            .api
            .request(Method::PATCH, &path, &scene.ada.token)
            .header("if-match", if_match)
            .header("if-none-match", &before)
            .json(&json!({"name": "newer"}));
        assert_eq!(scene.api.send(request).await.status, status);
    }
    send_unless(&scene, Method::DELETE, &path, &before).await.ok(204);
}

#[tokio::test]
async fn missing_or_revoked_key_is_reported_before_if_none_match() {
    let scene = Scene::new().await;
    let (_, path, tag) = key(&scene).await;
    delete(&scene, &path, &[]).await.ok(204);
    for line in ["*", &tag] {
        let edited = send_unless(&scene, Method::PATCH, &path, line).await;
        edited.refusal(409, "key_revoked");
        send_unless(&scene, Method::DELETE, &path, line).await.ok(204);
        for method in [Method::PATCH, Method::DELETE] {
            let refused = send_unless(&scene, method, &scene.grace.key_path(), line).await;
            refused.refusal(404, "not_found");
        }
    }
}

#[tokio::test]
async fn malformed_if_none_match_header_is_named() {
    let scene = Scene::new().await;
    let (_, path, tag) = key(&scene).await;
    for method in [Method::PATCH, Method::DELETE] {
        let refused = send_unless(&scene, method, &path, "a").await;
        let problem = refused.refusal(400, "malformed_request");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("`If-None-Match`"), "{detail}");
    }
    assert_eq!(tag_of(&scene, &path).await, tag);
}
