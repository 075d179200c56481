//! `GET /api/v1/user/projects`

use keyward_domain::audit::RequestSource;
use keyward_domain::clock::Clock as _;
use keyward_domain::membership::Role;
use serde_json::{Value, json};

use crate::api::{API_KEYS, PROJECTS};
use crate::scene::{Scene, names};

async fn list(scene: &Scene, query: &str) -> Value {
    let path = format!("{PROJECTS}?{query}");
    scene.api.get(&path, &scene.ada.token).await.ok(200)
}

/// Five projects of ada's named `project 1` to `project 5`, and one of grace's.
async fn scene_with_projects() -> Scene {
    let scene = Scene::new().await;
    for number in 1..=5 {
        scene.project_of(&scene.ada, &format!("project {number}")).await;
    }
    scene.project_of(&scene.grace, "somebody else's").await;
    scene.project("nobody's").await;
    scene
}

#[tokio::test]
async fn key_lists_its_users_projects_newest_first() {
    let scene = scene_with_projects().await;
    let answer = scene.api.get(PROJECTS, &scene.ada.token).await;
    let page = answer.ok(200);
    let expected = ["project 5", "project 4", "project 3", "project 2", "project 1"];
    assert_eq!(names(&page), expected);
    assert!(page.get("nextCursor").is_none());
    assert_eq!(answer.header("link"), None);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn project_shows_identifier_name_and_creation_time() {
    let scene = Scene::new().await;
    let project = scene.project_of(&scene.ada, "مشروع 🛰️").await;
    let item = json!({
        "id": project.id.to_string(), "name": "مشروع 🛰️", "createdAt": "2026-01-01T00:00:00.000Z",
    });
    assert_eq!(list(&scene, "").await, json!({ "items": [item] }));
}

#[tokio::test]
async fn user_without_projects_has_an_empty_list() {
    let scene = Scene::new().await;
    scene.project_of(&scene.grace, "somebody else's").await;
    assert_eq!(list(&scene, "").await, json!({"items": []}));
}

#[tokio::test]
async fn archived_project_is_not_listed_until_restored() {
    let scene = Scene::new().await;
    let project = scene.project_of(&scene.ada, "engine").await;
    let projects = scene.installation.projects();
    let (authority, source) = (scene.authority(), RequestSource::default);
    projects.archive(&authority, project.id, source()).await.unwrap();
    assert_eq!(list(&scene, "").await, json!({"items": []}));
    projects.restore(&authority, project.id, source()).await.unwrap();
    assert_eq!(names(&list(&scene, "").await), ["engine"]);
}

#[tokio::test]
async fn removed_project_member_no_longer_lists_it() {
    let scene = scene_with_projects().await;
    let kept = scene.project_of(&scene.ada, "kept").await;
    let lost = scene.project_of(&scene.ada, "lost").await;
    let projects = scene.installation.projects();
    let member = scene.ada.member.membership.id;
    projects
        .remove_member(&scene.authority(), lost.id, member, RequestSource::default())
        .await
        .unwrap();
    assert_eq!(
        list(&scene, "limit=1").await["items"][0]["id"],
        kept.id.to_string()
    );
}

/// A user in two organizations is two consumers.
#[tokio::test]
async fn key_lists_no_projects_of_its_users_other_organization() {
    let scene = Scene::new().await;
    scene.project_of(&scene.ada, "here").await;
    let other = scene.installation.organization("Another");
    let member = scene
        .installation
        .builder
        .membership(&other, &scene.ada.member.user, Role::Owner);
    scene.installation.store.put_membership(member.clone());
    let there = Scene {
        organization: other,
        ..scene
    };
    let project = there.project("there").await;
    there
        .installation
        .projects()
        .add_member(
            &there.authority(),
            project.id,
            member.id,
            RequestSource::default(),
        )
        .await
        .unwrap();
    assert_eq!(names(&list(&there, "").await), ["here"]);
}

/// An owner is no exception: running an organization is no membership of its projects.
#[tokio::test]
async fn owners_key_lists_only_projects_the_owner_is_in() {
    let scene = scene_with_projects().await;
    let owner = scene
        .installation
        .member(&scene.organization, "mary", Role::Owner);
    let issued = scene.installation.issue(&owner.as_holder(), "owner's").await;
    let answer = scene.api.get(PROJECTS, issued.token.expose()).await;
    assert_eq!(answer.ok(200), json!({"items": []}));
}

#[tokio::test]
async fn former_member_is_rejected() {
    let scene = scene_with_projects().await;
    let now = scene.installation.builder.clock.now();
    let membership = scene.ada.member.membership.id;
    scene.installation.store.end_membership(membership, now);
    let answer = scene.api.get(PROJECTS, &scene.ada.token).await;
    answer.refusal(401, "invalid_token");
}

#[tokio::test]
async fn pages_continue_by_cursor_and_by_link() {
    let scene = scene_with_projects().await;
    let seen = scene.pages(PROJECTS, "").await;
    assert_eq!(
        seen,
        ["project 5, project 4", "project 3, project 2", "project 1"]
    );
}

#[tokio::test]
async fn cursor_remains_valid_after_its_project_is_out_of_reach() {
    let scene = scene_with_projects().await;
    let first = list(&scene, "limit=2").await;
    let last = first["items"][1]["id"].as_str().unwrap().parse().unwrap();
    let projects = scene.installation.projects();
    projects
        .archive(&scene.authority(), last, RequestSource::default())
        .await
        .unwrap();
    let cursor = first["nextCursor"].as_str().unwrap();
    let rest = list(&scene, &format!("cursor={cursor}")).await;
    assert_eq!(names(&rest), ["project 3", "project 2", "project 1"]);
}

/// A cursor is no secret: with another consumer's, only projects that the calling key reaches are listed.
#[tokio::test]
async fn another_users_cursor_lists_own_projects_only() {
    let scene = scene_with_projects().await;
    scene.project_of(&scene.ada, "newest").await;
    let first = list(&scene, "limit=1").await;
    let path = format!("{PROJECTS}?cursor={}", first["nextCursor"].as_str().unwrap());
    let page = scene.api.get(&path, &scene.grace.token).await.ok(200);
    assert_eq!(names(&page), ["somebody else's"]);
}

#[tokio::test]
async fn key_and_project_cursors_are_not_interchangeable() {
    let scene = scene_with_projects().await;
    scene.create(&scene.ada.token, "second").await;
    let keys = scene
        .api
        .get(&format!("{API_KEYS}?limit=1"), &scene.ada.token)
        .await;
    let (keys, projects) = (keys.ok(200), list(&scene, "limit=1").await);
    for (list, cursor) in [(PROJECTS, &keys), (API_KEYS, &projects)] {
        let path = format!("{list}?cursor={}", cursor["nextCursor"].as_str().unwrap());
        let problem = scene.api.get(&path, &scene.ada.token).await;
        problem.refusal(400, "malformed_query");
    }
}

#[tokio::test]
async fn invalid_parameters_are_rejected() {
    let scene = Scene::new().await;
    let limit = "The query parameter `limit` must be a number from 1 to 100.";
    let cursor = "The query parameter `cursor` must be the `nextCursor` of an earlier page, unchanged.";
    for (query, detail) in [
        ("limit=0", limit),
        ("limit=101", limit),
        ("limit=", limit),
        ("limit=x", limit),
        ("cursor=", cursor),
        ("cursor=%2B%2F", cursor),
        ("cursor=MTpwcm9qZWN0czo", cursor),
        ("limit=%FF", "The query is not UTF-8."),
        ("limit=1&limit=1", "A query parameter is given more than once."),
        (
            "status=all",
            "This operation has only these query parameters: limit, cursor.",
        ),
    ] {
        let answer = scene
            .api
            .get(&format!("{PROJECTS}?{query}"), &scene.ada.token)
            .await;
        let problem = answer.refusal(400, "malformed_query");
        assert_eq!(problem["detail"], detail, "{query}");
    }
    for query in ["limit=1", "limit=100"] {
        list(&scene, query).await;
    }
}
