//! `/problems/{code}`, and problems for what never reaches the API.

use keyward_http_api::{BaseUrl, problem_response};
use poem::http::StatusCode;
use reqwest::Method;
use serde_json::Value;

use crate::documented::{operations, resolved};
use crate::scene::Scene;

#[tokio::test]
async fn every_problem_type_links_to_its_explanation() {
    let scene = Scene::new().await;
    let mut types = vec!["/problems/method_not_allowed"];
    for operation in operations() {
        for response in operation.definition["responses"].as_object().unwrap().values() {
            let response = resolved(response);
            let examples = response.pointer("/content/application~1problem+json/examples");
            for example in examples
                .and_then(Value::as_object)
                .into_iter()
                .flat_map(|all| all.values())
            {
                types.push(example["value"]["type"].as_str().unwrap());
            }
        }
    }
    types.sort_unstable();
    types.dedup();
    assert_eq!(types.len(), 27);
    for path in types {
        let answer = scene.api.send(scene.api.anonymous(Method::GET, path)).await;
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(answer.body.contains("<h2>What to do</h2>"), "{path}");
        assert!(
            !answer.body.contains("<script")
                && !answer.body.contains("<style")
                && !answer.body.contains(" style="),
            "{path}"
        );
        assert!(
            answer
                .body
                .contains("<link rel=\"stylesheet\" href=\"/docs/reference-"),
            "{path}"
        );
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; style-src 'self';"),
            "{policy}"
        );
    }
}

#[tokio::test]
async fn problem_page_matches_its_snapshot() {
    let scene = Scene::new().await;
    let answer = scene
        .api
        .send(scene.api.anonymous(Method::GET, "/problems/credentials_missing"))
        .await;
    // The style's name changes with its content.
    let (before, style) = answer.body.split_once("/docs/reference-").unwrap();
    let (_, after) = style.split_once(".css").unwrap();
    insta::assert_snapshot!(format!("{before}/docs/reference-….css{after}"));
}

#[tokio::test]
async fn unknown_problem_page_links_to_known_problems() {
    let scene = Scene::new().await;
    for path in ["/problems/nothing", "/problems/%3Cscript%3E"] {
        let answer = scene.api.send(scene.api.anonymous(Method::GET, path)).await;
        assert_eq!(answer.status, 404);
        assert!(answer.body.contains("<a href=\"/problems/invalid_fields\">"));
        assert!(!answer.body.contains("script"));
    }
}

#[tokio::test]
async fn errors_outside_the_api_are_problems() {
    for (status, code) in [
        (400, "malformed_request"),
        (405, "method_not_allowed"),
        (408, "request_timeout"),
        (413, "body_too_large"),
        (500, "internal"),
        (503, "outcome_unknown"),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        let response = problem_response(status, "some-request", &BaseUrl::default());
        assert_eq!(response.status(), status);
        assert_eq!(response.content_type(), Some("application/problem+json"));
        let body: Value = serde_json::from_str(&response.into_body().into_string().await.unwrap()).unwrap();
        assert_eq!(
            (&body["code"], &body["requestId"]),
            (&code.into(), &"some-request".into())
        );
    }
}
