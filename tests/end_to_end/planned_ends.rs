//! Planned ends that come while servers run, those of rotated keys among them: every server refuses the key at that
//! time, and the audit log has one event.

use std::process::Stdio;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use futures_util::future::{join, join_all};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::{Instant, timeout, timeout_at};

use crate::introspection::introspection;
use keyward_tests::api::{Api, expect, text};
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::{Keyward, OWNER_PASSWORD, keyward};
use keyward_tests::storage::Storage;
use keyward_tests::verifiers::Verifier;

/// The time within which the end is in the audit log, with some time for the command that prints it.
const RECORDED_WITHIN: Duration = Duration::from_secs(65);
/// The time within which a key ends whose successor was used, likewise.
const USE_RECORDED_WITHIN: Duration = Duration::from_secs(125);
/// The time within which every server knows of a recorded change: its lease, and some time for the request.
const KNOWN_WITHIN: Duration = Duration::from_secs(6);
const MEMBER_PASSWORD: &str = "seven lamps burn low";

/// By the clock that the servers have, too.
#[expect(
    clippy::disallowed_methods,
    reason = "ends are compared with what real servers do"
)]
fn now() -> DateTime<Utc> {
    SystemTime::now().into()
}

/// A whole second that lies ahead, so far that everything before it can be asked.
fn soon() -> DateTime<Utc> {
    let at = now() + TimeDelta::seconds(6);
    at.duration_trunc(TimeDelta::seconds(1)).expect("a second")
}

/// Uses a key at all servers until all of them refuse it, which none does before this moment, nor accepts it after.
async fn works_until(end: DateTime<Utc>, token: &str, servers: &[Keyward]) {
    let clients = servers
        .iter()
        .map(|server| Api::anonymous(server.base_url()).with_token(token));
    let clients: Vec<Api> = clients.collect();
    for client in &clients {
        assert!(client.is_accepted().await, "it was over before it was asked");
    }
    let mut refusing = 0;
    while refusing < clients.len() {
        refusing = 0;
        for client in &clients {
            let asked = now();
            if client.is_accepted().await {
                assert!(asked < end, "accepted at {asked}, after {end}");
            } else {
                let answered = now();
                assert!(answered >= end, "refused at {answered}, before {end}");
                refusing += 1;
            }
        }
    }
}

/// The events of this action about this subject.
async fn recorded(owner: &PlainConsole, action: &str, subject: &str) -> Vec<Value> {
    let log = owner
        .get("/organizations/engines/settings/audit-log/export.jsonl")
        .await;
    let events = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("an event"));
    let is_it = |event: &Value| event["action"] == action && event["subject"]["id"] == subject;
    events.filter(is_it).collect()
}

/// Reads the organization's events from the first on, as `keyward admin audit-log --follow` prints them.
async fn until_recorded(server: &Keyward, action: &str, subject: &str, deadline: Instant) {
    let mut following = keyward(server.storage())
        .args(["admin", "audit-log", "--follow", "--organization", "engines"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("keyward starts");
    let mut lines = BufReader::new(following.stdout.take().expect("standard output")).lines();
    let recorded = async {
        while let Some(line) = lines.next_line().await.expect("text") {
            let event: Value = serde_json::from_str(&line).expect("an event");
            if event["action"] == action && event["subject"]["id"] == subject {
                return;
            }
        }
        panic!("the audit log ended");
    };
    let recorded = timeout_at(deadline, recorded).await;
    assert!(recorded.is_ok(), "nothing tells {action} of {subject}");
}

/// A key of its consumer, and its successor.
struct Rotated {
    old: Value,
    new: Value,
}

impl Rotated {
    async fn with(api: &Api, name: &str, body: &Value) -> Self {
        let old = api.create(name, "").await;
        let path = format!("/user/api-keys/{}/rotate", text(&old, "id"));
        let request = api.request(Method::POST, &path).json(body);
        let new = expect(request.send().await.expect("an answer"), StatusCode::CREATED).await;
        Self { old, new }
    }

    /// Uses the old key at all servers until each refuses it. Unlike a planned end, of which servers know beforehand, they
    /// learn of this one once it is recorded, which it is now.
    async fn until_old_is_refused(&self, servers: &[Keyward]) {
        let refused = join_all(servers.iter().map(|server| async move {
            let old = Api::anonymous(server.base_url()).with_token(text(&self.old, "key"));
            while old.is_accepted().await {}
        }));
        assert!(
            timeout(KNOWN_WITHIN, refused).await.is_ok(),
            "accepted {KNOWN_WITHIN:?} after its end was recorded"
        );
    }

    /// Whether each of the two is accepted by each of the servers, which must agree.
    async fn are_accepted(&self, servers: &[Keyward]) -> (bool, bool) {
        let mut answers = Vec::new();
        for server in servers {
            let [old, new] = [&self.old, &self.new]
                .map(|key| Api::anonymous(server.base_url()).with_token(text(key, "key")));
            answers.push((old.is_accepted().await, new.is_accepted().await));
        }
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
        answers[0]
    }
}

/// The first server knows the verifier.
async fn ends_come_once(servers: &[Keyward], verifier: &Verifier) {
    let first = &servers[0];
    let create_user = "admin create-user --organization engines --username grace --password-stdin";
    first.command(create_user, MEMBER_PASSWORD).await;
    let owner = PlainConsole::sign_in_owner(first).await;
    let member = PlainConsole::sign_in(first.base_url(), "grace", MEMBER_PASSWORD).await;
    let api = member.api_with_first_key().await;

    let owners = owner.api_with_first_key().await;
    let on_first_use = json!({"oldKeyEnds": "on_first_use"});
    let introspected = Rotated::with(&owners, "introspected", &on_first_use).await;
    let forwarded = Rotated::with(&owners, "forwarded", &on_first_use).await;
    for old in [&introspected.old, &forwarded.old] {
        let old = owners.with_token(text(old, "key"));
        assert!(old.is_accepted().await, "it ended before its successor was used");
    }
    let asked = introspection(verifier, first, text(&introspected.new, "key"));
    let known = expect(asked.send().await.expect("an answer"), StatusCode::OK).await;
    assert_eq!(known["active"], true);
    let gateway = Api::anonymous(servers[servers.len() - 1].base_url());
    let asked = gateway
        .with_token(text(&forwarded.new, "key"))
        .request(Method::GET, "/auth");
    assert_eq!(asked.send().await.expect("an answer").status(), StatusCode::OK);
    let use_recorded_by = Instant::now() + USE_RECORDED_WITHIN;

    let graced = Rotated::with(&owners, "graced", &json!({"graceSeconds": 6})).await;
    let item = owners
        .get(&format!("/user/api-keys/{}", text(&graced.old, "id")))
        .await;
    let end_of_grace = text(&item, "expiresAt").parse().expect("a time");
    let end = soon();
    let body = json!({"name": "planned", "expiresAt": end});
    let request = api.request(Method::POST, "/user/api-keys").json(&body);
    let created = expect(request.send().await.expect("an answer"), StatusCode::CREATED).await;
    join(
        works_until(end, text(&created, "key"), servers),
        works_until(end_of_grace, text(&graced.old, "key"), servers),
    )
    .await;
    let key_recorded_by = Instant::now() + RECORDED_WITHIN;
    let key = text(&created, "id");
    let item = api.get(&format!("/user/api-keys/{key}")).await;
    assert_eq!(
        (&item["status"], &item["revokedReason"]),
        (&json!("revoked"), &json!("expired"))
    );

    let user = api.get("/user").await;
    let membership = text(&user, "consumerId");
    let others = [
        text(&api.create("second", "").await, "key").to_owned(),
        api.token().expect("a token").to_owned(),
    ];
    let end = soon();
    let at = end.format("%Y-%m-%dT%H:%M:%S").to_string();
    let form = format!("/organizations/engines/settings/members/{membership}/expiration");
    owner
        .submit(&form, &[("expiration", "at"), ("expires_at", &at)])
        .await;
    for token in &others {
        let asked = Api::anonymous(first.base_url()).with_token(token);
        if now() < end {
            let item = asked.get("/user/api-keys/current").await;
            assert_eq!(item["expiresSoon"], true);
        }
    }
    works_until(end, &others[0], servers).await;
    let membership_recorded_by = Instant::now() + RECORDED_WITHIN;
    for server in servers {
        let rest = Api::anonymous(server.base_url()).with_token(&others[1]);
        assert!(!rest.is_accepted().await);
    }
    for (action, subject, recorded_by, rotated) in [
        ("api_key.expire", key, key_recorded_by, None),
        (
            "api_key.expire",
            text(&graced.old, "id"),
            key_recorded_by,
            Some(&graced),
        ),
        ("membership.expire", membership, membership_recorded_by, None),
        (
            "api_key.revoke",
            text(&introspected.old, "id"),
            use_recorded_by,
            Some(&introspected),
        ),
        (
            "api_key.revoke",
            text(&forwarded.old, "id"),
            use_recorded_by,
            Some(&forwarded),
        ),
    ] {
        until_recorded(first, action, subject, recorded_by).await;
        if let Some(rotated) = rotated {
            rotated.until_old_is_refused(servers).await;
        }
        let recorded = recorded(&owner, action, subject).await;
        assert_eq!(recorded.len(), 1, "{recorded:?}");
        assert_eq!(recorded[0]["actor"]["kind"], "system");
    }
    for rotated in [introspected, forwarded, graced] {
        assert_eq!(rotated.are_accepted(servers).await, (false, true));
        let old = owners
            .get(&format!("/user/api-keys/{}", text(&rotated.old, "id")))
            .await;
        assert_eq!(
            (&old["status"], &old["revokedReason"], &old["rotatedToId"]),
            (&json!("revoked"), &json!("rotation"), &rotated.new["id"])
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn planned_ends_come_once_at_two_servers_over_postgres() {
    let verifier = Verifier::create("orders-service").await;
    let first = Keyward::start_set_up_with(&[&verifier.option()]).await;
    let second = first.start_another().await;
    ends_come_once(&[first, second], &verifier).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn planned_ends_come_once_at_one_server_over_sqlite() {
    let verifier = Verifier::create("orders-service").await;
    let server = Keyward::serve(Storage::embedded(), &[&verifier.option()]).await;
    let bootstrap = "admin bootstrap --organization Engines --username ada --password-stdin";
    server.command(bootstrap, OWNER_PASSWORD).await;
    ends_come_once(&[server], &verifier).await;
}
