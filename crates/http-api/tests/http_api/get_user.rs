//! `GET /api/v1/user`

use keyward_domain::clock::Clock as _;
use serde_json::json;

use crate::api::USER;
use crate::scene::Scene;

#[tokio::test]
async fn key_identifies_its_user() {
    let scene = Scene::new().await;
    let answer = scene.api.get(USER, &scene.ada.token).await;
    assert_eq!(
        answer.ok(200),
        json!({
            "userId": scene.ada.member.user.id.to_string(),
            "username": "ada",
            "consumerId": scene.ada.member.membership.id.to_string(),
            "organization": {
                "id": scene.organization.id.to_string(),
                "slug": "analytical-engines",
                "name": "Analytical Engines",
            },
            "apiKey": {
                "id": scene.ada.key_id,
                "canManageKeys": true,
                "createdAt": "2026-01-01T00:00:00.000Z",
            },
        })
    );
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn key_of_a_former_user_is_rejected() {
    let scene = Scene::new().await;
    let now = scene.installation.builder.clock.now();
    scene
        .installation
        .store
        .end_membership(scene.ada.member.membership.id, now);
    scene
        .api
        .get(USER, &scene.ada.token)
        .await
        .refusal(401, "invalid_token");
    scene.api.get(USER, &scene.grace.token).await.ok(200);
}
