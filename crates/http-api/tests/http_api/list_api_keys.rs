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

/// Also parts that are no valid names, and texts that only an older version accepted.
#[tokio::test]
async fn any_part_of_a_name_is_searched() {
    let scene = Scene::new().await;
    for (name, parts) in [
        ("\u{fffd} from a log", &["%EF%BF%BD", "%ef%bf%bd+FROM"][..]),
        ("👩\u{200d}👩\u{200d}👧", &["%E2%80%8D", "%F0%9F%91%A9%E2%80%8D"]),
        ("q\u{302}", &["%CC%82"]),
        ("क्\u{200d}ष", &["%E0%A5%8D%E2%80%8D"]),
    ] {
        scene.create_in_console(name, "").await;
        for part in parts {
            let found = list(&scene, &format!("search={part}")).await;
            assert!(names(&found).contains(&name), "{name}: {part}");
        }
    }
    for part in ["%E2%80%AE", "%E2%80%8B", "%EF%BF%BE", "%C2%AD"] {
        let found = list(&scene, &format!("search={part}")).await;
        assert!(names(&found).is_empty(), "{part}");
    }
    let answer = list(&scene, "limit=1&search=%E2%80%8D").await;
    let cursor = answer["nextCursor"].as_str().unwrap();
    let rest = list(&scene, &format!("cursor={cursor}&search=%E2%80%8D")).await;
    assert_eq!(names(&rest), ["👩\u{200d}👩\u{200d}👧"]);
}

#[tokio::test]
async fn whole_hint_finds_its_key_only() {
    let scene = Scene::new().await;
    let last_four = &scene.ada.token[38..];
    let named = format!("after {last_four}");
    scene.create_in_console(&named, "").await;
    assert_eq!(
        names(&list(&scene, &format!("search={last_four}")).await),
        [&*named, "console"]
    );
    let hint = format!("search=kwp_%E2%80%A6{last_four}");
    assert_eq!(names(&list(&scene, &hint).await), ["console"]);

    let first = list(&scene, &format!("limit=1&search={last_four}")).await;
    let cursor = first["nextCursor"].as_str().unwrap();
    let path = format!("{API_KEYS}?cursor={cursor}&{hint}");
    let answer = scene.api.get(&path, &scene.ada.token).await;
    answer.refusal(400, "malformed_query");
}

#[tokio::test]
async fn pages_continue_by_cursor_and_by_link() {
    let scene = scene_with_keys().await;
    let seen = scene.pages(API_KEYS, "&status=all&search=key").await;
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

/// A cursor is no secret: with another holder's, only the caller's own keys are listed.
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
            "search=a%0Db",
            "The query parameter `search` must not contain the character U+000D.",
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
