//! Invalid requests to the running server, and the problems in its answers.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use keyward_tests::api::{Api, text};
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::Keyward;

const JSON: &str = "application/json";

/// A problem as the server answered it, with its status and content type checked.
async fn problem(request: reqwest::RequestBuilder, status: u16, code: &str) -> Value {
    let answer = request.send().await.expect("an answer");
    let content_type = answer.headers()["content-type"]
        .to_str()
        .expect("text")
        .to_owned();
    let request_id = answer.headers()["x-request-id"]
        .to_str()
        .expect("text")
        .to_owned();
    let actual = answer.status();
    let body = answer.text().await.expect("a body");
    let problem: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("not JSON: {body}"));
    assert_eq!(
        (actual.as_u16(), text(&problem, "code")),
        (status, code),
        "{problem}"
    );
    assert_eq!(content_type, "application/problem+json");
    assert_eq!(problem["status"], status);
    assert_eq!(text(&problem, "requestId"), request_id);
    assert_eq!(text(&problem, "type"), format!("/problems/{code}"));
    assert!(!text(&problem, "title").is_empty() && !text(&problem, "detail").is_empty());
    problem
}

fn pointers(problem: &Value) -> Vec<&str> {
    problem["errors"]
        .as_array()
        .expect("field errors")
        .iter()
        .map(|error| text(error, "pointer"))
        .collect()
}

fn without_request_id(mut problem: Value) -> Value {
    problem.as_object_mut().expect("an object").remove("requestId");
    problem
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_bodies_are_rejected_with_the_offending_field() {
    let keyward = Keyward::start_set_up().await;
    let api = PlainConsole::sign_in_owner(&keyward)
        .await
        .api_with_first_key()
        .await;
    let post = |body: Vec<u8>| {
        api.request(Method::POST, "/user/api-keys")
            .header("content-type", JSON)
            .body(body)
    };

    let deep = format!("{{\"name\":{}1{}}}", "[".repeat(128), "]".repeat(128));
    let malformed: [&[u8]; 8] = [
        b"",
        b"{",
        b"{\"name\":\"a\"} trailing",
        b"{\"name\":\"a\",\"name\":\"b\"}",
        b"{\"name\":\"\xff\"}",
        b"{\"name\":\"\\ud800\"}",
        deep.as_bytes(),
        b"{'name':'a'}",
    ];
    for body in malformed {
        problem(post(body.to_vec()), 400, "malformed_request").await;
    }

    let long_name = "n".repeat(101);
    let long_description = "d".repeat(501);
    let invalid = [
        (json!({}), vec!["/name"]),
        (json!({ "name": "" }), vec!["/name"]),
        (json!({ "name": " \t " }), vec!["/name"]),
        (json!({ "name": null }), vec!["/name"]),
        (json!({ "name": 3 }), vec!["/name"]),
        (json!({ "name": long_name }), vec!["/name"]),
        (json!({ "name": "two\nlines" }), vec!["/name"]),
        (json!({ "name": "nul\0" }), vec!["/name"]),
        (json!({ "name": "bell\u{7}" }), vec!["/name"]),
        (json!({ "name": "abc\u{202e}def" }), vec!["/name"]),
        (json!({ "name": "abc\u{2066}def" }), vec!["/name"]),
        (
            json!({ "name": "a", "description": "\u{0}" }),
            vec!["/description"],
        ),
        (json!({ "name": "a", "description": 7 }), vec!["/description"]),
        (
            json!({ "name": "a", "description": long_description }),
            vec!["/description"],
        ),
        (json!({ "name": "a", "id": "x" }), vec!["/id"]),
        (json!({ "name": "a", "consumerId": "x" }), vec!["/consumerId"]),
        (
            json!({ "name": "a", "createdAt": "2020-01-01T00:00:00Z" }),
            vec!["/createdAt"],
        ),
        (
            json!({ "name": 3, "description": long_description }),
            vec!["/name", "/description"],
        ),
    ];
    for (body, fields) in invalid {
        let answer = problem(post(body.to_string().into_bytes()), 422, "invalid_fields").await;
        assert_eq!(pointers(&answer), fields, "{body}");
    }
    assert_eq!(
        api.list("?status=all").await["items"].as_array().map(Vec::len),
        Some(1),
        "no key was created"
    );

    let key = api.create("emoji 🗝 مفتاح", "line one\r\nline two").await;
    assert_eq!(text(&key, "description"), "line one\nline two");
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_another_type_or_size_are_rejected() {
    let keyward = Keyward::start_set_up().await;
    let api = PlainConsole::sign_in_owner(&keyward)
        .await
        .api_with_first_key()
        .await;
    let post = || api.request(Method::POST, "/user/api-keys");

    for content_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonx",
        "",
    ] {
        let request = post()
            .header("content-type", content_type)
            .body("{\"name\":\"a\"}");
        problem(request, 415, "unsupported_media_type").await;
    }
    let with_charset = post()
        .header("content-type", "application/json; charset=utf-8")
        .body("{\"name\":\"a\"}");
    assert_eq!(
        with_charset.send().await.expect("an answer").status(),
        StatusCode::CREATED
    );

    let huge = format!("{{\"name\":\"a\",\"description\":\"{}\"}}", "d".repeat(64 * 1024));
    let sized = post().header("content-type", JSON).body(huge.clone());
    problem(sized, 413, "body_too_large").await;
    let answer = raw::chunked_post(&keyward, api_token(&api), &huge).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("\"body_too_large\""), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_body_is_rejected_after_its_deadline() {
    let keyward = Keyward::start_set_up().await;
    let api = PlainConsole::sign_in_owner(&keyward)
        .await
        .api_with_first_key()
        .await;
    let answer = raw::half_a_post(&keyward, api_token(&api)).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains("\"request_timeout\""), "{answer}");
}

/// A program that uses a wrong path is not redirected to a page, and a browser does not get JSON.
#[tokio::test(flavor = "multi_thread")]
async fn programs_get_problems_and_people_pages_outside_the_api() {
    let keyward = Keyward::start_set_up().await;
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .expect("a client");
    for path in ["/v1/user/api-keys", "/", "/organizations/engines", "/sign-in"] {
        let url = format!("{}{path}", keyward.base_url());
        problem(client.get(&url).header("accept", JSON), 404, "not_found").await;
        problem(client.post(&url).bearer_auth("kwp_x"), 404, "not_found").await;
        let page = client
            .get(&url)
            .header("accept", "text/html,*/*;q=0.8")
            .send()
            .await;
        let page = page.expect("an answer");
        assert!(
            page.status() == StatusCode::SEE_OTHER
                || page.headers()["content-type"] == "text/html; charset=utf-8",
            "{path}: {page:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_methods_paths_and_queries_are_rejected() {
    let keyward = Keyward::start_set_up().await;
    let api = PlainConsole::sign_in_owner(&keyward)
        .await
        .api_with_first_key()
        .await;

    let put = api
        .request(Method::PUT, "/user/api-keys")
        .send()
        .await
        .expect("an answer");
    let allow = put.headers()["allow"].to_str().expect("text").to_owned();
    assert_eq!(put.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert!(allow.contains("GET") && allow.contains("POST"), "{allow}");
    problem(
        api.request(Method::PUT, "/user/api-keys"),
        405,
        "method_not_allowed",
    )
    .await;
    problem(api.request(Method::GET, "/nothing"), 404, "not_found").await;

    for query in [
        "limit=0",
        "limit=101",
        "limit=ten",
        "status=dead",
        "cursor=garbage",
        "limit=1&limit=2",
        "serch=typo",
    ] {
        problem(
            api.request(Method::GET, &format!("/user/api-keys?{query}")),
            400,
            "malformed_query",
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_unknown_and_malformed_ids_get_identical_responses() {
    let keyward = Keyward::start_set_up().await;
    let ada = PlainConsole::sign_in_owner(&keyward)
        .await
        .api_with_first_key()
        .await;
    keyward
        .command(
            "admin create-user --username grace --password-stdin",
            "loud badgers draw charts",
        )
        .await;
    let grace = PlainConsole::sign_in(keyward.base_url(), "grace", "loud badgers draw charts")
        .await
        .api_with_first_key()
        .await;
    let foreign = text(&grace.get("/user/api-keys/current").await, "id").to_owned();

    for method in [Method::GET, Method::PATCH, Method::DELETE] {
        let mut answers = Vec::new();
        for id in [
            foreign.as_str(),
            "01890a5d-ac96-774b-bcce-b302099a8057",
            "not-an-id",
        ] {
            let mut request = ada.request(method.clone(), &format!("/user/api-keys/{id}"));
            if method == Method::PATCH {
                request = request.json(&json!({ "name": "mine now" }));
            }
            answers.push(without_request_id(problem(request, 404, "not_found").await));
        }
        assert!(
            answers.windows(2).all(|pair| pair[0] == pair[1]),
            "{method}: {answers:?}"
        );
    }
    let untouched = grace.get("/user/api-keys/current").await;
    assert_eq!(
        (text(&untouched, "name"), text(&untouched, "status")),
        ("first", "valid")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_credentials_of_every_kind_get_one_identical_response() {
    let keyward = Keyward::start_set_up().await;
    let console = PlainConsole::sign_in_owner(&keyward).await;
    let api = console.api_with_first_key().await;
    let token = api_token(&api).to_owned();
    let revoked = api.create("to be revoked", "").await;
    api.delete(text(&revoked, "id")).await;

    let anonymous = Api::anonymous(keyward.base_url());
    let absent = anonymous
        .request(Method::GET, "/user")
        .send()
        .await
        .expect("an answer");
    assert_eq!(absent.headers()["www-authenticate"], "Bearer");
    problem(
        anonymous.request(Method::GET, "/user"),
        401,
        "credentials_missing",
    )
    .await;
    let in_query = anonymous.request(Method::GET, &format!("/user?access_token={token}"));
    problem(in_query, 401, "credentials_missing").await;
    let in_cookie = anonymous
        .request(Method::GET, "/user")
        .header("cookie", console.cookie());
    problem(in_cookie, 401, "credentials_missing").await;

    let mut mistyped = token.clone();
    let last = mistyped.pop().expect("a token");
    mistyped.push(if last == '0' { '1' } else { '0' });
    let unknown = format!("kwp_{}2wjyrI", "0".repeat(32));
    let mut answers = Vec::new();
    for bad in [
        "",
        "x",
        &token[..20],
        &mistyped,
        &unknown,
        text(&revoked, "key"),
        &format!("{token}x"),
    ] {
        let request = || {
            anonymous
                .request(Method::GET, "/user")
                .header("authorization", format!("Bearer {bad}"))
        };
        let challenge = request().send().await.expect("an answer").headers()["www-authenticate"].clone();
        assert!(
            challenge
                .to_str()
                .expect("text")
                .contains("error=\"invalid_token\""),
            "{bad}: {challenge:?}"
        );
        answers.push(without_request_id(problem(request(), 401, "invalid_token").await));
    }
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");

    let lower_case = anonymous
        .request(Method::GET, "/user")
        .header("authorization", format!("bearer {token}"));
    assert_eq!(
        lower_case.send().await.expect("an answer").status(),
        StatusCode::OK
    );
    let twice = anonymous
        .request(Method::GET, "/user")
        .header("authorization", format!("Bearer {token}"))
        .header("authorization", format!("Bearer {token}"));
    problem(twice, 401, "invalid_token").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exceeding_the_key_limit_and_editing_revoked_keys_are_conflicts() {
    let keyward = Keyward::start_set_up_with(&["--key-limit", "2"]).await;
    let api = PlainConsole::sign_in_owner(&keyward)
        .await
        .api_with_first_key()
        .await;
    let second = api.create("second", "").await;
    let third = api
        .request(Method::POST, "/user/api-keys")
        .json(&json!({ "name": "third" }));
    problem(third, 409, "key_limit_reached").await;

    api.delete(text(&second, "id")).await;
    for edit in [json!({ "name": "back to life" }), json!({})] {
        let path = format!("/user/api-keys/{}", text(&second, "id"));
        problem(api.request(Method::PATCH, &path).json(&edit), 409, "key_revoked").await;
    }
    api.create("third", "").await;
}

fn api_token(api: &Api) -> &str {
    api.token().expect("a token")
}

mod raw {
    //! Requests that no HTTP library would send.

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use keyward_tests::keyward::Keyward;

    /// Sends a body in chunks, without its length.
    pub(super) async fn chunked_post(keyward: &Keyward, token: &str, body: &str) -> String {
        let chunk = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        post(keyward, token, "Transfer-Encoding: chunked", &chunk).await
    }

    /// Announces a body and sends only its beginning.
    pub(super) async fn half_a_post(keyward: &Keyward, token: &str) -> String {
        post(keyward, token, "Content-Length: 100", "{\"name\":").await
    }

    async fn post(keyward: &Keyward, token: &str, framing: &str, body: &str) -> String {
        let authority = keyward.authority();
        let mut stream = TcpStream::connect(authority).await.expect("a connection");
        let head = format!(
            "POST /api/v1/user/api-keys HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\n{framing}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.expect("the head is sent");
        // The server may answer, and close, before it has read everything.
        let _ = stream.write_all(body.as_bytes()).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }
}
