//! Ends of keys and memberships that lie ahead, and come.

use chrono::{DateTime, TimeDelta, Utc};
use keyward_domain::api_key::{ApiKey, Revocation, RevocationReason};
use keyward_domain::audit::Actor;
use keyward_domain::planned_ends::ports::PlannedEndStore;
use keyward_domain::ports::{KeyLimit, KeyLimits};
use keyward_domain::testing::conformance::Arrange;
use keyward_domain::validity::End;
use serde_json::{Value, json};

use crate::api::{API_KEYS, PROJECTS, USER};
use crate::scene::{Scene, names};

const MILLISECOND: TimeDelta = TimeDelta::milliseconds(1);

impl Scene {
    /// A key of ada's whose end is planned for an hour from now, and that moment.
    async fn planned_key(&self) -> (ApiKey, String, DateTime<Utc>) {
        let issued = self
            .installation
            .issue(&self.ada.member.as_holder(), "planned")
            .await;
        let end = self.installation.now() + TimeDelta::hours(1);
        let revocation = Revocation {
            end: End::Planned(end),
            by: Actor::Administrator,
            reason: RevocationReason::Administrator,
            note: None,
        };
        let store = &self.installation.store;
        store.plan_revocation(&issued.key, revocation).await;
        (issued.key, issued.token.expose().to_owned(), end)
    }

    fn wait_until(&self, moment: DateTime<Utc>) {
        let clock = &self.installation.builder.clock;
        clock.advance(moment - self.installation.now());
    }

    async fn list(&self, query: &str) -> Value {
        let path = format!("{API_KEYS}?{query}");
        self.api.get(&path, &self.ada.token).await.ok(200)
    }
}

#[tokio::test]
async fn token_is_accepted_until_its_keys_planned_end() {
    let scene = Scene::new().await;
    let (_, token, end) = scene.planned_key().await;
    scene.wait_until(end - MILLISECOND);
    scene.api.get(USER, &token).await.ok(200);
    scene.wait_until(end);
    let refused = scene.api.get(USER, &token).await;
    refused.refusal(401, "invalid_token");
}

#[tokio::test]
async fn tokens_are_accepted_until_their_memberships_planned_end() {
    let scene = Scene::new().await;
    scene.project_of(&scene.ada, "engine").await;
    let end = scene.installation.now() + TimeDelta::hours(1);
    let membership = scene.ada.member.membership.id;
    let store = &scene.installation.store;
    store.plan_end_of_membership(membership, end).await;
    scene.wait_until(end - MILLISECOND);
    let projects = scene.api.get(PROJECTS, &scene.ada.token).await.ok(200);
    assert_eq!(names(&projects), ["engine"]);
    scene.wait_until(end);
    for path in [USER, PROJECTS, API_KEYS] {
        let refused = scene.api.get(path, &scene.ada.token).await;
        refused.refusal(401, "invalid_token");
    }
}

#[tokio::test]
async fn only_recorded_ends_are_final_with_clocks_an_hour_off() {
    let scene = Scene::new().await;
    let (key, token, end) = scene.planned_key().await;
    let path = format!("{API_KEYS}/{}", key.id);
    let hour = TimeDelta::hours(1);
    scene.wait_until(end + hour - MILLISECOND);
    scene.api.get(USER, &token).await.refusal(401, "invalid_token");
    scene.wait_until(end - MILLISECOND);
    scene.api.get(USER, &token).await.ok(200);

    scene.wait_until(end);
    let act = scene.installation.builder.act(Actor::System);
    let store: &dyn PlannedEndStore = &scene.installation.store;
    assert_eq!(store.record_ends_of_keys(10, act).await.unwrap(), 1);
    scene.wait_until(end - hour);
    scene.api.get(USER, &token).await.refusal(401, "invalid_token");
    let found = scene.api.get(&path, &scene.ada.token).await.ok(200);
    assert_eq!(found["status"], "revoked");
    let later = json!({"expiresAt": (end + hour).to_rfc3339()});
    let refused = scene.api.patch(&path, &scene.ada.token, &later).await;
    refused.refusal(409, "key_revoked");
}

#[tokio::test]
async fn key_has_valid_status_until_its_planned_end() {
    let scene = Scene::new().await;
    let (key, _, end) = scene.planned_key().await;
    let path = format!("{API_KEYS}/{}", key.id);
    for (moment, status, valid, revoked) in [
        (end - MILLISECOND, "valid", vec!["planned", "console"], vec![]),
        (end, "revoked", vec!["console"], vec!["planned"]),
    ] {
        scene.wait_until(moment);
        let item = scene.api.get(&path, &scene.ada.token).await.ok(200);
        assert_eq!(item["status"], status);
        let revoked_at = (status == "revoked").then(|| json!("2026-01-01T01:00:00.000Z"));
        assert_eq!(item.get("revokedAt"), revoked_at.as_ref());
        assert_eq!(names(&scene.list("status=valid").await), valid);
        assert_eq!(names(&scene.list("status=revoked").await), revoked);
        let all = scene.list("status=all").await;
        assert_eq!(names(&all), ["planned", "console"]);
        assert_eq!(all["items"][0], item);
    }
}

#[tokio::test]
async fn key_counts_toward_the_limit_until_its_planned_end() {
    let scene = Scene::with_limits(KeyLimits {
        valid: KeyLimit(2),
        ..KeyLimits::default()
    })
    .await;
    let (_, _, end) = scene.planned_key().await;
    let next = json!({"name": "next"});
    scene.wait_until(end - MILLISECOND);
    let refused = scene.api.post(API_KEYS, &scene.ada.token, &next).await;
    refused.refusal(409, "key_limit_reached");
    scene.wait_until(end);
    scene.api.post(API_KEYS, &scene.ada.token, &next).await.ok(201);
}

#[tokio::test]
async fn key_accepts_updates_until_its_planned_end() {
    let scene = Scene::new().await;
    let (key, _, end) = scene.planned_key().await;
    let (path, token) = (format!("{API_KEYS}/{}", key.id), &scene.ada.token);
    scene.wait_until(end - MILLISECOND);
    let edited = scene.api.patch(&path, token, &json!({"name": "edited"})).await;
    assert_eq!(edited.ok(200)["status"], "valid");
    scene.wait_until(end);
    let refused = scene.api.patch(&path, token, &json!({"name": "late"})).await;
    refused.refusal(409, "key_revoked");
    for query in ["", "?descendants=revoke"] {
        scene.api.delete(&format!("{path}{query}"), token).await.ok(204);
    }
}

/// However far the clock goes while an answer is made.
#[tokio::test]
async fn list_evaluates_all_keys_at_one_time() {
    let scene = Scene::new().await;
    let (_, _, end) = scene.planned_key().await;
    let clock = &scene.installation.builder.clock;
    for before in 0..20 {
        for status in ["valid", "revoked"] {
            clock.tick_from(end - TimeDelta::milliseconds(before), MILLISECOND);
            let list = scene.list(&format!("status={status}")).await;
            for item in list["items"].as_array().unwrap() {
                assert_eq!(item["status"], status, "{before} ms before the end");
            }
        }
    }
}

#[tokio::test]
async fn keys_expire_soon_within_seven_days_of_their_memberships_end() {
    let scene = Scene::new().await;
    scene.planned_key().await;
    let end = scene.installation.now() + TimeDelta::days(8);
    let membership = scene.ada.member.membership.id;
    let store = &scene.installation.store;
    store.plan_end_of_membership(membership, end).await;
    for (moment, soon) in [
        (end - TimeDelta::days(7) - MILLISECOND, false),
        (end - TimeDelta::days(7), true),
        (end - MILLISECOND, true),
    ] {
        scene.wait_until(moment);
        let path = format!("{API_KEYS}/current");
        let item = scene.api.get(&path, &scene.ada.token).await.ok(200);
        assert_eq!(item["expiresSoon"], soon, "{moment}");
        assert_eq!(item.get("expiresAt"), None, "its own end");
        let all = scene.list("status=all").await;
        assert_eq!(all["items"][1], item);
        assert_eq!(all["items"][0]["expiresSoon"], false, "it has expired");
    }
}
