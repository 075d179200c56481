//! When and from where keys were last used.

use std::sync::Arc;

use keyward_domain::clock::Clock;
use keyward_domain::ports::LastUses;
use keyward_domain::recent_uses::RecentUses;
use keyward_http_api::HttpApi;
use serde_json::Value;

use crate::api::{API_KEYS, Api, USER};
use crate::scene::{Scene, http_api};

struct Noting {
    scene: Scene,
    api: Api,
    uses: Arc<RecentUses>,
}

async fn noting() -> Noting {
    let scene = Scene::new().await;
    let uses = Arc::new(RecentUses::new(100));
    let authenticate = scene.installation.authenticate();
    let api = Api::start(HttpApi {
        authenticate: authenticate.with_recent_uses(Arc::clone(&uses)),
        ..http_api(&scene.installation)
    })
    .await;
    Noting { scene, api, uses }
}

impl Noting {
    /// As the server does every few seconds.
    async fn write(&self) -> usize {
        let now = self.scene.installation.builder.clock.now();
        let due = self.uses.take_due(now);
        let count = due.len();
        self.scene.installation.store.record(due, now).await.unwrap();
        count
    }

    async fn current(&self) -> Value {
        let path = format!("{API_KEYS}/current");
        self.api.get(&path, &self.scene.ada.token).await.ok(200)
    }
}

#[tokio::test]
async fn key_shows_last_use_time_and_address_or_nothing() {
    let noting = noting().await;
    let before = noting.current().await;
    assert!(before.get("lastUsedAt").is_none() && before.get("lastUsedFrom").is_none());
    assert_eq!(noting.write().await, 1);

    let after = noting.current().await;
    assert_eq!(after["lastUsedAt"], "2026-01-01T00:00:00.000Z");
    assert_eq!(after["lastUsedFrom"], "127.0.0.1");
    let list = noting.api.get(API_KEYS, &noting.scene.ada.token).await.ok(200);
    assert_eq!(list["items"][0], after);
}

#[tokio::test]
async fn thousand_requests_with_one_key_per_minute_are_one_write() {
    let noting = noting().await;
    let mut writes = 0;
    for number in 0..1_000 {
        noting.api.get(USER, &noting.scene.ada.token).await.ok(200);
        if number % 10 == 0 {
            writes += noting.write().await;
        }
    }
    assert_eq!(writes, 1);
}

#[tokio::test]
async fn rejected_token_is_not_recorded_as_used() {
    let noting = noting().await;
    let other = noting.scene.create(&noting.scene.ada.token, "other").await;
    let path = format!("{API_KEYS}/{}", other["id"].as_str().unwrap());
    let token = other["key"].as_str().unwrap();
    noting
        .scene
        .api
        .delete(&path, &noting.scene.ada.token)
        .await
        .ok(204);
    noting.api.get(USER, token).await.refusal(401, "invalid_token");
    noting
        .api
        .get(USER, "nonsense")
        .await
        .refusal(401, "invalid_token");
    assert_eq!(noting.write().await, 0);
}
