//! Planned ends that come while servers run: every server refuses at the moment, and the audit log tells it once.

use std::process::Stdio;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::{Instant, timeout_at};

use crate::api::{Api, expect, text};
use crate::console::PlainConsole;
use crate::keyward::{Keyward, OWNER_PASSWORD, keyward};
use crate::storage::Storage;

/// Within what time the system tells that an end came; with a moment for the command that prints it.
const TOLD_WITHIN: Duration = Duration::from_secs(65);
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
async fn told(owner: &PlainConsole, action: &str, subject: &str) -> Vec<Value> {
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
async fn until_told(server: &Keyward, action: &str, subject: &str, deadline: Instant) {
    let mut following = keyward(server.storage())
        .args(["admin", "audit-log", "--follow", "--organization", "engines"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("keyward starts");
    let mut lines = BufReader::new(following.stdout.take().expect("standard output")).lines();
    let told = async {
        while let Some(line) = lines.next_line().await.expect("text") {
            let event: Value = serde_json::from_str(&line).expect("an event");
            if event["action"] == action && event["subject"]["id"] == subject {
                return;
            }
        }
        panic!("the audit log ended");
    };
    let told = timeout_at(deadline, told).await;
    assert!(told.is_ok(), "nothing tells {action} of {subject}");
}

async fn ends_come_once(servers: &[Keyward]) {
    let first = &servers[0];
    let create_user = "admin create-user --organization engines --username grace --password-stdin";
    first.command(create_user, MEMBER_PASSWORD).await;
    let owner = PlainConsole::sign_in_owner(first).await;
    let member = PlainConsole::sign_in(first.base_url(), "grace", MEMBER_PASSWORD).await;
    let api = member.api_with_first_key().await;

    let end = soon();
    let body = json!({"name": "planned", "expiresAt": end});
    let request = api.request(Method::POST, "/user/api-keys").json(&body);
    let created = expect(request.send().await.expect("an answer"), StatusCode::CREATED).await;
    works_until(end, text(&created, "key"), servers).await;
    let key_told_by = Instant::now() + TOLD_WITHIN;
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
    let membership_told_by = Instant::now() + TOLD_WITHIN;
    for server in servers {
        let rest = Api::anonymous(server.base_url()).with_token(&others[1]);
        assert!(!rest.is_accepted().await);
    }
    for (action, subject, told_by) in [
        ("api_key.expire", key, key_told_by),
        ("membership.expire", membership, membership_told_by),
    ] {
        until_told(first, action, subject, told_by).await;
        let told = told(&owner, action, subject).await;
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0]["actor"]["kind"], "system");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn planned_ends_come_once_at_two_servers_over_postgres() {
    let first = Keyward::start_set_up().await;
    let second = first.start_another().await;
    ends_come_once(&[first, second]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn planned_ends_come_once_at_one_server_over_sqlite() {
    let server = Keyward::start_on(Storage::embedded()).await;
    let bootstrap = "admin bootstrap --organization Engines --username ada --password-stdin";
    server.command(bootstrap, OWNER_PASSWORD).await;
    ends_come_once(&[server]).await;
}
