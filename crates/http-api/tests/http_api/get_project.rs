//! `GET /api/v1/user/projects/{id}`

use keyward_domain::audit::RequestSource;
use keyward_domain::clock::Clock as _;
use keyward_domain::project::Project;
use reqwest::Method;
use serde_json::json;

use crate::api::PROJECTS;
use crate::scene::Scene;

fn path(project: &Project) -> String {
    format!("{PROJECTS}/{}", project.id)
}

#[tokio::test]
async fn reachable_project_is_returned() {
    let scene = Scene::new().await;
    let project = scene.project_of(&scene.ada, "engine").await;
    let answer = scene.api.get(&path(&project), &scene.ada.token).await;
    assert_eq!(
        answer.ok(200),
        json!({
            "id": project.id.to_string(), "name": "engine", "createdAt": "2026-01-01T00:00:00.000Z",
        })
    );
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

/// The answers do not reveal which projects exist.
#[tokio::test]
async fn unreachable_projects_look_like_unknown_ones() {
    let scene = Scene::new().await;
    let (authority, source) = (scene.authority(), RequestSource::default);
    let archived = scene.project_of(&scene.ada, "archived").await;
    let left = scene.project_of(&scene.ada, "left").await;
    let anothers = scene.project_of(&scene.grace, "grace's").await;
    let without_members = scene.project("nobody's").await;
    for project in [&archived, &left] {
        scene.api.get(&path(project), &scene.ada.token).await.ok(200);
    }
    let projects = scene.installation.projects();
    projects.archive(&authority, archived.id, source()).await.unwrap();
    let member = scene.ada.member.membership.id;
    let removed = projects.remove_member(&authority, left.id, member, source());
    removed.await.unwrap();
    let scene = Scene {
        organization: scene.installation.organization("Another"),
        ..scene
    };
    let foreign = scene.project("foreign").await;

    let ids = [&archived, &left, &anothers, &without_members, &foreign].map(|project| project.id.to_string());
    let no_ids = [
        "019b76da-a800-7c3e-8f21-5d1c3a9e4b70",
        "00000000-0000-0000-0000-000000000000",
        "f47ac10b-58cc-4372-a567-0e02b2c3d479",
        "7",
        "current",
        "%FF",
        "%00",
        "a%2Fb",
        "..%2f..",
        "{id}",
    ];
    let mut seen = Vec::new();
    for id in ids.iter().map(String::as_str).chain(no_ids) {
        let answer = scene.api.get(&format!("{PROJECTS}/{id}"), &scene.ada.token).await;
        let problem = answer.refusal(404, "not_found");
        assert_eq!(problem["detail"], "There is no such project.", "{id}");
        let mut headers = answer.headers.clone();
        let request_id = headers.remove("x-request-id").unwrap();
        headers.remove("date");
        let body = answer.body.replace(request_id.to_str().unwrap(), "");
        seen.push((headers, body));
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{seen:?}");
}

#[tokio::test]
async fn restored_project_is_reachable_again() {
    let scene = Scene::new().await;
    let (authority, source) = (scene.authority(), RequestSource::default);
    let project = scene.project_of(&scene.ada, "engine").await;
    let projects = scene.installation.projects();
    projects.archive(&authority, project.id, source()).await.unwrap();
    let answer = scene.api.get(&path(&project), &scene.ada.token).await;
    answer.refusal(404, "not_found");
    projects.restore(&authority, project.id, source()).await.unwrap();
    scene.api.get(&path(&project), &scene.ada.token).await.ok(200);
}

#[tokio::test]
async fn former_member_is_rejected() {
    let scene = Scene::new().await;
    let project = scene.project_of(&scene.ada, "engine").await;
    let now = scene.installation.builder.clock.now();
    let membership = scene.ada.member.membership.id;
    scene.installation.store.end_membership(membership, now);
    let answer = scene.api.get(&path(&project), &scene.ada.token).await;
    answer.refusal(401, "invalid_token");
}

#[tokio::test]
async fn project_operation_has_no_query_parameters() {
    let scene = Scene::new().await;
    let project = scene.project_of(&scene.ada, "engine").await;
    let answer = scene
        .api
        .get(&format!("{}?limit=1", path(&project)), &scene.ada.token)
        .await;
    answer.refusal(400, "malformed_query");
}

#[tokio::test]
async fn projects_are_read_only() {
    let scene = Scene::new().await;
    let project = scene.project_of(&scene.ada, "engine").await;
    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        for path in [PROJECTS.to_owned(), path(&project)] {
            let request = scene.api.request(method.clone(), &path, &scene.ada.token);
            let answer = scene.api.send(request.json(&json!({"name": "mine"}))).await;
            answer.refusal(405, "method_not_allowed");
            assert_eq!(answer.header("allow"), Some("GET, HEAD"), "{method} {path}");
        }
    }
}
