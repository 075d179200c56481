//! Invalid requests, and their refusals.

use std::collections::BTreeSet;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::api::{API_KEYS, Api, USER};
use crate::documented::{DOCUMENT, operations};
use crate::scene::{Scene, http_api};

#[tokio::test]
async fn body_other_than_one_json_text_is_malformed() {
    let scene = Scene::new().await;
    let deep = format!("{{\"name\": {}{}}}", "[".repeat(128), "]".repeat(128));
    let bodies: [&[u8]; 18] = [
        b"",
        b" ",
        b"{",
        b"{\"name\": \"x\"",
        b"{\"name\": \"x\"}{",
        b"{\"name\": \"x\"} null",
        b"{\"name\": \"x\",}",
        b"{name: \"x\"}",
        b"{'name': 'x'}",
        b"name=x",
        b"{\"name\": \"x\", \"name\": \"y\"}",
        b"{\"name\": \"x\", \"n\\u0061me\": \"x\"}",
        b"{\"name\": \"x\", \"more\": {\"a\": 1, \"a\": 1}}",
        b"{\"name\": \"\xff\"}",
        b"{\"name\": \"\\ud83d\"}",
        b"{\"name\": \"\\ude00x\"}",
        b"{\"name\": \"a\nb\"}",
        deep.as_bytes(),
    ];
    for body in bodies {
        let answer = scene.api.post_bytes(&scene.ada.token, body).await;
        let problem = answer.refusal(400, "malformed_request");
        assert!(
            problem["detail"]
                .as_str()
                .unwrap()
                .starts_with("The body is not acceptable JSON: ")
        );
    }
    for nothing in [&b""[..], b" \r\n"] {
        let answer = scene.api.post_bytes(&scene.ada.token, nothing).await;
        let problem = answer.refusal(400, "malformed_request");
        assert_eq!(problem["detail"], "The body is not acceptable JSON: it is empty.");
    }
}

/// No member of a body is an array or an object, so that the depth of a body is bounded by its types; deeper
/// ones than `serde_json` reads are malformed.
#[tokio::test]
async fn bodies_nested_17_levels_deep_are_refused() {
    let scene = Scene::new().await;
    let brackets = format!("{}{}", "[".repeat(17), "]".repeat(17));
    let braces = format!("{}1{}", "{\"name\":".repeat(17), "}".repeat(17));
    let mut tried = 0;
    for operation in operations() {
        let Some(example) = operation.example_body() else {
            continue;
        };
        let members = example.as_object().unwrap();
        for deep in [&brackets, &braces] {
            let nested: Value = serde_json::from_str(deep).unwrap();
            let changed = members.keys().map(String::as_str).chain(["unknown"]).map(|name| {
                let mut body = example.clone();
                body[name] = nested.clone();
                body.to_string()
            });
            for body in changed.chain([deep.clone()]) {
                let request = scene
                    .api
                    .request(operation.method.clone(), &operation.path(), &scene.ada.token)
                    .header("content-type", "application/json")
                    .body(body.clone());
                let answer = scene.api.send(request).await;
                answer.refusal(422, "invalid_fields");
                tried += 1;
            }
        }
    }
    assert!(tried >= 12, "{tried} bodies");
}

#[tokio::test]
async fn non_object_body_has_an_error_at_the_root() {
    let scene = Scene::new().await;
    for body in ["null", "[]", "\"name\"", "1", "[{\"name\": \"x\"}]"] {
        let answer = scene.api.post_bytes(&scene.ada.token, body).await;
        assert_eq!(answer.pointers(), [""], "{body}");
    }
}

#[tokio::test]
async fn invalid_names_are_rejected() {
    let scene = Scene::new().await;
    for (name, detail) in [
        (json!(""), "must not be empty"),
        (json!(" \t\u{3000} "), "must not be empty"),
        (
            json!("x".repeat(101)),
            "must be at most 100 characters long, not 101",
        ),
        (json!("two\nlines"), "must be a single line"),
        (json!("two\u{2028}lines"), "must be a single line"),
        (json!("a\u{0}b"), "must not contain the character U+0000"),
        (json!("a\u{7}b"), "must not contain the character U+0007"),
        (json!("a\u{7f}b"), "must not contain the character U+007F"),
        (json!("a\u{202e}b"), "must not contain the character U+202E"),
        (json!("a\u{2066}b"), "must not contain the character U+2066"),
        (json!(3), "must be a string"),
        (json!(true), "must be a string"),
        (json!(["x"]), "must be a string"),
        (json!({"x": "y"}), "must be a string"),
    ] {
        let answer = scene
            .api
            .post(API_KEYS, &scene.ada.token, &json!({"name": name}))
            .await;
        let problem = answer.refusal(422, "invalid_fields");
        assert_eq!(
            problem["errors"],
            json!([{"pointer": "/name", "detail": detail}]),
            "{name}"
        );
        let answer = scene
            .api
            .patch(&scene.ada.key_path(), &scene.ada.token, &json!({"name": name}))
            .await;
        assert_eq!(answer.refusal(422, "invalid_fields"), problem, "{name}");
    }
    let longest = "🔑".repeat(100);
    let created = scene.create(&scene.ada.token, &longest).await;
    assert_eq!(created["name"], longest);
}

#[tokio::test]
async fn invalid_descriptions_are_rejected() {
    let scene = Scene::new().await;
    for (description, detail) in [
        (
            json!("x".repeat(501)),
            "must be at most 500 characters long, not 501",
        ),
        (json!("a\u{0}b"), "must not contain the character U+0000"),
        (json!("a\tb"), "must not contain the character U+0009"),
        (json!("a\rb"), "must not contain the character U+000D"),
        (json!("a\u{202a}b"), "must not contain the character U+202A"),
        (json!("a\u{2069}b"), "must not contain the character U+2069"),
        (json!(0.5), "must be a string"),
    ] {
        let body = json!({"name": "x", "description": description});
        let answer = scene.api.post(API_KEYS, &scene.ada.token, &body).await;
        let problem = answer.refusal(422, "invalid_fields");
        let expected = json!([{"pointer": "/description", "detail": detail}]);
        assert_eq!(problem["errors"], expected, "{description}");
    }
}

#[tokio::test]
async fn tokens_in_texts_are_rejected_and_not_repeated() {
    let scene = Scene::new().await;
    let token = &scene.ada.token;
    let text = format!("use {token}");
    for body in [json!({"name": text}), json!({"name": "x", "description": text})] {
        let created = scene.api.post(API_KEYS, token, &body).await;
        let changed = scene.api.patch(&scene.ada.key_path(), token, &body).await;
        for answer in [created, changed] {
            answer.refusal(422, "invalid_fields");
            assert!(
                answer.body.contains("must not contain an API key"),
                "{}",
                answer.body
            );
            assert!(!answer.body.contains(token.as_str()));
        }
    }
    let search = scene.api.get(&format!("{API_KEYS}?search={token}"), token).await;
    search.refusal(400, "malformed_query");
    assert!(!search.body.contains(token.as_str()));
}

#[tokio::test]
async fn invisible_names_are_rejected() {
    let scene = Scene::new().await;
    for name in [
        "\u{200b}",
        "\u{3164}",
        "\u{2060}",
        "\u{e0001}",
        "a\u{200e}b",
        "a\u{fdd0}",
        "\u{2800}",
    ] {
        let answer = scene
            .api
            .post(API_KEYS, &scene.ada.token, &json!({"name": name}))
            .await;
        assert_eq!(answer.pointers(), ["/name"], "{name:?}");
    }
    for name in ["👩‍👩‍👧‍👦", "می‌خواهم", "שלום עולם"] {
        assert_eq!(scene.create(&scene.ada.token, name).await["name"], name);
    }
}

/// As pydantic's `model_dump()` sends unset members.
#[tokio::test]
async fn null_description_is_empty_on_creation_and_cleared_on_update() {
    let scene = Scene::new().await;
    let body = json!({"name": "x", "description": null});
    let created = scene.api.post(API_KEYS, &scene.ada.token, &body).await.ok(201);
    assert_eq!(created["description"], "");

    let path = scene.ada.key_path();
    let described = json!({"description": "What for"});
    scene.api.patch(&path, &scene.ada.token, &described).await.ok(200);
    let body = json!({"description": null});
    let removed = scene.api.patch(&path, &scene.ada.token, &body).await.ok(200);
    assert_eq!(removed["description"], "");
    assert_eq!(removed["name"], "console");
}

#[tokio::test]
async fn null_name_is_rejected_with_advice() {
    let scene = Scene::new().await;
    let body = json!({"name": null});
    let created = scene.api.post(API_KEYS, &scene.ada.token, &body).await;
    let changed = scene
        .api
        .patch(&scene.ada.key_path(), &scene.ada.token, &body)
        .await;
    for (answer, detail) in [
        (created, "is required, and must not be null"),
        (changed, "must not be null: leave it out to keep it as it is"),
    ] {
        let problem = answer.refusal(422, "invalid_fields");
        assert_eq!(problem["errors"], json!([{"pointer": "/name", "detail": detail}]));
    }
}

#[tokio::test]
async fn all_field_errors_are_reported_together() {
    let scene = Scene::new().await;
    let body = json!({"description": "x".repeat(501), "id": "7", "consumerId": 1, "a/b~c": null});
    let answer = scene.api.post(API_KEYS, &scene.ada.token, &body).await;
    insta::assert_json_snapshot!(answer.refusal(422, "invalid_fields"));
    assert_eq!(
        scene
            .api
            .post(API_KEYS, &scene.ada.token, &json!({"name": 1, "description": 2}))
            .await
            .pointers(),
        ["/name", "/description"]
    );
}

#[tokio::test]
async fn thousands_of_unknown_fields_produce_a_bounded_response() {
    let scene = Scene::new().await;
    let fields: Vec<String> = (0..5000).map(|number| format!("\"{number}\":0")).collect();
    let answer = scene
        .api
        .post_bytes(&scene.ada.token, format!("{{{}}}", fields.join(",")))
        .await;
    assert_eq!(answer.pointers().len(), 51);
}

#[tokio::test]
async fn non_json_media_type_is_rejected() {
    let scene = Scene::new().await;
    for media_type in [
        None,
        Some(""),
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
        Some("application/jsonp"),
        Some("application/vnd.api+json"),
        Some("text/json"),
        Some("application/json, text/plain"),
    ] {
        let mut request = scene
            .api
            .request(Method::POST, API_KEYS, &scene.ada.token)
            .body(r#"{"name": "x"}"#);
        if let Some(media_type) = media_type {
            request = request.header("content-type", media_type);
        }
        let answer = scene.api.send(request).await;
        let detail = answer.refusal(415, "unsupported_media_type")["detail"].to_string();
        assert!(detail.contains("Content-Type: application/json"), "{detail}");
    }
}

#[tokio::test]
async fn request_body_over_64_kib_is_rejected() {
    let scene = Scene::new().await;
    let body = |bytes: usize| format!("{{\"name\":\"x\"{}}}", " ".repeat(bytes - 12));
    scene
        .api
        .post_bytes(&scene.ada.token, body(64 * 1024))
        .await
        .ok(201);
    let answer = scene.api.post_bytes(&scene.ada.token, body(64 * 1024 + 1)).await;
    answer.refusal(413, "body_too_large");
}

/// A `Content-Length` that is too large is refused before the operation is known, also where no body belongs.
#[tokio::test]
async fn every_operation_rejects_a_declared_oversized_body() {
    let scene = Scene::new().await;
    let api = Api::start_with(http_api(&scene.installation), |config| {
        config.limits.body_bytes = 64 * 1024;
    })
    .await;
    for operation in operations() {
        let request = api
            .operation(&operation, &operation.path(), &scene.ada.token)
            .body(vec![b' '; 64 * 1024 + 1]);
        api.send(request).await.refusal(413, "body_too_large");
    }
}

#[tokio::test]
async fn chunked_body_has_the_same_limit() {
    let scene = Scene::new().await;
    let mut request = format!(
        "POST {API_KEYS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n",
        scene.ada.token
    );
    for _ in 0..65 {
        request.push_str(&format!("400\r\n{}\r\n", " ".repeat(1024)));
    }
    request.push_str("0\r\n\r\n");
    let answer = scene.api.send_raw(request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("\"code\":\"body_too_large\""), "{answer}");
}

#[tokio::test]
async fn late_request_body_times_out() {
    let scene = Scene::new().await;
    let api = Api::start_with(http_api(&scene.installation), |config| {
        config.deadlines.body = Duration::from_millis(50);
    })
    .await;
    let request = format!(
        "POST {API_KEYS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{\"name\":",
        scene.ada.token
    );
    let answer = api.send_raw(request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains("\"code\":\"request_timeout\""), "{answer}");
}

#[tokio::test]
async fn unsupported_method_is_405_with_allowed_methods() {
    let scene = Scene::new().await;
    for (method, path, allow) in [
        (Method::PUT, API_KEYS.to_owned(), "GET, HEAD, POST"),
        (Method::OPTIONS, API_KEYS.to_owned(), "GET, HEAD, POST"),
        (Method::POST, scene.ada.key_path(), "DELETE, GET, HEAD, PATCH"),
        (Method::POST, USER.to_owned(), "GET, HEAD"),
        (Method::from_bytes(b"FROB").unwrap(), USER.to_owned(), "GET, HEAD"),
        (Method::DELETE, "/openapi.json".to_owned(), "GET, HEAD"),
        (Method::PUT, "/docs/".to_owned(), "GET, HEAD"),
        (Method::POST, "/problems/internal".to_owned(), "GET, HEAD"),
    ] {
        let request = scene.api.request(method.clone(), &path, &scene.ada.token);
        let answer = scene.api.send(request).await;
        answer.refusal(405, "method_not_allowed");
        assert_eq!(answer.header("allow"), Some(allow), "{method} {path}");
    }
}

#[tokio::test]
async fn unknown_path_is_a_404_problem() {
    let scene = Scene::new().await;
    for path in [
        "/api",
        "/api/",
        "/api/v1",
        "/api/v1/",
        "/api/v2/user",
        "/api/v1/user/",
        "/api/v1/USER",
        "/api/v1/user/api-keys/",
        "/api/v1/user/api-keys/x/y",
        "/api/v1/%FF",
        "/api/v1user",
        "/problems",
    ] {
        let answer = scene.api.get(path, &scene.ada.token).await;
        let problem = answer.refusal(404, "not_found");
        assert_eq!(problem["detail"], "No resource has this path.", "{path}");
    }
}

/// A misspelled parameter must not be ignored.
#[tokio::test]
async fn every_operation_rejects_unknown_and_repeated_query_parameters() {
    let scene = Scene::new().await;
    for operation in operations() {
        for query in ["unknown=1", "unknown", "=1", "Limit=1", "limit=1&limit=1"] {
            let path = format!("{}?{query}", operation.path());
            let mut request = scene.api.operation(&operation, &path, &scene.ada.token);
            if let Some(body) = operation.example_body() {
                request = request.json(body);
            }
            scene.api.send(request).await.refusal(400, "malformed_query");
        }
    }
    scene
        .api
        .get(&scene.ada.key_path(), &scene.ada.token)
        .await
        .ok(200);
}

/// All read-only members of a key.
#[tokio::test]
async fn read_only_key_fields_are_rejected_on_creation() {
    let scene = Scene::new().await;
    let members = |schema: &str| {
        let schema = &DOCUMENT["components"]["schemas"][schema]["properties"];
        let members = schema.as_object().unwrap().keys().cloned();
        members.collect::<BTreeSet<String>>()
    };
    let shown = &members("ApiKey") | &members("CreatedApiKey");
    let read_only = &shown - &members("CreateApiKeyRequest");
    assert!(read_only.len() >= 16, "{read_only:?}");
    for field in read_only {
        let mut body = json!({"name": "x"});
        body[&field] = Value::from("y");
        let answer = scene.api.post(API_KEYS, &scene.ada.token, &body).await;
        assert_eq!(answer.pointers(), [format!("/{field}")]);
    }
}
