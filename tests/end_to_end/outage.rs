//! While the database is unavailable, no key is accepted and no answer is wrong; afterwards all works again
//! by itself.

use std::time::Instant;

use reqwest::{Method, Response, StatusCode};
use serde_json::json;

use keyward_tests::api::{Api, text};
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::{Keyward, TIMEOUT};

#[tokio::test(flavor = "multi_thread")]
async fn database_outage_is_503_for_everyone_and_recovers_automatically() {
    let keyward = Keyward::start_set_up().await;
    let console = PlainConsole::sign_in_owner(&keyward).await;
    let api = console.api_with_first_key().await;
    let unknown = api.with_token(&format!("kwp_{}2wjyrI", "0".repeat(32)));
    let malformed = api.with_token("kwp_malformed");

    let database = keyward.storage().as_postgres();
    database.refuse_connections().await.expect("an outage");
    database.terminate_connections().await.expect("an outage");

    for client in [&api, &unknown] {
        is_unavailable(
            client
                .request(Method::GET, "/user")
                .send()
                .await
                .expect("an answer"),
        )
        .await;
    }
    let create = api
        .request(Method::POST, "/user/api-keys")
        .json(&json!({ "name": "lost" }));
    is_unavailable(create.send().await.expect("an answer")).await;
    assert!(
        !malformed.is_accepted().await,
        "what needs no database is answered without it"
    );
    assert_eq!(status(&keyward, "/healthz").await, StatusCode::OK);
    assert_eq!(status(&keyward, "/readyz").await, StatusCode::SERVICE_UNAVAILABLE);

    database
        .accept_connections()
        .await
        .expect("the end of the outage");
    until_accepted(&api).await;
    let keys = api.list("?status=all").await;
    assert_eq!(
        keys["items"].as_array().map(Vec::len),
        Some(1),
        "nothing half made: {keys}"
    );
}

async fn is_unavailable(answer: Response) {
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.headers().contains_key("retry-after"));
    let problem: serde_json::Value = answer.json().await.expect("a problem");
    assert_eq!(text(&problem, "code"), "unavailable");
}

async fn status(keyward: &Keyward, path: &str) -> StatusCode {
    let address = format!("{}{path}", keyward.base_url());
    reqwest::get(address).await.expect("an answer").status()
}

async fn until_accepted(api: &Api) {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let answer = api.request(Method::GET, "/user").send().await.expect("an answer");
        if answer.status() == StatusCode::OK {
            return;
        }
        assert_eq!(
            answer.status(),
            StatusCode::SERVICE_UNAVAILABLE,
            "unsure is never 401"
        );
        assert!(Instant::now() < deadline, "it does not recover");
    }
}
