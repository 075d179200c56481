//! `expiresAt`: keys that end when their holders planned.

use chrono::{DateTime, TimeDelta, Utc};
use keyward_domain::api_key::LongestLife;
use keyward_domain::audit::{Action, RequestSource};
use serde_json::{Value, json};

use crate::api::{API_KEYS, USER};
use crate::scene::{Scene, names};

const END: &str = "2026-01-31T09:00:00.000Z";
const MILLISECOND: TimeDelta = TimeDelta::milliseconds(1);

impl Scene {
    fn wait_until_end(&self) {
        let end: DateTime<Utc> = END.parse().unwrap();
        let clock = &self.installation.builder.clock;
        clock.advance(end - self.installation.now());
    }

    /// A key of ada's, created with other members of the body beside its name.
    async fn create_with(&self, name: &str, more: &Value) -> Value {
        let mut body = json!({"name": name});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let answer = self.api.post(API_KEYS, &self.ada.token, &body).await;
        answer.ok(201)
    }

    async fn set_expiry(&self, path: &str, token: &str, expires_at: &Value) -> Value {
        let body = json!({"expiresAt": expires_at});
        self.api.patch(path, token, &body).await.ok(200)
    }

    /// The errors at creation, update and rotation.
    async fn refused_expiry(&self, expires_at: &Value) -> [Value; 3] {
        let body = json!({"name": "key", "expiresAt": expires_at});
        let created = self.api.post(API_KEYS, &self.ada.token, &body).await;
        let updated = self.api.patch(&self.ada.key_path(), &self.ada.token, &body).await;
        let rotate = format!("{}/rotate", self.ada.key_path());
        let body = json!({"expiresAt": expires_at});
        let rotated = self.api.post(&rotate, &self.ada.token, &body).await;
        [created, updated, rotated].map(|refused| refused.refusal(422, "invalid_fields")["errors"].clone())
    }
}

fn path_of(key: &Value) -> String {
    format!("{API_KEYS}/{}", key["id"].as_str().unwrap())
}

#[tokio::test]
async fn key_works_until_its_expiry_and_is_revoked_then() {
    let scene = Scene::new().await;
    let created = scene.create_with("planned", &json!({"expiresAt": END})).await;
    assert_eq!(created["expiresAt"], END);
    let (path, token) = (path_of(&created), created["key"].as_str().unwrap());
    scene.wait_until_end();
    scene.installation.builder.clock.advance(-MILLISECOND);
    scene.api.get(USER, token).await.ok(200);
    let valid = scene.api.get(&path, &scene.ada.token).await.ok(200);
    assert_eq!(
        (&valid["status"], &valid["expiresAt"], &valid["expiresSoon"]),
        (&json!("valid"), &json!(END), &json!(true))
    );
    assert!(valid.get("revokedAt").is_none() && valid.get("revokedReason").is_none());

    scene.wait_until_end();
    scene.api.get(USER, token).await.refusal(401, "invalid_token");
    let expired = scene.api.get(&path, &scene.ada.token).await.ok(200);
    assert_eq!(
        (
            &expired["status"],
            &expired["revokedAt"],
            &expired["revokedReason"]
        ),
        (&json!("revoked"), &json!(END), &json!("expired"))
    );
    assert!(expired.get("expiresAt").is_none());
    assert_eq!(expired["expiresSoon"], false);
}

#[tokio::test]
async fn absent_or_null_expiry_creates_a_key_without_end() {
    let scene = Scene::new().await;
    for more in [json!({}), json!({"expiresAt": null})] {
        let created = scene.create_with("key", &more).await;
        assert!(created.get("expiresAt").is_none());
        let item = scene.api.get(&path_of(&created), &scene.ada.token).await.ok(200);
        assert!(item.get("expiresAt").is_none());
        assert_eq!(item["expiresSoon"], false);
    }
}

#[tokio::test]
async fn expiry_is_set_moved_kept_and_removed_by_updates() {
    let scene = Scene::new().await;
    let key = scene.create(&scene.ada.token, "key").await;
    let (path, token) = (path_of(&key), &scene.ada.token);
    let mut tags = Vec::new();
    for (expires_at, shown) in [
        (json!("2026-01-31T10:00:00+01:00"), json!(END)),
        (
            json!("2027-01-31T09:00:00.1239Z"),
            json!("2027-01-31T09:00:00.123Z"),
        ),
        (
            json!("2026-01-01T00:00:00.001Z"),
            json!("2026-01-01T00:00:00.001Z"),
        ),
        (Value::Null, Value::Null),
    ] {
        let updated = scene.set_expiry(&path, token, &expires_at).await;
        assert_eq!(updated["expiresAt"], shown, "{expires_at}");
        assert_eq!(scene.last_event().action, Action::ChangeExpiry);
        let renamed = scene.api.patch(&path, token, &json!({"name": "key"})).await;
        assert_eq!(renamed.ok(200), updated);
        let tag = renamed.header("etag").unwrap().to_owned();
        assert!(!tags.contains(&tag));
        tags.push(tag);
    }
}

#[tokio::test]
async fn unacceptable_expiry_is_refused_wherever_it_is_given() {
    let scene = Scene::new().await;
    let malformed = "must be a time in RFC 3339 format, such as `2027-01-31T09:00:00Z`";
    let past = "must be in the future";
    let far = "must be at most 3650 days ahead";
    for (expires_at, detail) in [
        (json!("2025-12-31T23:59:59.999Z"), past),
        (json!("2026-01-01T00:00:00Z"), past),
        (json!("2026-01-01T00:59:00+01:00"), past),
        (json!("2035-12-30T00:00:00.001Z"), far),
        (json!("9999-12-31T23:59:59Z"), far),
        (json!("12026-01-01T00:00:00Z"), malformed),
        (json!("2026-02-30T00:00:00Z"), malformed),
        (json!("2026-06-01"), malformed),
        (json!("2026-06-01T00:00:00"), malformed),
        (json!("2026-06-01T00:00:00\u{2212}01:00"), malformed),
        (json!("2026-06-01T12:34:60.9Z"), malformed),
        (json!("in 30 days"), malformed),
        (json!(""), malformed),
        (json!(1_800_000_000), malformed),
        (json!(true), malformed),
        (json!({"at": END}), malformed),
    ] {
        let expected = json!([{"pointer": "/expiresAt", "detail": detail}]);
        let refused = scene.refused_expiry(&expires_at).await;
        assert_eq!(refused, [(); 3].map(|()| expected.clone()), "{expires_at}");
    }
    let all = json!({"name": "", "expiresAt": "now", "more": 1});
    let refused = scene.api.post(API_KEYS, &scene.ada.token, &all).await;
    let problem = refused.refusal(422, "invalid_fields");
    assert_eq!(problem["errors"].as_array().unwrap().len(), 3);
    let doubled = format!("{{\"name\": \"x\", \"expiresAt\": \"{END}\", \"expiresAt\": null}}");
    let refused = scene.api.post_bytes(&scene.ada.token, doubled.as_bytes()).await;
    refused.refusal(400, "malformed_request");
}

#[tokio::test]
async fn key_brings_its_own_expiry_forward_only() {
    let scene = Scene::new().await;
    let created = scene
        .create_with("worker", &json!({"expiresAt": END, "canManageKeys": false}))
        .await;
    let (path, token) = (path_of(&created), created["key"].as_str().unwrap());
    for longer in [json!("2026-01-31T09:00:00.001Z"), Value::Null] {
        let body = json!({"expiresAt": longer, "name": "renamed"});
        for path in [&path, &format!("{API_KEYS}/current")] {
            let refused = scene.api.patch(path, token, &body).await;
            refused.refusal(403, "key_may_not_extend_itself");
        }
    }
    let item = scene.api.get(&path, token).await.ok(200);
    assert_eq!(
        (&item["name"], &item["expiresAt"]),
        (&json!("worker"), &json!(END))
    );
    scene.set_expiry(&path, token, &json!(END)).await;
    let earlier = json!("2026-01-30T00:00:00.000Z");
    let forward = scene.set_expiry(&path, token, &earlier).await;
    assert_eq!(forward["expiresAt"], earlier);
    let back = scene.set_expiry(&path, &scene.ada.token, &json!(END)).await;
    assert_eq!(back["expiresAt"], END);
}

#[tokio::test]
async fn expired_or_revoked_key_keeps_its_end() {
    let scene = Scene::new().await;
    let expired = scene.create_with("expired", &json!({"expiresAt": END})).await;
    let revoked = scene.create_with("revoked", &json!({"expiresAt": END})).await;
    scene
        .api
        .delete(&path_of(&revoked), &scene.ada.token)
        .await
        .ok(204);
    scene.wait_until_end();
    for (key, reason) in [(&expired, "expired"), (&revoked, "holder")] {
        let path = path_of(key);
        for expires_at in [json!("2027-01-01T00:00:00Z"), Value::Null] {
            let body = json!({"expiresAt": expires_at});
            let refused = scene.api.patch(&path, &scene.ada.token, &body).await;
            refused.refusal(409, "key_revoked");
        }
        let item = scene.api.get(&path, &scene.ada.token).await.ok(200);
        assert_eq!(item["revokedReason"], reason);
    }
}

#[tokio::test]
async fn child_does_not_expire_with_its_parent() {
    let scene = Scene::new().await;
    let parent = scene.create_with("parent", &json!({"expiresAt": END})).await;
    let child = scene.create(parent["key"].as_str().unwrap(), "child").await;
    scene.wait_until_end();
    let item = scene
        .api
        .get(&path_of(&child), child["key"].as_str().unwrap())
        .await;
    let item = item.ok(200);
    assert_eq!(
        (&item["status"], &item["createdByKeyId"]),
        (&json!("valid"), &parent["id"])
    );
}

#[tokio::test]
async fn list_shows_keys_that_expire_before_a_time() {
    let scene = Scene::new().await;
    for (name, expires_at) in [
        ("soon", "2026-01-08T00:00:00Z"),
        ("later", "2026-01-08T00:00:00.001Z"),
        ("last", "2026-03-01T00:00:00Z"),
    ] {
        scene.create_with(name, &json!({"expiresAt": expires_at})).await;
    }
    for (query, expected) in [
        ("expires_before=2026-01-08T00:00:00Z", &[][..]),
        ("expires_before=2026-02-01T01:00:00%2B01:00", &["later", "soon"]),
        (
            "expires_before=2026-02-01T00:00:00Z&status=all",
            &["later", "soon"],
        ),
        ("expires_before=2026-02-01T00:00:00Z&status=revoked", &[]),
        ("expires_before=2026-02-01T00:00:00Z&search=oo", &["soon"]),
        ("expires_before=9999-12-31T23:59:59Z", &["last", "later", "soon"]),
    ] {
        let page = scene
            .api
            .get(&format!("{API_KEYS}?{query}"), &scene.ada.token)
            .await;
        assert_eq!(names(&page.ok(200)), expected, "{query}");
    }
    let all = scene.api.get(API_KEYS, &scene.ada.token).await.ok(200);
    let soon: Vec<&Value> = all["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["expiresSoon"])
        .collect();
    assert_eq!(soon, [false, false, true, false]);
}

/// RFC 3339 has the years 0 to 9999 of any offset, which reach beyond the years that are stored.
#[tokio::test]
async fn expires_before_at_the_limits_of_rfc_3339_is_read() {
    let scene = Scene::new().await;
    for name in ["one", "two"] {
        scene.create_with(name, &json!({"expiresAt": END})).await;
    }
    for (time, expected) in [
        ("0000-01-01T00:00:00%2B23:59", &[][..]),
        ("0000-01-01T00:00:00Z", &[]),
        ("0001-01-01T00:00:00%2B01:00", &[]),
        ("0001-01-01T00:00:00Z", &[]),
        ("9999-12-31T23:59:59.999Z", &["two", "one"]),
        ("9999-12-31T23:59:60Z", &["two", "one"]),
        ("9999-12-31T23:59:59-01:00", &["two", "one"]),
        ("9999-12-31T23:59:59-23:59", &["two", "one"]),
    ] {
        let filter = format!("{API_KEYS}?expires_before={time}");
        let page = scene.api.get(&filter, &scene.ada.token).await;
        assert_eq!(names(&page.ok(200)), expected, "{time}");
        let first = format!("{filter}&limit=1");
        let first = scene.api.get(&first, &scene.ada.token).await.ok(200);
        let cursor = first["nextCursor"].as_str();
        assert_eq!(cursor.is_some(), !expected.is_empty(), "{time}");
        if let Some(cursor) = cursor {
            let next = format!("{filter}&cursor={cursor}");
            let next = scene.api.get(&next, &scene.ada.token).await;
            assert_eq!(names(&next.ok(200)), ["one"], "{time}");
        }
    }
}

#[tokio::test]
async fn cursor_of_a_list_keeps_expires_before() {
    let scene = Scene::new().await;
    for name in ["one", "two"] {
        scene.create_with(name, &json!({"expiresAt": END})).await;
        scene.create(&scene.ada.token, "without end").await;
    }
    let filter = "expires_before=2026-02-01T00:00:00Z";
    let first = format!("{API_KEYS}?limit=1&{filter}");
    let first = scene.api.get(&first, &scene.ada.token).await.ok(200);
    assert_eq!(names(&first), ["two"]);
    let cursor = first["nextCursor"].as_str().unwrap();
    for repeated in ["", "&", &format!("&{filter}")] {
        let next = format!("{API_KEYS}?limit=1&cursor={cursor}{repeated}");
        let next = scene.api.get(&next, &scene.ada.token).await.ok(200);
        assert_eq!(names(&next), ["one"]);
        assert!(next.get("nextCursor").is_none());
    }
    let other = format!("{API_KEYS}?cursor={cursor}&expires_before=2026-02-02T00:00:00Z");
    let refused = scene.api.get(&other, &scene.ada.token).await;
    refused.refusal(400, "malformed_query");
}

#[tokio::test]
async fn malformed_expires_before_is_refused() {
    let scene = Scene::new().await;
    for value in [
        "",
        "tomorrow",
        "2026-02-01",
        "2026-02-01T00:00:00+01:00",
        "10000-01-01T00:00:00Z",
        "-0001-01-01T00:00:00Z",
        "2026-02-01T00:00:00%E2%88%9201:00",
        "2026-02-01T12:34:60Z",
    ] {
        let path = format!("{API_KEYS}?expires_before={value}");
        let refused = scene.api.get(&path, &scene.ada.token).await;
        let detail = refused.refusal(400, "malformed_query")["detail"].clone();
        let detail = detail.as_str().unwrap();
        assert!(
            detail.starts_with("The query parameter `expires_before` must be a time"),
            "{detail}"
        );
    }
}

#[tokio::test]
async fn past_expiry_is_reported_with_the_other_errors() {
    let scene = Scene::new().await;
    let body = json!({"name": "", "expiresAt": "2020-01-01T00:00:00Z", "colour": "red"});
    let refused = scene.api.post(API_KEYS, &scene.ada.token, &body).await;
    assert_eq!(refused.status, 422);
    assert_eq!(refused.pointers(), ["/name", "/colour", "/expiresAt"]);
}

/// However far the clock goes while the request is handled.
#[tokio::test]
async fn expiry_that_passes_during_the_request_is_refused() {
    let scene = Scene::new().await;
    let clock = &scene.installation.builder.clock;
    let start: DateTime<Utc> = END.parse().unwrap();
    let mut statuses = Vec::new();
    for ahead in 1..20 {
        let end = start + MILLISECOND * ahead;
        let body = json!({"name": "key", "expiresAt": end.to_rfc3339()});
        let path = path_of(&scene.create(&scene.ada.token, "without end").await);
        for path in [None, Some(path)] {
            clock.tick_from(start, MILLISECOND);
            let answer = match path {
                None => scene.api.post(API_KEYS, &scene.ada.token, &body).await,
                Some(path) => scene.api.patch(&path, &scene.ada.token, &body).await,
            };
            statuses.push(answer.status);
            if answer.status == 422 {
                assert_eq!(answer.pointers(), ["/expiresAt"]);
            } else {
                assert!(scene.last_event().at < end, "{ahead} ms: {}", answer.body);
            }
        }
    }
    statuses.sort_unstable();
    statuses.dedup();
    assert_eq!(statuses, [200, 201, 422]);
}

#[tokio::test]
async fn longest_life_of_the_organization_bounds_every_expiry() {
    let scene = Scene::new().await;
    let old = scene.create_with("old", &json!({})).await;
    let organizations = scene.installation.organizations();
    let longest = LongestLife::of_days(30).ok();
    let limited = organizations
        .limit_key_life(&scene.authority(), longest, RequestSource::default())
        .await;
    limited.unwrap();
    let (latest, later) = ("2026-01-31T00:00:00.000Z", "2026-01-31T00:00:00.001Z");
    let created = scene.create_with("new", &json!({})).await;
    assert_eq!(created["expiresAt"], latest);
    assert_eq!(
        scene.create_with("exact", &json!({"expiresAt": latest})).await["expiresAt"],
        latest
    );
    let body = json!({"name": "late", "expiresAt": later});
    let refused = scene.api.post(API_KEYS, &scene.ada.token, &body).await;
    assert_eq!(refused.pointers(), ["/expiresAt"]);
    assert!(refused.body.contains("at most 30 days ahead"), "{}", refused.body);
    for expires_at in [json!(later), json!(null)] {
        let body = json!({"expiresAt": expires_at});
        let refused = scene.api.patch(&path_of(&created), &scene.ada.token, &body).await;
        assert_eq!(refused.pointers(), ["/expiresAt"]);
        assert!(
            refused.body.contains("at most 30 days after the key's creation"),
            "{}",
            refused.body
        );
    }
    let read = scene.api.get(&path_of(&old), &scene.ada.token).await.ok(200);
    assert!(read.get("expiresAt").is_none(), "{read}");
    let rotate = format!("{}/rotate", path_of(&old));
    let successor = scene
        .api
        .post(&rotate, &scene.ada.token, &json!({}))
        .await
        .ok(201);
    assert_eq!(successor["expiresAt"], latest);
}
