//! Expired records, as a server and `keyward clean-up` remove them.

use std::thread;
use std::time::{Duration, Instant};

use keyward_test_database::TestDatabase;
use rustix::process::Signal;
use serde_json::Value;
use tokio_postgres::NoTls;

use crate::browser::{cookie, create_key, sign_in};
use crate::keyward::Keyward;
use crate::place::{Place, pipe};
use crate::server::{Server, TIMEOUT};
use crate::setup::{PASSWORD, set_up};

/// Adds one record of each kind whose retention period is over, and one that ended recently. The period of
/// audit events is a year.
pub(crate) const OVER: &str = "
    UPDATE api_keys SET revoked_at = current_timestamp(3) - interval '91 days' WHERE name = 'outlived';
    UPDATE api_keys SET revoked_at = current_timestamp(3) - interval '89 days' WHERE name = 'recent';
    INSERT INTO invitations (id, organization_id, digest, invitee, role, invited_by_kind, created_at, expires_at,
        revoked_at)
    SELECT gen_random_uuid(), organizations.id, sha256(invitee::bytea), invitee, 'member', 'administrator',
        current_timestamp(3) - interval '40 days', current_timestamp(3) - interval '33 days', revoked_at
    FROM organizations, (VALUES
        ('outlived', current_timestamp(3) - interval '34 days'), ('recent', current_timestamp(3) - interval '29 days'))
        AS ended (invitee, revoked_at);
    INSERT INTO sessions (id, user_id, digest, started_at, last_seen_at, user_agent)
    SELECT gen_random_uuid(), users.id, sha256(agent::bytea), seen_at, seen_at, agent
    FROM users, (VALUES
        ('outlived', current_timestamp(3) - interval '37 hours'),
        ('recent', current_timestamp(3) - interval '35 hours'))
        AS expired (agent, seen_at);
    INSERT INTO sign_in_throttle (bucket, empty_at) VALUES
        (sha256('outlived'), current_timestamp(3) - interval '2 hours'),
        (sha256('recent'), current_timestamp(3) + interval '1 day');
    INSERT INTO audit_events (id, occurred_at, actor_kind, action, subject_kind, outcome, request_id)
    SELECT ('00000000-0000-7000-8000-' || lpad(day::text, 12, '0'))::uuid,
        current_timestamp(3) - interval '500 days' + day * interval '1 day',
        'administrator', 'setup_link.create', 'installation', 'success', 'outlived'
    FROM generate_series(1, 3) AS day;";

/// The server must not remove the records that `keyward clean-up` is to remove.
const KEEP_ALL: [&str; 3] = [
    "--keep-revoked-keys=36500",
    "--keep-ended-invitations=36500",
    "--keep-expired-sessions=36500",
];

const REMOVED: &str = "removed expired records";

/// Runs statements as the owner.
pub(crate) async fn sql(database: &TestDatabase, statements: &str) {
    let (client, connection) = tokio_postgres::connect(database.url(), NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    client.batch_execute(statements).await.unwrap();
    drop(client);
    connection.await.unwrap().unwrap();
}

/// The key that another one created which was outlived, as its holder sends it.
struct Heir {
    bearer: String,
    parent: Value,
}

impl Heir {
    fn keys(&self, server: &Server) -> Vec<Value> {
        let list = server.ask("GET", "/api/v1/user/api-keys?status=all", &[&self.bearer], "");
        list.json()["items"].as_array().unwrap().clone()
    }
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}")
}

/// An organization with many expired records. No server runs on it.
async fn aged() -> (Place, Heir) {
    let database = set_up().await;
    let mut server = Server::start(database.url(), &[]);
    let signed_in = sign_in(&server, "ada", PASSWORD);
    let [outlived, recent] = ["outlived", "recent"].map(|name| {
        let page = create_key(&server, cookie(&signed_in), name);
        let (_, token) = page.body.split_once("value=\"kwp_").unwrap();
        bearer(&format!("kwp_{}", token.split_once('"').unwrap().0))
    });
    let headers = [&outlived, "Content-Type: application/json"];
    let heir = server.ask("POST", "/api/v1/user/api-keys", &headers, r#"{"name":"heir"}"#);
    let heir = bearer(heir.json()["fullKey"].as_str().unwrap());
    let current = "/api/v1/user/api-keys/current";
    let parent = server.ask("GET", current, &[&heir], "").json()["createdByKeyId"].clone();
    for revoked in [&outlived, &recent] {
        assert_eq!(server.ask("DELETE", current, &[revoked], "").status, 204);
    }
    server.signal(Signal::TERM);
    server.ended();
    sql(&database, OVER).await;
    let heir = Heir { bearer: heir, parent };
    (Place::Server(database), heir)
}

/// The same on a server and in a file.
async fn aged_on_both(test: &str) -> [(Place, Heir); 2] {
    let (server, heir) = aged().await;
    let file = Place::file(test);
    pipe(&server, &file);
    let same = Heir {
        bearer: heir.bearer.clone(),
        parent: heir.parent.clone(),
    };
    [(server, heir), (file, same)]
}

/// A column of a table, where it says anything, sorted.
fn column(place: &Place, table: &str, column: &str) -> Vec<String> {
    let export = place.export();
    let rows = export
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut column: Vec<String> = rows
        .filter_map(|row| Some(row.get(table)?.get(column)?.as_str()?.to_owned()))
        .collect();
    column.sort();
    column
}

/// Checks which tables still have expired records, and the number of old audit events.
fn assert_left(place: &Place, names: &[&str], events: usize) {
    let with = |more: &'static str| [names, &[more]].concat();
    let mut keys = with("heir");
    keys.sort_unstable();
    assert_eq!(column(place, "api_keys", "name"), keys);
    assert_eq!(column(place, "invitations", "invitee"), names);
    assert_eq!(column(place, "sessions", "user_agent"), names);
    let old = column(place, "audit_events", "request_id");
    assert_eq!(old.iter().filter(|id| *id == "outlived").count(), events);
}

#[tokio::test]
async fn server_removes_only_expired_records() {
    for (place, heir) in aged_on_both("retention-server").await {
        assert_left(&place, &["outlived", "recent"], 3);
        let events_before = column(&place, "audit_events", "id").len();
        let mut server = place.serve(&["--keep-audit-events=365"]);
        let mut logged = Vec::new();
        while logged.last().is_none_or(|(kind, _)| kind != "audit events") {
            let event = server.event(REMOVED);
            logged.push((
                event["kind"].as_str().unwrap().to_owned(),
                event["removed"].clone(),
            ));
        }
        let expected = [
            ("dead keys", 1),
            ("ended invitations", 1),
            ("expired sessions", 1),
            ("empty throttle buckets", 1),
            ("audit events", 3),
        ];
        assert_eq!(
            logged,
            expected.map(|(kind, count)| (kind.to_owned(), count.into()))
        );

        assert_left(&place, &["recent"], 0);
        let events = column(&place, "audit_events", "id").len();
        assert_eq!(events, events_before - 3 + 1, "and it is in the audit log itself");
        assert!(column(&place, "audit_events", "action").contains(&"audit_log.remove_old".to_owned()));

        let keys = heir.keys(&server);
        let names: Vec<&Value> = keys.iter().map(|key| &key["name"]).collect();
        assert_eq!(names, ["heir", "recent"]);
        assert_eq!(
            keys[0]["createdByKeyId"], heir.parent,
            "it says still what it came from"
        );
        let signed_in = sign_in(&server, "ada", PASSWORD);
        let page = "/organizations/acme-sons/settings/api-keys?status=all";
        let page = server.ask("GET", page, &[&format!("Cookie: {}", cookie(&signed_in))], "");
        assert_eq!(page.status, 200, "{page:?}");
        assert!(page.body.contains("heir") && page.body.contains("recent"));
        assert!(!page.body.contains("outlived"));
    }
}

#[tokio::test]
async fn clean_up_beside_a_server_removes_expired_records_once() {
    for (place, heir) in aged_on_both("clean-up").await {
        let mut server = place.serve(&KEEP_ALL);
        assert_eq!(
            server.event(REMOVED)["kind"],
            "empty throttle buckets",
            "and no more"
        );
        assert_left(&place, &["outlived", "recent"], 3);

        let cleaned = place.keyward(&["clean-up"]).run();
        assert_eq!(
            cleaned.errors,
            "Removed 1 dead key.\nRemoved 1 ended invitation.\nRemoved 1 expired session.\n"
        );
        assert_eq!(cleaned.success(), "");
        assert_left(&place, &["recent"], 3);
        let names: Vec<Value> = heir.keys(&server).iter().map(|key| key["name"].clone()).collect();
        assert_eq!(names, ["heir", "recent"]);

        let with_events = ["clean-up", "--keep-audit-events=365"];
        let cleaned = place.keyward(&with_events).run();
        assert_eq!(cleaned.errors, "Removed 3 audit events.\n");
        assert_left(&place, &["recent"], 0);
        let again = place.keyward(&with_events).run();
        assert_eq!(
            again.errors,
            "Nothing was removed, because nothing is past its retention period or a server is already removing it.\n"
        );
        assert_eq!(again.success(), "");
    }
}

#[tokio::test]
async fn clean_up_trusts_a_jumped_clock_only_when_confirmed() {
    let (place, _) = aged().await;
    let Place::Server(database) = &place else {
        panic!("not on a server");
    };
    let last_look = "INSERT INTO retention_clock (only_row, believed_at)
        VALUES (true, current_timestamp(3) - interval '400 days')
        ON CONFLICT (only_row) DO UPDATE SET believed_at = EXCLUDED.believed_at";
    sql(database, last_look).await;
    let refused = place.keyward(&["clean-up"]).run();
    let sentence = refused.refusal();
    assert!(
        sentence.starts_with("nothing was removed: the clock shows ")
            && sentence.ends_with(
                "set it if it is wrong; if it is right, run `keyward clean-up --clock-is-right` once"
            ),
        "{sentence}"
    );
    assert_left(&place, &["outlived", "recent"], 3);
    let confirmed = place.keyward(&["clean-up", "--clock-is-right"]).run();
    assert!(
        confirmed
            .errors
            .starts_with("Confirmed this machine's clock for the PostgreSQL database keyward_"),
        "{confirmed:?}"
    );
    assert_left(&place, &["outlived", "recent"], 3);
    let next = place.keyward(&["clean-up"]).run();
    assert!(next.errors.starts_with("Removed 1 dead key.\n"), "{next:?}");
    assert_left(&place, &["recent"], 3);
}

#[tokio::test]
async fn two_servers_share_the_retention_work() {
    const MANY: &str = "
        INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_user_id,
            created_at, revoked_at, end_came_at, revoked_by_kind, revoked_reason)
        SELECT gen_random_uuid(), consumer_id, sha256(('key ' || number)::bytea), hint, 'outlived', '', '',
            created_by_user_id, created_at, revoked_at, end_came_at, 'administrator', 'administrator'
        FROM api_keys, generate_series(1, 2000) AS number WHERE name = 'outlived';
        INSERT INTO sessions (id, user_id, digest, started_at, last_seen_at, user_agent)
        SELECT gen_random_uuid(), user_id, sha256(('session ' || number)::bytea), started_at, last_seen_at, 'outlived'
        FROM sessions, generate_series(1, 2000) AS number WHERE user_agent = 'outlived';";
    let (place, heir) = aged().await;
    let Place::Server(database) = &place else {
        panic!("not on a server");
    };
    sql(database, MANY).await;
    let options = ["serve", "--listen=127.0.0.1:0", "--keep-audit-events=365"];
    let servers = [(); 2].map(|()| Server::spawn(place.keyward(&options)));
    let deadline = Instant::now() + TIMEOUT;
    let is_left = |table, named| column(&place, table, named).contains(&"outlived".to_owned());
    while [
        ("api_keys", "name"),
        ("sessions", "user_agent"),
        ("audit_events", "request_id"),
    ]
    .into_iter()
    .any(|(table, named)| is_left(table, named))
    {
        assert!(Instant::now() < deadline, "it is not removed");
        thread::sleep(Duration::from_millis(50));
    }
    assert_left(&place, &["recent"], 0);
    let [mut first, mut second] = servers;
    for server in [&mut first, &mut second] {
        server.signal(Signal::TERM);
        let (status, log) = server.ended();
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(!log.contains("\"WARN\"") && !log.contains("\"ERROR\""), "{log}");
    }
    let server = place.serve(&[]);
    assert_eq!(heir.keys(&server).len(), 2);
}

#[test]
fn invalid_retention_period_is_rejected_with_the_reason() {
    for command in ["serve", "clean-up"] {
        for (arguments, reason) in [
            (
                "--keep-revoked-keys=14",
                "15 to 36500: must be longer than a session",
            ),
            ("--keep-audit-events=29", "30 to 36500: events must remain"),
            ("--keep-ended-invitations=14", "15 to 36500"),
            ("--keep-expired-sessions=-1", "0 to 36500"),
        ] {
            let answer = Keyward::new(&[command, arguments]).run();
            assert_eq!(answer.code, Some(2), "{answer:?}");
            assert!(answer.errors.contains(reason), "{}", answer.errors);
        }
        let by_variable = Keyward::new(&[command]).variable("KEYWARD_KEEP_REVOKED_KEYS", "a while");
        let answer = by_variable.run();
        assert_eq!(answer.code, Some(2), "{answer:?}");
        assert!(
            answer.errors.contains("expected a number of days, 15"),
            "{answer:?}"
        );
    }
}
