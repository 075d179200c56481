//! Reports of GitHub that are larger than other bodies, and strangers who pretend to send some.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::task::JoinSet;

use crate::answer::Answer;
use crate::github_leaks::{GITHUB, GitHub, IDENTIFIER, KEY, SIGNATURE, found};

/// How many bytes a body may have elsewhere.
const USUAL_BYTES: usize = 64 * 1024;

const STRANGER: &str = "192.0.2.1";

/// Reports of one address that are under way: all bytes of a usual body were sent, and one more.
struct Begun {
    rest: String,
    writers: Vec<OwnedWriteHalf>,
    answers: JoinSet<(usize, String)>,
}

impl Begun {
    /// The next that is answered, and the answer.
    async fn answer(&mut self) -> (usize, String) {
        self.answers.join_next().await.unwrap().unwrap()
    }

    /// Waits until this many are refused, and returns the number of one that is not.
    async fn until_refused(&mut self, count: usize) -> usize {
        let mut others: Vec<usize> = (0..self.writers.len()).collect();
        for _ in 0..count {
            let (refused, answer) = self.answer().await;
            assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
            others.retain(|number| *number != refused);
        }
        others[0]
    }

    async fn complete(&mut self, number: usize) -> String {
        let rest = self.rest.as_bytes();
        self.writers[number].write_all(rest).await.unwrap();
        let (answered, answer) = self.answer().await;
        assert_eq!(answered, number);
        answer
    }
}

impl GitHub {
    fn large_body(&self) -> String {
        let body = json!([found(&self.scene.ada.token)]).to_string();
        format!("{body}{}", " ".repeat(USUAL_BYTES))
    }

    async fn begin(&self, count: usize, from: &str) -> Begun {
        let body = self.large_body();
        let signature = self.signer.sign(&body);
        let head = format!(
            "POST {GITHUB} HTTP/1.1\r\nhost: a\r\nx-forwarded-for: {from}\r\ncontent-type: application/json\r\n\
             {KEY}: {IDENTIFIER}\r\n{SIGNATURE}: {signature}\r\n"
        );
        let (beginning, rest) = body.split_at(USUAL_BYTES + 1);
        let (mut writers, mut answers) = (Vec::new(), JoinSet::new());
        for number in 0..count {
            let stream = self.api.permitted(&head, body.len()).await;
            let (mut reader, mut writer) = stream.into_split();
            writer.write_all(beginning.as_bytes()).await.unwrap();
            writers.push(writer);
            answers.spawn(async move {
                let mut answer = Vec::new();
                // A refused client may be cut off.
                _ = reader.read_to_end(&mut answer).await;
                (number, String::from_utf8(answer).unwrap())
            });
        }
        Begun {
            rest: rest.to_owned(),
            writers,
            answers,
        }
    }

    async fn report_from(&self, body: &str, from: &str) -> Answer {
        let signature = self.signer.sign(body);
        let headers = [
            (KEY, IDENTIFIER),
            (SIGNATURE, &signature),
            ("x-forwarded-for", from),
        ];
        self.send(body, &headers).await
    }
}

#[tokio::test]
async fn slow_reports_of_one_address_leave_room_for_others() {
    let github = GitHub::new().await;
    let mut slow = github.begin(16, STRANGER).await;
    slow.until_refused(14).await;
    let body = github.large_body();
    let refused = github.report_from(&body, STRANGER).await;
    refused.refusal(503, "unavailable");
    github.report_from("[]", STRANGER).await.ok(200);
    github.report_from(&body, "192.0.2.2").await.ok(200);
}

#[tokio::test]
async fn sixteen_large_reports_at_once_leave_room_for_small_ones() {
    let github = GitHub::new().await;
    let mut held = Vec::new();
    for address in 1..=8 {
        let mut begun = github.begin(3, &format!("198.51.100.{address}")).await;
        let one = begun.until_refused(1).await;
        held.push((begun, one));
    }
    let body = github.large_body();
    let refused = github.report(&body).await;
    assert!(refused.header("retry-after").is_some());
    refused.refusal(503, "unavailable");
    github.report("[]").await.ok(200);

    let (mut begun, one) = held.remove(0);
    let answer = begun.complete(one).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    github.report(&body).await.ok(200);
}

#[tokio::test]
async fn report_that_does_not_arrive_counts_as_failed() {
    let github = GitHub::limited(|config| {
        config.deadlines.body = Duration::from_millis(100);
    })
    .await;
    let (_, answer) = github.begin(1, STRANGER).await.answer().await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    let unsigned = [("x-forwarded-for", STRANGER)];
    let refused = github.send("[]", &unsigned).await;
    refused.refusal(429, "rate_limited");
}

#[tokio::test]
async fn report_from_an_address_refused_lately_counts_once() {
    let seconds = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&seconds);
    let elapsed = move || Duration::from_secs(clock.load(Ordering::Relaxed));
    let github = GitHub::limited_by(Arc::new(elapsed), |_| ()).await;
    let unsigned = [("x-forwarded-for", STRANGER)];
    let refused = github.send("[]", &unsigned).await;
    refused.refusal(403, "invalid_signature");
    seconds.store(1, Ordering::Relaxed);
    let refused = github.send("[]", &unsigned).await;
    refused.refusal(429, "rate_limited");

    seconds.store(60, Ordering::Relaxed);
    let other = github.signer.sign("[]");
    let forged = [
        (KEY, IDENTIFIER),
        (SIGNATURE, &*other),
        ("x-forwarded-for", STRANGER),
    ];
    let refused = github.send(&github.large_body(), &forged).await;
    refused.refusal(403, "invalid_signature");
}

#[tokio::test]
async fn address_beyond_its_limit_gets_no_room() {
    let github = GitHub::limited(|_| ()).await;
    let unsigned = [("x-forwarded-for", STRANGER)];
    let refused = github.send("[]", &unsigned).await;
    refused.refusal(403, "invalid_signature");
    let body = github.large_body();
    github.report_from(&body, STRANGER).await.ok(200);
    let refused = github.send("[]", &unsigned).await;
    refused.refusal(429, "rate_limited");
    let refused = github.report_from(&body, STRANGER).await;
    refused.refusal(429, "rate_limited");
    github.report_from("[]", STRANGER).await.ok(200);
    github.report_from(&body, "192.0.2.2").await.ok(200);
}
