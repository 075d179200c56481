//! A repeated request to create or to rotate a key makes no second one, even if the server or the answer was lost.

use std::collections::BTreeMap;

use futures_util::future::join;
use futures_util::{StreamExt, stream};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use keyward_tests::api::{Api, text};
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::{Keyward, OWNER_PASSWORD};
use keyward_tests::storage::Storage;

/// Fewer than the keys and the changes at once that a person may have.
const CREATIONS: usize = 80;

/// The number of rotations; as many keys are created first.
const ROTATIONS: usize = 40;

/// How many requests are sent at once.
const AT_ONCE: usize = 16;

/// The server is killed after one in this many answers, while others are on their way.
const KILLED_AFTER_ONE_IN: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn retries_after_kill_create_each_key_once_on_postgres() {
    creations_survive_a_kill(Storage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_after_kill_create_each_key_once_on_sqlite() {
    creations_survive_a_kill(Storage::embedded()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_after_kill_rotate_each_key_once_on_postgres() {
    rotations_survive_a_kill(Storage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_after_kill_rotate_each_key_once_on_sqlite() {
    rotations_survive_a_kill(Storage::embedded()).await;
}

async fn creations_survive_a_kill(storage: Storage) {
    let (keyward, api) = with_first_key(storage).await;
    let requests: Vec<_> = (0..CREATIONS).map(Request::Create).collect();
    let (_keyward, api) = killed_under(keyward, api, &requests).await;
    let made = repeated(&api, &requests).await;
    let by_name = keys_by(&api, "name").await;
    for (number, made) in made.iter().enumerate() {
        assert_only_key(by_name.get(&name(number)), made);
    }
}

async fn rotations_survive_a_kill(storage: Storage) {
    let (keyward, api) = with_first_key(storage).await;
    let mut old = Vec::new();
    for number in 0..ROTATIONS {
        old.push(text(&api.create(&name(number), "").await, "id").to_owned());
    }
    let requests: Vec<_> = old.iter().cloned().map(Request::Rotate).collect();
    let (_keyward, api) = killed_under(keyward, api, &requests).await;
    let made = repeated(&api, &requests).await;
    let successors = keys_by(&api, "rotatedFromId").await;
    for (old, made) in old.iter().zip(&made) {
        assert_only_key(successors.get(old), made);
    }
}

/// A server with one owner, and a client with their first key.
async fn with_first_key(storage: Storage) -> (Keyward, Api) {
    let keyward = Keyward::start_on(storage).await;
    let bootstrap = "admin bootstrap --organization Engines --username ada --password-stdin";
    keyward.command(bootstrap, OWNER_PASSWORD).await;
    let owner = PlainConsole::sign_in_owner(&keyward).await;
    let api = owner.api_with_first_key().await;
    (keyward, api)
}

/// Kills the server while the requests are sent, and starts it again. Each is sent twice at about the
/// same time, as by a client whose timeout is too short.
async fn killed_under(keyward: Keyward, api: Api, requests: &[Request]) -> (Keyward, Api) {
    let (answered, mut answers) = mpsc::unbounded_channel();
    let load = tokio::spawn({
        let api = api.clone();
        let twice: Vec<Request> = requests
            .iter()
            .flat_map(|request| [request, request])
            .cloned()
            .collect();
        let sent = twice.into_iter().map(move |request| {
            let (api, answered) = (api.clone(), answered.clone());
            async move {
                let answer = request.send(&api).await;
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
    for _ in 0..2 * requests.len() / KILLED_AFTER_ONE_IN {
        answers.recv().await.expect("an answer");
    }
    let keyward = keyward.kill_and_restart().await;
    let unanswered = load.await.expect("all requests are sent");
    assert!(unanswered > 0, "the server was killed when it had answered all");
    let api = Api::anonymous(keyward.base_url()).with_token(api.token().expect("a token"));
    (keyward, api)
}

/// Sends each request until it was answered twice more; returns the keys that the last answers name.
async fn repeated(api: &Api, requests: &[Request]) -> Vec<Value> {
    let mut created = 0;
    for request in requests {
        let (status, body) = request.send(api).await.expect("an answer");
        match status {
            StatusCode::CREATED => created += 1,
            _ => assert_eq!(text(&body, "code"), "already_created", "{body}"),
        }
    }
    assert!(created > 0, "all keys had been created before the retries");
    let mut made = Vec::new();
    for request in requests {
        let (status, again) = request.send(api).await.expect("an answer");
        assert_eq!(status, StatusCode::CONFLICT, "{again}");
        made.push(again);
    }
    made
}

/// Asserts that these are one key, the one that the answer to a repeated request names.
fn assert_only_key(keys: Option<&Vec<Value>>, made: &Value) {
    let Some([key]) = keys.map(Vec::as_slice) else {
        panic!("one key, not {keys:?}")
    };
    assert_eq!((&made["id"], &made["hint"]), (&key["id"], &key["hint"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn same_request_at_two_servers_makes_one_key() {
    let first = Keyward::start_set_up().await;
    let second = first.start_another().await;
    let at_first = PlainConsole::sign_in_owner(&first)
        .await
        .api_with_first_key()
        .await;
    let at_second = Api::anonymous(second.base_url()).with_token(at_first.token().expect("a token"));
    for number in 0..20 {
        let creation = Request::Create(number);
        let created = made_once(&creation, &at_first, &at_second).await;
        let rotation = Request::Rotate(text(&created, "id").to_owned());
        made_once(&rotation, &at_first, &at_second).await;
    }
    let by_name = keys_by(&at_second, "name").await;
    for number in 0..20 {
        // One and its successor.
        assert_eq!(by_name.get(&name(number)).map(Vec::len), Some(2), "{number}");
    }
}

/// Sends a request to two servers at once; returns the key that one of them made.
async fn made_once(request: &Request, at_first: &Api, at_second: &Api) -> Value {
    let (one, other) = join(
        request.send_until_done(at_first),
        request.send_until_done(at_second),
    )
    .await;
    let both = [one, other];
    let statuses = both.each_ref().map(|(status, _)| *status);
    let is_one = matches!(
        statuses,
        [StatusCode::CREATED, StatusCode::CONFLICT] | [StatusCode::CONFLICT, StatusCode::CREATED]
    );
    assert!(is_one, "{both:?}");
    assert_eq!(both[0].1["id"], both[1].1["id"], "{both:?}");
    let [(_, made), _] = both;
    made
}

fn name(number: usize) -> String {
    format!("key {number}")
}

/// A request that makes a key, with an idempotency key of its own.
#[derive(Clone)]
enum Request {
    /// The number is in the key's name.
    Create(usize),
    /// The identifier of the key to rotate.
    Rotate(String),
}

impl Request {
    /// The answer once no server handles the request any more.
    async fn send_until_done(&self, api: &Api) -> (StatusCode, Value) {
        loop {
            let (status, body) = self.send(api).await.expect("an answer");
            if body["code"] != "in_progress" {
                return (status, body);
            }
            assert_eq!(status, StatusCode::CONFLICT, "{body}");
        }
    }

    /// The answer, if one came.
    async fn send(&self, api: &Api) -> Option<(StatusCode, Value)> {
        let (path, idempotency_key, body) = match self {
            Self::Create(number) => (
                "/user/api-keys".to_owned(),
                format!("request-{number}"),
                json!({ "name": name(*number) }),
            ),
            Self::Rotate(id) => (
                format!("/user/api-keys/{id}/rotate"),
                format!("rotation-of-{id}"),
                json!({}),
            ),
        };
        let request = api
            .request(Method::POST, &path)
            .header("Idempotency-Key", idempotency_key)
            .json(&body);
        let answer = request.send().await.ok()?;
        let status = answer.status();
        Some((status, answer.json().await.ok()?))
    }
}

/// All keys that have this member, by it.
async fn keys_by(api: &Api, member: &str) -> BTreeMap<String, Vec<Value>> {
    let page = api.list("?status=all&limit=100").await;
    assert!(page.get("nextCursor").is_none(), "there are more keys");
    let mut keys: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for key in page["items"].as_array().expect("a list") {
        if let Some(value) = key[member].as_str() {
            keys.entry(value.to_owned()).or_default().push(key.clone());
        }
    }
    keys
}
