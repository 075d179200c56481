//! `GET /api/v1/user/api-keys`

use serde_json::Value;

use crate::api::API_KEYS;
use crate::scene::{Scene, names};

async fn list(scene: &Scene, query: &str) -> Value {
    let path = format!("{API_KEYS}?{query}");
    scene.api.get(&path, &scene.ada.token).await.ok(200)
}

/// Five keys named `key 1` to `key 5` beside the first, of which `key 2` is revoked.
async fn scene_with_keys() -> Scene {
    let scene = Scene::new().await;
    for number in 1..=5 {
        let key = scene.create(&scene.ada.token, &format!("key {number}")).await;
        if number == 2 {
            let path = format!("{API_KEYS}/{}", key["id"].as_str().unwrap());
            scene.api.delete(&path, &scene.ada.token).await.ok(204);
        }
    }
    scene
}

#[tokio::test]
async fn list_shows_own_valid_keys_newest_first_without_tokens() {
    let scene = scene_with_keys().await;
    let answer = scene.api.get(API_KEYS, &scene.ada.token).await;
    let page = answer.ok(200);
    assert_eq!(names(&page), ["key 5", "key 4", "key 3", "key 1", "console"]);
    assert_eq!(page["items"][0]["createdByKeyId"], scene.ada.key_id);
    assert!(page.get("nextCursor").is_none());
    assert_eq!(answer.header("link"), None);
    assert!(!answer.body.contains(&scene.ada.token));
    assert!(!answer.body.contains("\"key\"") && !answer.body.contains("fullKey"));
}

#[tokio::test]
async fn status_filters_keys() {
    let scene = scene_with_keys().await;
    assert_eq!(names(&list(&scene, "status=revoked").await), ["key 2"]);
    assert_eq!(names(&list(&scene, "status=all").await).len(), 6);
    assert_eq!(list(&scene, "status=valid").await, list(&scene, "").await);
}

#[tokio::test]
async fn search_matches_names_descriptions_and_hints() {
    let scene = Scene::new().await;
    scene.create_in_console("Nightly Backup", "").await;
    scene.create_in_console("ночь", "Резервная копия").await;
    scene.create_in_console("100%_sure", "").await;
    for (search, expected) in [
        ("BACKUP", "Nightly Backup"),
        ("%D1%80%D0%B5%D0%B7%D0%B5%D1%80%D0%B2", "ночь"),
        ("0%25_", "100%_sure"),
        (&scene.ada.token[38..], "console"),
    ] {
        let found = list(&scene, &format!("search={search}")).await;
        assert_eq!(names(&found), [expected], "{search}");
    }
    assert_eq!(names(&list(&scene, "search=nothing+like+it").await).len(), 0);
    assert_eq!(names(&list(&scene, "search=").await).len(), 4);
}

#[tokio::test]
async fn pages_continue_by_cursor_and_by_link() {
    let scene = scene_with_keys().await;
    let mut path = format!("{API_KEYS}?limit=2&status=all&search=key");
    let mut seen = Vec::new();
    loop {
        let answer = scene.api.get(&path, &scene.ada.token).await;
        let page = answer.ok(200);
        seen.push(names(&page).join(", "));
        let Some(cursor) = page["nextCursor"].as_str() else {
            assert_eq!(answer.header("link"), None);
            break;
        };
        path = format!("{API_KEYS}?limit=2&cursor={cursor}");
        assert_eq!(
            answer.header("link"),
            Some(format!("<{path}>; rel=\"next\"").as_str())
        );
    }
    assert_eq!(seen, ["key 5, key 4", "key 3, key 2", "key 1"]);
}

#[tokio::test]
async fn cursor_carries_its_filters_and_rejects_others() {
    let scene = scene_with_keys().await;
    let first = list(&scene, "limit=1&status=all&search=key").await;
    let cursor = first["nextCursor"].as_str().unwrap();
    let rest = list(&scene, &format!("cursor={cursor}")).await;
    assert_eq!(names(&rest), ["key 4", "key 3", "key 2", "key 1"]);
    assert_eq!(
        list(&scene, &format!("cursor={cursor}&status=all&search=KEY")).await,
        rest
    );
    for other in ["status=valid", "search=other", "search="] {
        let path = format!("{API_KEYS}?cursor={cursor}&{other}");
        let answer = scene.api.get(&path, &scene.ada.token).await;
        answer.refusal(400, "malformed_query");
    }
}

/// A cursor is no secret: somebody else's shows nothing but own keys.
#[tokio::test]
async fn another_users_cursor_lists_own_keys_only() {
    let scene = scene_with_keys().await;
    let first = list(&scene, "limit=1").await;
    let path = format!("{API_KEYS}?cursor={}", first["nextCursor"].as_str().unwrap());
    let page = scene.api.get(&path, &scene.grace.token).await.ok(200);
    for item in page["items"].as_array().unwrap() {
        assert_eq!(item["consumerUsername"], "grace");
    }
}

#[tokio::test]
async fn invalid_parameters_are_rejected() {
    let scene = Scene::new().await;
    for (query, detail) in [
        (
            "limit=0",
            "The query parameter `limit` must be a number from 1 to 100.",
        ),
        (
            "limit=101",
            "The query parameter `limit` must be a number from 1 to 100.",
        ),
        (
            "limit=-1",
            "The query parameter `limit` must be a number from 1 to 100.",
        ),
        (
            "limit=",
            "The query parameter `limit` must be a number from 1 to 100.",
        ),
        (
            "limit=99999999999999999999",
            "The query parameter `limit` must be a number from 1 to 100.",
        ),
        (
            "status=VALID",
            "The query parameter `status` must be `valid`, `revoked` or `all`.",
        ),
        (
            "status=",
            "The query parameter `status` must be `valid`, `revoked` or `all`.",
        ),
        (
            "cursor=",
            "The query parameter `cursor` must be the `nextCursor` of an earlier page, unchanged.",
        ),
        (
            "cursor=%2B%2F",
            "The query parameter `cursor` must be the `nextCursor` of an earlier page, unchanged.",
        ),
        (
            "search=%00",
            "The query parameter `search` must not contain the character U+0000.",
        ),
        (
            "search=%E2%80%AE",
            "The query parameter `search` must not contain the character U+202E.",
        ),
        ("search=%FF", "The query is not UTF-8."),
        ("limit=1&limit=1", "A query parameter is given more than once."),
        (
            "limt=1",
            "This operation has only these query parameters: limit, cursor, status, search, expires_before.",
        ),
    ] {
        let answer = scene
            .api
            .get(&format!("{API_KEYS}?{query}"), &scene.ada.token)
            .await;
        let problem = answer.refusal(400, "malformed_query");
        assert_eq!(problem["detail"], detail, "{query}");
    }
    for query in ["limit=1", "limit=100"] {
        list(&scene, query).await;
    }
}
