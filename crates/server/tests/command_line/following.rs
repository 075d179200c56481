//! The audit log in the order of commits, as programs follow it.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use keyward_test_database::TestDatabase;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::browser::{cookie, create_key, sign_in};
use crate::keyward::Keyward;
use crate::place::{Place, pipe};
use crate::server::TIMEOUT;
use crate::setup::{PASSWORD, bootstrap};
use crate::two_roles::run;

/// A running `keyward admin audit-log --follow`, and its output.
struct Following {
    process: Child,
    lines: Receiver<String>,
    complaints: Receiver<String>,
}

impl Following {
    fn start(place: &Place, options: &[&str]) -> Self {
        Self::of(place.keyward(&[&["admin", "audit-log", "--follow"], options].concat()))
    }

    fn of(keyward: Keyward) -> Self {
        let (mut following, output) = Self::of_unread(keyward);
        following.lines = lines_of(output);
        following
    }

    /// The same, with a reader that does not read.
    fn start_unread(place: &Place, options: &[&str]) -> (Self, ChildStdout) {
        Self::of_unread(place.keyward(&[&["admin", "audit-log", "--follow"], options].concat()))
    }

    fn of_unread(keyward: Keyward) -> (Self, ChildStdout) {
        let mut process = keyward
            .into_command()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = process.stdout.take().unwrap();
        let complaints = lines_of(process.stderr.take().unwrap());
        let (_, lines) = channel();
        let following = Self {
            process,
            lines,
            complaints,
        };
        (following, output)
    }

    fn next(&self) -> Value {
        let line = self.lines.recv_timeout(TIMEOUT).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Up to the first event with this action, that one included.
    fn until(&self, action: &str) -> Vec<Value> {
        let mut events = Vec::new();
        while events
            .last()
            .is_none_or(|event: &Value| event["action"] != action)
        {
            events.push(self.next());
        }
        events
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    /// Its exit status and last line, if it ended by itself.
    fn ended_by_itself(mut self) -> (Option<i32>, String) {
        let mut last = String::new();
        loop {
            match self.complaints.recv_timeout(TIMEOUT) {
                Ok(complaint) => last = complaint,
                Err(RecvTimeoutError::Disconnected) => return (self.process.wait().unwrap().code(), last),
                Err(RecvTimeoutError::Timeout) => panic!("it waits on: {last}"),
            }
        }
    }

    /// Its exit status and messages.
    fn ended(mut self) -> (Option<i32>, Vec<String>) {
        let complaints = self.complaints.iter().collect();
        (self.process.wait().unwrap().code(), complaints)
    }
}

fn lines_of(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    lines
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn places(test: &str) -> [Place; 2] {
    let places = [Place::file(test), Place::server().await];
    for place in &places {
        place.bootstrap();
    }
    places
}

/// All events, in the order of commits.
fn printed(place: &Place, options: &[&str]) -> Vec<Value> {
    let lines = place
        .keyward(&[&["admin", "audit-log"], options].concat())
        .run()
        .success();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn position(event: &Value) -> &str {
    event["position"].as_str().unwrap()
}

fn actions(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["action"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn killed_follower_resumes_without_loss_or_repetition() {
    for place in places("following").await {
        let server = place.serve(&[]);
        let first = Following::start(&place, &["--all"]);
        let signed_in = sign_in(&server, "ada", PASSWORD);
        let mut events = first.until("session.sign_in");
        first.signal(Signal::KILL);
        drop(first);

        create_key(&server, cookie(&signed_in), "laptop");
        let after = format!("--after={}", position(events.last().unwrap()));
        let second = Following::start(&place, &["--all", &after]);
        events.extend(second.until("api_key.create"));
        create_key(&server, cookie(&signed_in), "phone");
        events.extend(second.until("api_key.create"));

        let all = printed(&place, &["--all", "--after=start"]);
        assert_eq!(events, all[..events.len()]);
        let exports: Vec<&str> = actions(&events)
            .into_iter()
            .filter(|action| *action == "audit_log.export")
            .collect();
        assert_eq!(exports.len(), 2, "each that follows is told in the log");
    }
}

#[tokio::test]
async fn each_log_is_followed_alone_or_with_all_others() {
    for place in places("following-one").await {
        let server = place.serve(&[]);
        let signed_in = sign_in(&server, "ada", PASSWORD);
        create_key(&server, cookie(&signed_in), "laptop");

        let of_acme = Following::start(&place, &["--organization=acme-sons"]);
        let events = of_acme.until("api_key.create");
        assert!(
            events
                .iter()
                .all(|event| event["organization"]["name"] == "Acme & Sons"),
            "{events:?}"
        );
        assert_eq!(events.len(), 5, "{events:?}");

        let of_installation = printed(&place, &["--after=start"]);
        assert!(
            of_installation
                .iter()
                .all(|event| event.get("organization").is_none())
        );
        assert_eq!(actions(&of_installation), ["session.sign_in"]);

        let all = printed(&place, &["--after=start", "--all"]);
        assert_eq!(all.len(), 8, "{all:?}");
        let since = printed(&place, &["--after=start", "--all", "--since=2999-01-01"]);
        assert_eq!(since, [] as [Value; 0]);
        assert_eq!(printed(&place, &["--after=end", "--all"]), [] as [Value; 0]);
    }
}

#[tokio::test]
async fn follower_ends_on_signal_or_closed_output() {
    for place in places("following-ends").await {
        for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
            let following = Following::start(&place, &["--organization=acme-sons"]);
            following.until("membership.create");
            following.signal(signal);
            assert_eq!(following.ended(), (Some(0), Vec::new()));
        }
        let (following, output) = Following::start_unread(&place, &["--organization=acme-sons"]);
        let mut output = BufReader::new(output);
        output.read_line(&mut String::new()).unwrap();
        drop(output);
        // Though nothing more happens there.
        assert_eq!(following.ended(), (Some(0), Vec::new()));
    }
}

async fn client(database: &TestDatabase) -> tokio_postgres::Client {
    let connecting = tokio_postgres::connect(database.url(), tokio_postgres::NoTls);
    let (client, connection) = connecting.await.unwrap();
    tokio::spawn(connection);
    client
}

#[tokio::test]
async fn follower_ends_on_signal_despite_a_stalled_reader() {
    let place = Place::server().await;
    place.bootstrap();
    let Place::Server(database) = &place else {
        panic!("a server")
    };
    // More than a pipe holds.
    let events = "INSERT INTO audit_events (id, occurred_at, actor_kind, action, subject_kind, outcome)
                  SELECT gen_random_uuid(), now(), 'anonymous', 'session.sign_in', 'installation', 'refused'
                  FROM generate_series(1, 900)";
    client(database).await.batch_execute(events).await.unwrap();
    let (following, output) = Following::start_unread(&place, &[]);
    let mut output = BufReader::new(output);
    output.read_line(&mut String::new()).unwrap();
    following.signal(Signal::TERM);
    assert_eq!(following.ended(), (Some(0), Vec::new()));
}

#[tokio::test]
async fn follower_waits_for_an_unavailable_database_with_one_notice() {
    let place = Place::server().await;
    place.bootstrap();
    let Place::Server(database) = &place else {
        panic!("a server")
    };
    let following = Following::start(&place, &["--all"]);
    let before = following.until("audit_log.export");
    database.refuse_connections().await.unwrap();
    let complaint = following.complaints.recv_timeout(TIMEOUT).unwrap();
    assert!(complaint.contains("waiting for the database"), "{complaint}");
    database.accept_connections().await.unwrap();
    let reset = ["admin", "reset-password", "--username=ada", "--generate-password"];
    place.keyward(&reset).run().success();
    assert_eq!(
        actions(&following.until("user.reset_password")),
        ["user.reset_password"]
    );
    following.signal(Signal::TERM);
    assert_eq!(following.ended(), (Some(0), Vec::new()));
    assert_eq!(before.len(), 4, "{before:?}");
}

#[tokio::test]
async fn follower_starts_waiting_for_an_unavailable_database() {
    let place = Place::server().await;
    place.bootstrap();
    let Place::Server(database) = &place else {
        panic!("a server")
    };
    database.refuse_connections().await.unwrap();
    let following = Following::start(&place, &["--organization=acme-sons"]);
    let complaint = following.complaints.recv_timeout(TIMEOUT).unwrap();
    assert!(complaint.contains("waiting for the database"), "{complaint}");
    // Longer than other commands wait.
    let more = following.complaints.recv_timeout(Duration::from_secs(7));
    assert!(more.is_err(), "{more:?}");
    database.accept_connections().await.unwrap();
    following.until("membership.create");
    following.signal(Signal::TERM);
    assert_eq!(following.ended(), (Some(0), Vec::new()));
}

#[tokio::test]
async fn follower_refused_by_the_database_ends_with_the_reason() {
    let database = TestDatabase::empty().await.unwrap();
    let (server, _) = database.url().split_once(database.name()).unwrap();
    let refused = Keyward::new(&["admin", "audit-log", "--follow"])
        .database(&format!("{server}keyward_that_is_not_there"))
        .run();
    let reason =
        "the database does not exist (create it, or check the name at the end of the database URL): ";
    assert!(refused.refusal().starts_with(reason), "{refused:?}");
}

#[tokio::test]
async fn follower_ends_with_the_reason_when_its_database_is_dropped() {
    let place = Place::server().await;
    place.bootstrap();
    let Place::Server(database) = &place else {
        panic!("a server")
    };
    let following = Following::start(&place, &["--all"]);
    following.until("audit_log.export");
    let other = TestDatabase::empty().await.unwrap();
    let drop = format!("DROP DATABASE {} WITH (FORCE)", database.name());
    run(other.url(), &drop).await.unwrap();
    let (code, complaint) = following.ended_by_itself();
    let reason =
        "the database does not exist (create it, or check the name at the end of the database URL): ";
    assert_eq!(code, Some(1), "{complaint}");
    assert!(complaint.contains(reason), "{complaint}");
}

/// A database that belongs to a role which may be locked out.
struct OwnRole {
    database: TestDatabase,
    name: String,
}

impl OwnRole {
    async fn new() -> Self {
        let database = TestDatabase::empty().await.unwrap();
        let name = format!("{}_follows", database.name());
        let role = Self { database, name };
        let OwnRole { database, name } = &role;
        role.run(&format!("CREATE ROLE {name} LOGIN PASSWORD 's3cret'"))
            .await;
        role.run(&format!("ALTER DATABASE {} OWNER TO {name}", database.name()))
            .await;
        role
    }

    async fn run(&self, statements: &str) {
        run(self.database.url(), statements).await.unwrap();
    }

    /// By way of these servers besides the database's own.
    fn url(&self, others: &str) -> String {
        let (_, server_and_name) = self.database.url().rsplit_once('@').unwrap();
        format!("postgres://{}:s3cret@{others}{server_and_name}", self.name)
    }

    fn follow(&self, others: &str) -> Following {
        let follow = Keyward::new(&["admin", "audit-log", "--follow", "--all"]);
        let following = Following::of(follow.database(&self.url(others)));
        following.until("audit_log.export");
        following
    }

    async fn lock_out(&self) {
        self.run(&format!("ALTER ROLE {} NOLOGIN", self.name)).await;
        self.database.terminate_connections().await.unwrap();
    }

    async fn remove(self) {
        let name = &self.name;
        self.run(&format!(
            "REASSIGN OWNED BY {name} TO CURRENT_USER; DROP OWNED BY {name}; DROP ROLE {name}"
        ))
        .await;
    }
}

#[tokio::test]
async fn follower_ends_with_the_reason_when_its_role_loses_login() {
    let role = OwnRole::new().await;
    bootstrap(&role.url("")).success();
    let following = role.follow("");
    role.lock_out().await;
    let (code, complaint) = following.ended_by_itself();
    let reason = "the database server refuses the user or password (check both in the database URL): ";
    assert_eq!(code, Some(1), "{complaint}");
    assert!(complaint.contains(reason), "{complaint}");
    role.remove().await;
}

#[tokio::test]
async fn follower_waits_when_one_server_refuses_and_another_is_unreachable() {
    let role = OwnRole::new().await;
    bootstrap(&role.url("")).success();
    let following = role.follow("127.0.0.1:1,");
    role.lock_out().await;
    let complaint = following.complaints.recv_timeout(TIMEOUT).unwrap();
    assert!(complaint.contains("waiting for the database"), "{complaint}");
    role.run(&format!("ALTER ROLE {} LOGIN", role.name)).await;
    let reset = ["admin", "reset-password", "--username=ada", "--generate-password"];
    Keyward::new(&reset).database(&role.url("")).run().success();
    following.until("user.reset_password");
    following.signal(Signal::TERM);
    assert_eq!(following.ended(), (Some(0), Vec::new()));
    role.remove().await;
}

#[tokio::test]
async fn position_is_valid_after_import_but_not_in_another_database() {
    let [from, other] = places("following-moved").await;
    let events = printed(&from, &["--after=start", "--all"]);
    let (read, unread) = (position(&events[0]), position(&events[1]));
    let to = Place::server().await;
    pipe(&from, &to);
    let after = format!("--after={read}");
    let moved = printed(&to, &["--all", &after]);
    assert_eq!(moved[0]["id"], events[1]["id"]);
    assert_ne!(position(&moved[0]), unread, "another log");

    let refused = other.keyward(&["admin", "audit-log", &after]).run();
    assert_eq!(
        refused.refusal(),
        format!(
            "the audit log has no position {read}, because the database was restored from an older backup or is another one: \
             set --after to the position of an event in this database, or to `start` for all events"
        )
    );
}

#[test]
fn contradictory_options_are_rejected_before_opening_storage() {
    let place = Place::file("following-nonsense");
    for (options, complaint) in [
        (
            &["--after=7"][..],
            "expected the `position` of a line that was printed, or `start`, or `end`",
        ),
        (&["--all"], "--follow"),
        (
            &["--follow", "--all", "--organization=acme"],
            "cannot be used with",
        ),
        (&["--follow", "--until=2026-01-31"], "cannot be used with"),
    ] {
        let answer = place.keyward(&[&["admin", "audit-log"], options].concat()).run();
        assert_eq!(answer.code, Some(2), "{answer:?}");
        assert!(answer.errors.contains(complaint), "{answer:?}");
    }
}

/// As a restore by the documentation leaves it.
#[test]
fn follower_of_a_replaced_file_ends() {
    let place = Place::file("follower_of_a_replaced_file");
    place.bootstrap();
    let Place::File(directory) = &place else {
        panic!("a file");
    };
    let file = directory.path().join("keyward.db");
    let restored = directory.path().join("restored.db");
    std::fs::copy(&file, &restored).unwrap();
    let following = Following::start(&place, &["--all"]);
    following.next();
    std::fs::rename(&restored, &file).unwrap();
    let (code, last) = following.ended_by_itself();
    assert_eq!(code, Some(1), "{last}");
    assert!(last.contains("was moved, replaced or removed"), "{last}");
}
