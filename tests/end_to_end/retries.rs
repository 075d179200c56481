//! A request to create a key that is sent again creates no second one, whatever became of the server and the answer.

use std::collections::BTreeMap;

use futures_util::future::join;
use futures_util::{StreamExt, stream};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::api::{Api, text};
use crate::console::PlainConsole;
use crate::keyward::{Keyward, OWNER_PASSWORD};
use crate::storage::Storage;

/// Fewer than the keys and the changes at once that a person may have.
const REQUESTS: usize = 80;

/// How many requests are sent at once.
const AT_ONCE: usize = 16;

/// So many answers arrive before the server is killed: with as many on their way, and more to come.
const ANSWERS: usize = 20;

#[tokio::test(flavor = "multi_thread")]
async fn retries_after_kill_create_each_key_once_on_postgres() {
    survives_a_kill(Storage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_after_kill_create_each_key_once_on_sqlite() {
    survives_a_kill(Storage::embedded()).await;
}

/// Each request is sent twice at about the same time, as a client does whose patience is too short.
async fn survives_a_kill(storage: Storage) {
    let keyward = Keyward::start_on(storage).await;
    let bootstrap = "admin bootstrap --organization Engines --username ada --password-stdin";
    keyward.command(bootstrap, OWNER_PASSWORD).await;
    let owner = PlainConsole::sign_in_owner(&keyward).await;
    let api = owner.api_with_first_key().await;

    let (answered, mut answers) = mpsc::unbounded_channel();
    let load = tokio::spawn({
        let api = api.clone();
        let requests = (0..REQUESTS).flat_map(|number| [number, number]);
        let sent = requests.map(move |number| {
            let (api, answered) = (api.clone(), answered.clone());
            async move {
                let answer = create(&api, number).await;
                let is_answered = answer.is_some();
                if let Some((status, body)) = answer {
                    assert!(
                        matches!(status, StatusCode::CREATED | StatusCode::CONFLICT),
                        "{status}: {body}"
                    );
                    let _ = answered.send(());
                }
                is_answered
            }
        });
        let sent = stream::iter(sent).buffer_unordered(AT_ONCE);
        sent.filter(|is_answered| std::future::ready(!is_answered))
            .count()
    });
    for _ in 0..ANSWERS {
        answers.recv().await.expect("an answer");
    }
    let keyward = keyward.kill_and_restart().await;
    let unanswered = load.await.expect("all requests are sent");
    assert!(unanswered > 0, "the server was killed when it had answered all");

    let api = Api::anonymous(keyward.base_url()).with_token(api.token().expect("a token"));
    let mut created = 0;
    for number in 0..REQUESTS {
        let (status, body) = create(&api, number).await.expect("an answer");
        match status {
            StatusCode::CREATED => created += 1,
            _ => assert_eq!(text(&body, "code"), "already_created", "{body}"),
        }
    }
    assert!(created > 0, "all keys had been created before the retries");

    let by_name = keys_by_name(&api).await;
    for number in 0..REQUESTS {
        let keys = by_name.get(&name(number)).map(Vec::as_slice);
        let Some([key]) = keys else {
            panic!("one key for request {number}, not {keys:?}")
        };
        let (status, again) = create(&api, number).await.expect("an answer");
        assert_eq!(status, StatusCode::CONFLICT, "{again}");
        assert_eq!(
            (&again["id"], &again["hint"]),
            (&key["id"], &key["hint"]),
            "{number}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn same_request_at_two_servers_creates_one_key() {
    let first = Keyward::start_set_up().await;
    let second = first.start_another().await;
    let at_first = PlainConsole::sign_in_owner(&first)
        .await
        .api_with_first_key()
        .await;
    let at_second = Api::anonymous(second.base_url()).with_token(at_first.token().expect("a token"));
    for number in 0..20 {
        let (one, other) = join(create(&at_first, number), create(&at_second, number)).await;
        let both = [one, other].map(|answer| answer.expect("an answer"));
        let statuses = both.each_ref().map(|(status, _)| *status);
        let is_one = matches!(
            statuses,
            [StatusCode::CREATED, StatusCode::CONFLICT] | [StatusCode::CONFLICT, StatusCode::CREATED]
        );
        assert!(is_one, "{both:?}");
        assert_eq!(both[0].1["id"], both[1].1["id"], "{both:?}");
    }
    let by_name = keys_by_name(&at_second).await;
    for number in 0..20 {
        assert_eq!(by_name.get(&name(number)).map(Vec::len), Some(1), "{number}");
    }
}

fn name(number: usize) -> String {
    format!("key {number}")
}

/// Asks for the key of this number; nothing if no answer came.
async fn create(api: &Api, number: usize) -> Option<(StatusCode, Value)> {
    let request = api
        .request(Method::POST, "/user/api-keys")
        .header("Idempotency-Key", format!("request-{number}"))
        .json(&json!({ "name": name(number) }));
    let answer = request.send().await.ok()?;
    let status = answer.status();
    Some((status, answer.json().await.ok()?))
}

async fn keys_by_name(api: &Api) -> BTreeMap<String, Vec<Value>> {
    let page = api.list("?status=all&limit=100").await;
    assert!(page.get("nextCursor").is_none(), "there are more keys");
    let mut by_name: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for key in page["items"].as_array().expect("a list") {
        by_name
            .entry(text(key, "name").to_owned())
            .or_default()
            .push(key.clone());
    }
    by_name
}
