//! Links, codings, queries and line ends.

use keyward_http_api::{BaseUrl, HttpApi};
use reqwest::Method;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::api::{API_KEYS, Api, PROJECTS, USER};
use crate::documented::DOCUMENT;
use crate::scene::{Scene, http_api};

const PUBLIC_URL: &str = "https://keys.example.org";

/// The same installation under a URL that is known.
async fn behind_a_public_url(scene: &Scene) -> Api {
    Api::start(HttpApi {
        base_url: BaseUrl::new(PUBLIC_URL),
        ..http_api(&scene.installation)
    })
    .await
}

#[tokio::test]
async fn links_are_absolute_with_known_public_url() {
    let scene = Scene::new().await;
    for name in ["one", "two"] {
        scene.project_of(&scene.ada, name).await;
    }
    let api = behind_a_public_url(&scene).await;
    let token = &scene.ada.token;

    let created = api.post(API_KEYS, token, &json!({"name": "x"})).await;
    let id = created.ok(201)["id"].as_str().unwrap().to_owned();
    assert_eq!(
        created.header("location"),
        Some(format!("{PUBLIC_URL}{API_KEYS}/{id}").as_str())
    );
    for list in [API_KEYS, PROJECTS] {
        let page = api.get(&format!("{list}?limit=1"), token).await;
        let next = page.ok(200)["nextCursor"].as_str().unwrap().to_owned();
        assert_eq!(
            page.header("link"),
            Some(format!("<{PUBLIC_URL}{list}?limit=1&cursor={next}>; rel=\"next\"").as_str())
        );
    }
    let problem = api
        .get(&format!("{API_KEYS}/x"), token)
        .await
        .refusal(404, "not_found");
    assert_eq!(problem["type"], format!("{PUBLIC_URL}/problems/not_found"));
}

#[tokio::test]
async fn links_are_relative_without_public_url() {
    let scene = Scene::new().await;
    let problem = scene.api.get(&format!("{API_KEYS}/x"), &scene.ada.token).await;
    assert_eq!(problem.refusal(404, "not_found")["type"], "/problems/not_found");
}

#[tokio::test]
async fn served_document_names_the_public_url() {
    let scene = Scene::new().await;
    let api = behind_a_public_url(&scene).await;
    let served: Value = api
        .send(api.anonymous(Method::GET, "/openapi.json"))
        .await
        .ok(200);
    assert_eq!(served["servers"][0]["url"], PUBLIC_URL);
    assert_eq!(
        served["components"]["responses"]["NotFound"]["content"]["application/problem+json"]["examples"]["not_found"]
            ["value"]["type"],
        format!("{PUBLIC_URL}/problems/not_found")
    );
    let checked_in: Value = serde_json::from_str(&keyward_http_api::document()).unwrap();
    assert_eq!(checked_in["servers"][0]["url"], "/");
}

async fn document(scene: &Scene, headers: &[(&str, &str)]) -> Answer {
    let mut request = scene.api.anonymous(Method::GET, "/openapi.json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    scene.api.send(request).await
}

#[tokio::test]
async fn document_is_304_for_a_current_entity_tag() {
    let scene = Scene::new().await;
    let first = document(&scene, &[]).await;
    let tag = first.header("etag").unwrap();
    assert!(
        tag.starts_with('"') && first.header("vary") == Some("Accept-Encoding"),
        "{tag}"
    );
    for known in [tag, &format!("W/{tag}"), &format!("\"other\", {tag}"), "*"] {
        let again = document(&scene, &[("if-none-match", known)]).await;
        assert_eq!((again.status, again.body.as_str()), (304, ""), "{known}");
        assert_eq!(again.header("etag"), Some(tag));
    }
    for other in ["\"other\"", "nonsense"] {
        assert_eq!(
            document(&scene, &[("if-none-match", other)]).await.status,
            200,
            "{other}"
        );
    }
}

#[tokio::test]
async fn document_is_compressed_when_gzip_is_accepted() {
    let scene = Scene::new().await;
    let answer = scene
        .api
        .send_bytes(
            b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n",
        )
        .await;
    let (head, body) = answer.split_at(answer.windows(4).position(|at| at == b"\r\n\r\n").unwrap() + 4);
    let head = String::from_utf8(head.to_vec()).unwrap();
    assert!(head.contains("content-encoding: gzip\r\n"), "{head}");
    let plain = document(&scene, &[]).await;
    let mut decoded = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(body), &mut decoded).unwrap();
    assert_eq!(decoded, plain.body);
    assert!(body.len() < decoded.len() / 4, "{}", body.len());
    // A strong tag names bytes.
    assert!(!head.contains(plain.header("etag").unwrap()), "{head}");
}

#[tokio::test]
async fn compressed_request_body_is_rejected_with_accepted_encodings() {
    let scene = Scene::new().await;
    for (coding, is_accepted) in [
        ("gzip", false),
        ("identity, br", false),
        ("unknown", false),
        ("identity", true),
        ("Identity", true),
        ("", true),
    ] {
        let request = scene
            .api
            .request(Method::POST, API_KEYS, &scene.ada.token)
            .header("content-encoding", coding)
            .json(&json!({"name": "x"}));
        let answer = scene.api.send(request).await;
        if is_accepted {
            answer.ok(201);
        } else {
            let problem = answer.refusal(415, "unsupported_media_type");
            assert!(
                problem["detail"].as_str().unwrap().contains("compressed"),
                "{problem}"
            );
            assert_eq!(answer.header("accept-encoding"), Some("identity"), "{coding}");
        }
    }
    let declared = &DOCUMENT["components"]["responses"]["UnsupportedMediaType"]["headers"];
    assert!(declared["Accept-Encoding"].is_object(), "{declared}");
}

#[tokio::test]
async fn ambiguous_numbers_and_percent_signs_in_queries_are_rejected() {
    let scene = Scene::new().await;
    for query in [
        "limit=05",
        "limit=%2B5",
        "limit=-5",
        "limit=",
        "limit=0",
        "search=%zz",
        "search=100%",
        "search=%e",
    ] {
        let answer = scene
            .api
            .get(&format!("{API_KEYS}?{query}"), &scene.ada.token)
            .await;
        answer.refusal(400, "malformed_query");
    }
    for query in ["limit=5", "limit=%35", "search=100%25", "search=a+b"] {
        scene
            .api
            .get(&format!("{API_KEYS}?{query}"), &scene.ada.token)
            .await
            .ok(200);
    }
}

#[tokio::test]
async fn byte_order_mark_is_rejected_by_name() {
    let scene = Scene::new().await;
    let answer = scene
        .api
        .post_bytes(&scene.ada.token, "\u{feff}{\"name\": \"x\"}")
        .await;
    assert_eq!(
        answer.refusal(400, "malformed_request")["detail"],
        "The body is not acceptable JSON: it begins with a byte order mark (U+FEFF); send it without one."
    );
}

#[tokio::test]
async fn json_ends_with_a_line_feed() {
    let scene = Scene::new().await;
    for path in [USER, API_KEYS, PROJECTS, "/openapi.json", "/api/v1/nothing"] {
        let answer = scene.api.get(path, &scene.ada.token).await;
        assert!(
            answer.body.ends_with("}\n") && !answer.body.ends_with("\n\n"),
            "{path}"
        );
    }
}
