//! `/api/v1/auth`: what gateways ask, in all their ways.

use keyward_domain::audit::RequestSource;
use keyward_domain::clock::Clock as _;
use reqwest::Method;

use crate::answer::Answer;
use crate::api::{API_KEYS, Api};
use crate::scene::Scene;

const AUTH: &str = "/api/v1/auth";

/// The headers that services behind a gateway see.
fn identity(answer: &Answer) -> Vec<Option<&str>> {
    let names = [
        "x-consumer-id",
        "x-consumer-username",
        "x-credential-identifier",
        "x-organization-id",
        "x-organization-slug",
    ];
    names.map(|name| answer.header(name)).into()
}

#[track_caller]
fn assert_accepted_as_ada(scene: &Scene, answer: &Answer, place: &str) {
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (200, ""),
        "{place}: {}",
        answer.body
    );
    let expected = [
        &scene.ada.member.membership.id.to_string(),
        "ada",
        &scene.ada.key_id,
        &scene.organization.id.to_string(),
        "analytical-engines",
    ];
    assert_eq!(identity(answer), expected.map(Some), "{place}");
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{place}");
}

#[track_caller]
fn assert_refused(answer: &Answer, challenge: &str, place: &str) {
    assert_eq!(answer.status, 401, "{place}");
    assert_eq!(answer.header("www-authenticate"), Some(challenge), "{place}");
    assert_eq!(identity(answer), [None; 5], "{place}");
}

fn methods() -> Vec<Method> {
    [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "BREW",
    ]
    .map(|method| Method::from_bytes(method.as_bytes()).unwrap())
    .into()
}

const PATHS: [&str; 9] = [
    "/api/v1/auth",
    "/api/v1/auth/",
    "/api/v1/auth/orders/7",
    "/api/v1/auth/api/v1/auth",
    "/api/v1/auth//a//b/",
    "/api/v1/auth/%FF/%00/%2e%2e%2e/..a/%",
    // Encoded twice, and between backslashes, they are no dot segments.
    "/api/v1/auth/%252e%252e/x%5c..%5cy",
    "/api/v1/auth/a?x=1&x=2&y=%&z=%FF&=&projects=7",
    "/api/v1/auth/a?access_token=x&limit=0",
];

#[tokio::test]
async fn every_method_and_path_returns_the_identity() {
    let scene = Scene::new().await;
    for method in methods() {
        for path in PATHS {
            let request = scene.api.request(method.clone(), path, &scene.ada.token);
            let answer = scene.api.send(request).await;
            assert_accepted_as_ada(&scene, &answer, &format!("{method} {path}"));
        }
    }
}

#[tokio::test]
async fn every_method_and_path_challenges_who_has_no_key() {
    let scene = Scene::new().await;
    for method in methods() {
        for path in PATHS {
            let place = format!("{method} {path}");
            let answer = scene.api.send(scene.api.anonymous(method.clone(), path)).await;
            assert_refused(&answer, "Bearer", &place);
            let answer = scene
                .api
                .send(scene.api.request(method.clone(), path, "kwp_x"))
                .await;
            assert_refused(&answer, "Bearer error=\"invalid_token\"", &place);
        }
    }
}

#[tokio::test]
async fn path_with_dot_segments_is_no_question() {
    let scene = Scene::new().await;
    for below in [
        "../user",
        "%2e%2e/user",
        "a/.%2E",
        "..%2Fuser",
        ".%2f",
        "a%2f..%2fb",
        "%2e",
    ] {
        // Sent as raw bytes, because most clients remove such segments.
        let request = format!(
            "GET {AUTH}/{below} HTTP/1.1\r\nHost: keyward\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
            scene.ada.token
        );
        let answer = scene.api.send_raw(request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 404 "), "{below}: {answer}");
        assert!(!answer.to_lowercase().contains("x-consumer"), "{below}: {answer}");
    }
}

/// The front door refuses it everywhere, since it would echo credentials.
#[tokio::test]
async fn trace_is_not_admitted() {
    let scene = Scene::new().await;
    for path in [AUTH, "/api/v1/auth/orders/7?x=1"] {
        let request = scene.api.request(Method::TRACE, path, &scene.ada.token);
        let answer = scene.api.send(request).await;
        answer.refusal(405, "method_not_allowed");
        let allowed = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";
        assert_eq!(answer.header("allow"), Some(allowed), "{path}");
    }
}

/// A preflight never has credentials. Passing it on would open every service behind the gateway to `OPTIONS`.
#[tokio::test]
async fn preflight_without_key_is_challenged() {
    let scene = Scene::new().await;
    let preflight = scene
        .api
        .anonymous(Method::OPTIONS, AUTH)
        .header("origin", "https://app.example.org")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization");
    let answer = scene.api.send(preflight).await;
    assert_refused(&answer, "Bearer", "preflight");
    assert_eq!(answer.header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn revoked_key_and_former_member_are_refused() {
    let scene = Scene::new().await;
    let created = scene.create(&scene.ada.token, "to be revoked").await;
    let revoked = created["key"].as_str().unwrap();
    scene.api.get(AUTH, revoked).await;
    let path = format!("{API_KEYS}/current");
    scene.api.delete(&path, revoked).await.ok(204);
    let now = scene.installation.builder.clock.now();
    let membership = scene.grace.member.membership.id;
    scene.installation.store.end_membership(membership, now);
    for token in [revoked, &scene.grace.token] {
        let answer = scene.api.get(AUTH, token).await;
        assert_refused(&answer, "Bearer error=\"invalid_token\"", "refused");
        answer.refusal(401, "invalid_token");
    }
}

async fn asked_for(scene: &Scene, path: &str, project: &str) -> Answer {
    let path = format!("{path}?project={project}");
    scene.api.get(&path, &scene.ada.token).await
}

#[tokio::test]
async fn project_admits_its_members_only() {
    let scene = Scene::new().await;
    let source = RequestSource::default;
    let own = scene.project_of(&scene.ada, "engine").await;
    let anothers = scene.project_of(&scene.grace, "grace's").await;
    let archived = scene.project_of(&scene.ada, "archived").await;
    let projects = scene.installation.projects();
    projects
        .archive(&scene.authority(), archived.id, source())
        .await
        .unwrap();
    for path in [AUTH, "/api/v1/auth/", "/api/v1/auth/orders"] {
        let answer = asked_for(&scene, path, &own.id.to_string()).await;
        assert_accepted_as_ada(&scene, &answer, path);
        let encoded = format!("{path}?%70rojec%74={}", anothers.id);
        let answer = scene.api.get(&encoded, &scene.ada.token).await;
        answer.refusal(403, "forbidden");
        for id in [
            anothers.id.to_string(),
            archived.id.to_string(),
            "019b76da-a800-7c3e-8f21-5d1c3a9e4b70".to_owned(),
            "f47ac10b-58cc-4372-a567-0e02b2c3d479".to_owned(),
        ] {
            let answer = asked_for(&scene, path, &id).await;
            answer.refusal(403, "forbidden");
            assert_eq!(identity(&answer), [None; 5]);
        }
    }
    let authority = scene.authority();
    let member = scene.ada.member.membership.id;
    let removed = projects.remove_member(&authority, own.id, member, source());
    removed.await.unwrap();
    let answer = asked_for(&scene, AUTH, &own.id.to_string()).await;
    answer.refusal(403, "forbidden");
}

#[tokio::test]
async fn malformed_project_and_unknown_parameter_are_refused() {
    let scene = Scene::new().await;
    let project = scene.project_of(&scene.ada, "engine").await.id;
    for value in [
        "",
        "7",
        "engine",
        "%FF",
        "%00",
        "%",
        "x%20y",
        &format!("{project}x"),
    ] {
        for path in [AUTH, "/api/v1/auth/", "/api/v1/auth/orders"] {
            let answer = asked_for(&scene, path, value).await;
            answer.refusal(400, "malformed_query");
            let answer = asked_for(&scene, path, &format!("{project}&project={value}")).await;
            answer.refusal(400, "malformed_query");
        }
    }
    let answer = asked_for(&scene, AUTH, "7").await;
    assert_eq!(
        answer.refusal(400, "malformed_query")["detail"],
        "The query parameter `project` must be the `id` of a project, such as `GET /api/v1/user/projects` lists them."
    );
    // A mistyped parameter must not make the check ineffective.
    for query in ["projet=7", "Project=7", "access_token=x"] {
        let answer = scene.api.get(&format!("{AUTH}?{query}"), &scene.ada.token).await;
        answer.refusal(400, "malformed_query");
    }
}

#[tokio::test]
async fn token_in_the_query_is_no_credential() {
    let scene = Scene::new().await;
    let token = &scene.ada.token;
    for path in [AUTH, "/api/v1/auth/orders"] {
        let request = scene
            .api
            .anonymous(Method::GET, &format!("{path}?access_token={token}"));
        assert_refused(&scene.api.send(request).await, "Bearer", path);
    }
}

async fn send_with_body(api: &Api, framing: &str, token: &str) -> String {
    let head = format!(
        "POST /api/v1/auth/upload HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n{framing}\r\n\r\n"
    );
    api.send_raw(head.as_bytes()).await
}

/// The client sends no byte of the body: an answer comes only if none is awaited.
#[tokio::test]
async fn body_is_answered_without_being_read() {
    let scene = Scene::new().await;
    for framing in ["content-length: 65536", "transfer-encoding: chunked"] {
        let answer = send_with_body(&scene.api, framing, &scene.ada.token).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        let answer = send_with_body(&scene.api, framing, "kwp_x").await;
        assert!(answer.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{answer}");
    }
}

#[tokio::test]
async fn storage_outage_neither_admits_nor_refuses() {
    let scene = Scene::new().await;
    scene.installation.store.go_down();
    for method in methods() {
        let request = scene
            .api
            .request(method.clone(), "/api/v1/auth/x", &scene.ada.token);
        let answer = scene.api.send(request).await;
        assert_eq!(answer.status, 503, "{method}");
        assert_eq!(answer.header("retry-after"), Some("5"), "{method}");
        assert_eq!(identity(&answer), [None; 5]);
    }
}

#[tokio::test]
async fn neighbouring_paths_are_other_paths() {
    let scene = Scene::new().await;
    for path in ["/api/v1/authx", "/api/v1/auth-x", "/api/v1/Auth", "/api/v2/auth"] {
        let answer = scene.api.get(path, &scene.ada.token).await;
        answer.refusal(404, "not_found");
    }
}
