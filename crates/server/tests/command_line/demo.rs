//! The demo: made-up data to look at, and nothing of it left at the end.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::{NamedTempFile, TempDir};

use crate::browser::{cookie, sign_in};
use crate::keyward::Keyward;
use crate::server::{NEXT_SIGNAL_COUNTS, Server};

const KEYS: &str = "/organizations/acme-robotics/settings/api-keys?status=all";
const PEOPLE: [&str; 5] = ["ada", "grace", "omar", "maximiliane", "quentin"];

/// A system's temporary directory, for one test alone.
struct TemporaryDirectory(TempDir);

impl TemporaryDirectory {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn keyward(&self, arguments: &[&str]) -> Keyward {
        Keyward::new(&[&["serve", "--demo"], arguments].concat())
            .variable("KEYWARD_LISTEN", "127.0.0.1:0")
            .variable("TMPDIR", self.0.path().to_str().unwrap())
    }

    fn start(&self, arguments: &[&str]) -> Demo {
        let mut server = Server::listening_as(self.keyward(arguments));
        let printed = server.printed_until("Ctrl-C ends it");
        Demo { server, printed }
    }

    fn entries(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

/// A running demo, and its output.
struct Demo {
    server: Server,
    printed: String,
}

impl Demo {
    /// The rest of the first printed line that begins with these words.
    #[track_caller]
    fn printed_after(&self, words: &str) -> &str {
        let mut lines = self.printed.lines();
        let rest = lines.find_map(|line| line.trim_start().strip_prefix(words));
        rest.unwrap_or_else(|| panic!("no `{words}` in:\n{}", self.printed))
    }

    fn password(&self) -> &str {
        self.printed_after("password: ")
    }

    fn curl_line(&self) -> &str {
        let mut lines = self.printed.lines().map(str::trim);
        lines.find(|line| line.starts_with("curl ")).unwrap()
    }

    fn token(&self) -> &str {
        self.printed_after("export KEYWARD_API_KEY=")
    }

    fn ask(&self, method: &str, path: &str) -> (u16, Value) {
        let bearer = format!("Authorization: Bearer {}", self.token());
        let answer = self.server.ask(method, path, &[&bearer], "");
        let body = if answer.body.is_empty() {
            Value::Null
        } else {
            answer.json()
        };
        (answer.status, body)
    }

    /// The owner's keys, without what has to differ: identifiers, hints and moments.
    fn keys(&self) -> Vec<Value> {
        let (status, list) = self.ask("GET", "/api/v1/user/api-keys?status=all&limit=100");
        assert_eq!(status, 200, "{list}");
        let items = list["items"].as_array().unwrap();
        let name_of = |id: &Value| {
            items
                .iter()
                .find(|item| &item["id"] == id)
                .map(|item| &item["name"])
        };
        let fixed = |item: &Value| {
            json!({
                "name": item["name"],
                "description": item["description"],
                "status": item["status"],
                "revokedReason": item["revokedReason"],
                "parent": name_of(&item["createdByKeyId"]),
            })
        };
        items.iter().map(fixed).collect()
    }

    fn end(&mut self, signal: Signal) -> Option<i32> {
        self.server.signal(signal);
        self.server.ended().0.code()
    }
}

#[test]
fn printed_shell_commands_query_the_api() {
    let directory = TemporaryDirectory::new();
    let demo = directory.start(&[]);
    let lines = format!("export KEYWARD_API_KEY={}\n{}", demo.token(), demo.curl_line());
    assert!(
        demo.printed.replace("\n  ", "\n").contains(&lines),
        "{}",
        demo.printed
    );
    let asked = Command::new("sh").args(["-c", &lines]).output().unwrap();
    assert!(asked.status.success(), "{asked:?}");
    let list: Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert_eq!(list["items"][0]["name"], "Terminal", "{list}");
    assert_eq!(list["items"][0]["consumerUsername"], "ada");
}

#[test]
fn printed_key_reaches_the_owners_active_projects() {
    let directory = TemporaryDirectory::new();
    let demo = directory.start(&[]);
    let (status, list) = demo.ask("GET", "/api/v1/user/projects");
    assert_eq!(status, 200, "{list}");
    let names: Vec<&str> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 6, "{names:?}");
    assert!(names.contains(&"Fleet controller") && !names.contains(&"Load test of the fleet controller"));
}

#[test]
fn printed_password_signs_in_every_named_user() {
    let directory = TemporaryDirectory::new();
    let demo = directory.start(&[]);
    assert_eq!(demo.printed_after("username: "), "ada");
    let others = demo.printed_after("It is also the password of ");
    for person in PEOPLE {
        assert!(person == "ada" || others.contains(person), "{others}");
        let signed_in = sign_in(&demo.server, person, demo.password());
        let cookie = format!("Cookie: {}", cookie(&signed_in));
        let keys = demo.server.ask("GET", KEYS, &[&cookie], "");
        assert_eq!(keys.status, 200, "{person}");
        assert_eq!(keys.body.contains("Deploy pipeline"), person == "ada", "{person}");
    }
    let elsewhere = sign_in(&demo.server, "ada", "quiet otters read maps");
    assert_eq!(elsewhere.status, 422);
}

#[test]
fn demo_data_is_identical_at_each_start_except_secrets() {
    let directory = TemporaryDirectory::new();
    let (one, other) = (directory.start(&[]), directory.start(&[]));
    assert_eq!(one.keys(), other.keys());
    assert_ne!(one.password(), other.password());
    assert_ne!(one.token(), other.token());
}

#[test]
fn demo_has_keys_in_every_state_with_stated_ages() {
    let directory = TemporaryDirectory::new();
    let demo = directory.start(&[]);
    let keys = demo.keys();
    for status in ["valid", "revoked"] {
        let with_status = || keys.iter().filter(|key| key["status"] == status);
        assert!(with_status().any(|key| key["parent"].is_null()), "{status}");
        assert!(with_status().any(|key| key["parent"].is_string()), "{status}");
    }
    let (_, list) = demo.ask("GET", "/api/v1/user/api-keys?status=all&limit=100");
    let items = list["items"].as_array().unwrap();
    let moments: Vec<&str> = items
        .iter()
        .map(|item| item["createdAt"].as_str().unwrap())
        .collect();
    assert!(
        moments.is_sorted_by(|newer, older| newer > older),
        "newest first: {moments:?}"
    );
    for item in items {
        // A UUIDv7 begins with its milliseconds.
        let id = item["id"].as_str().unwrap().replace('-', "");
        let milliseconds = i64::from_str_radix(&id[..12], 16).unwrap();
        let created = chrono::DateTime::parse_from_rfc3339(item["createdAt"].as_str().unwrap()).unwrap();
        assert_eq!(created.timestamp_millis(), milliseconds, "{item}");
    }
}

/// The values of an attribute that stand right after these words.
fn values_after<'a>(page: &'a str, words: &str) -> Vec<&'a str> {
    let parts = page.split(words).skip(1);
    parts.filter_map(|part| part.split('"').next()).collect()
}

#[test]
fn every_audit_filter_finds_something_in_the_demo() {
    let directory = TemporaryDirectory::new();
    let demo = directory.start(&[]);
    let signed_in = sign_in(&demo.server, "ada", demo.password());
    let cookie = format!("Cookie: {}", cookie(&signed_in));
    let read = |path: &str| {
        let answer = demo.server.ask("GET", path, &[&cookie], "");
        assert_eq!(answer.status, 200, "{path}");
        answer.body
    };
    let log = "/organizations/acme-robotics/settings/audit-log";
    let page = read(log);
    let actions: Vec<&str> = values_after(&page, "<option value=\"")
        .into_iter()
        .filter(|word| !word.is_empty())
        .collect();
    assert_eq!(actions.len(), 33, "{actions:?}");
    for action in actions {
        let found = read(&format!("{log}?action={action}"));
        assert!(found.contains("<tbody"), "{action} was never done");
    }
    for who in ["ada", "ingrid", "administrator:"] {
        let found = read(&format!("{log}?who={who}"));
        assert!(found.contains("<tbody"), "{who} never did anything");
    }
    let events = read(&format!("{log}/export.jsonl"));
    let months: BTreeSet<&str> = values_after(&events, "\"at\":\"")
        .iter()
        .filter_map(|moment| moment.get(..7))
        .collect();
    assert!(months.len() >= 10, "{months:?}");
}

#[test]
fn demo_owner_is_a_member_of_a_second_organization() {
    let directory = TemporaryDirectory::new();
    let demo = directory.start(&[]);
    let signed_in = sign_in(&demo.server, "ada", demo.password());
    let cookie = format!("Cookie: {}", cookie(&signed_in));
    let settings = "/organizations/museum-of-machines/settings";
    let first = demo.server.ask("GET", KEYS, &[&cookie], "");
    assert!(
        first.body.contains(&format!("{settings}/api-keys")),
        "{}",
        first.body
    );
    let there = demo
        .server
        .ask("GET", &format!("{settings}/api-keys?status=all"), &[&cookie], "");
    assert!(there.body.contains("Audio guide, hall 2") && there.body.contains("Night of the museums"));
    let log = demo
        .server
        .ask("GET", &format!("{settings}/audit-log"), &[&cookie], "");
    assert_eq!(log.status, 404, "only owners read it");
}

#[test]
fn two_concurrent_demos_are_independent() {
    let directory = TemporaryDirectory::new();
    let (mut one, other) = (directory.start(&[]), directory.start(&[]));
    assert_eq!(directory.entries().len(), 2);
    assert_eq!(one.ask("DELETE", "/api/v1/user/api-keys/current").0, 204);
    assert_eq!(one.ask("GET", "/api/v1/user").0, 401);
    assert_eq!(one.end(Signal::TERM), Some(0));
    assert_eq!(other.ask("GET", "/api/v1/user").0, 200);
    assert_eq!(directory.entries().len(), 1);
}

#[test]
fn demo_directory_is_private_and_removed_at_the_end() {
    let directory = TemporaryDirectory::new();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut demo = directory.start(&[]);
        let [place] = &directory.entries()[..] else {
            panic!("{:?}", directory.entries());
        };
        assert_eq!(fs::metadata(place).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(place.join("keyward.db").is_file());
        assert_eq!(demo.end(signal), Some(0));
        assert_eq!(directory.entries(), Vec::<PathBuf>::new());
    }
}

#[test]
fn demo_directory_is_removed_despite_a_second_signal() {
    let directory = TemporaryDirectory::new();
    let mut demo = directory.start(&["--shutdown-delay=3600"]);
    demo.server.signal(Signal::TERM);
    demo.server.event(NEXT_SIGNAL_COUNTS);
    assert_eq!(demo.end(Signal::TERM), Some(1));
    assert_eq!(directory.entries(), Vec::<PathBuf>::new());
}

#[test]
fn demo_log_has_no_secret_and_no_page_offers_setup() {
    let directory = TemporaryDirectory::new();
    let mut demo = directory.start(&["--log-level=trace"]);
    sign_in(&demo.server, "ada", demo.password());
    demo.ask("GET", "/api/v1/user");
    demo.server.signal(Signal::TERM);
    let (_, log) = demo.server.ended();
    assert!(log.contains("request answered"), "{log}");
    for secret in [demo.password(), demo.token()] {
        assert!(!log.contains(secret), "{log}");
    }
    for setup in ["setup-link", "/setup"] {
        assert!(!log.contains(setup) && !demo.printed.contains(setup), "{log}");
    }
}

#[test]
fn demo_accepts_server_options() {
    let directory = TemporaryDirectory::new();
    let demo = directory.start(&["--key-limit=1", "--public-url=http://localhost:1234"]);
    let list = "'http://localhost:1234/api/v1/user/api-keys'";
    assert!(demo.curl_line().ends_with(list), "{}", demo.printed);
    let key = r#"{"name":"one too many"}"#;
    let headers = [
        &format!("Authorization: Bearer {}", demo.token()),
        "Content-Type: application/json",
    ];
    let answer = demo.server.ask("POST", "/api/v1/user/api-keys", &headers, key);
    assert_eq!(answer.json()["code"], "key_limit_reached");
}

#[test]
fn demo_removes_nothing_by_retention() {
    let directory = TemporaryDirectory::new();
    let mut demo = directory.start(&[]);
    let revoked_long_ago = |key: &Value| key["name"] == "Load test, contractor" && key["status"] == "revoked";
    assert!(demo.keys().iter().any(revoked_long_ago));
    demo.server.signal(Signal::TERM);
    let (_, log) = demo.server.ended();
    assert!(!log.contains("removed expired records"), "{log}");
}

/// Refused before anything was made.
#[track_caller]
fn assert_refused(directory: &TemporaryDirectory, refusal: &str, words: &str) {
    assert!(refusal.contains(words), "{refusal}");
    assert_eq!(directory.entries(), Vec::<PathBuf>::new());
}

#[test]
fn demo_refuses_non_local_addresses() {
    let directory = TemporaryDirectory::new();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:8080"] {
        let answer = directory
            .keyward(&["--public-url=https://keys.example.com", "--listen", address])
            .run();
        assert_refused(
            &directory,
            answer.refusal_of_options(),
            "--demo listens on this machine only",
        );
    }
}

#[test]
fn demo_never_uses_an_existing_database() {
    let directory = TemporaryDirectory::new();
    let url = "postgres://keyward@127.0.0.1:1/keyward";
    let file = NamedTempFile::new().unwrap();
    fs::write(file.path(), url).unwrap();
    for keyward in [
        directory.keyward(&["--database-url", url]),
        directory.keyward(&[]).database(url),
        directory
            .keyward(&[])
            .variable("KEYWARD_DATABASE_URL_FILE", file.path().to_str().unwrap()),
    ] {
        let answer = keyward.run();
        assert_refused(
            &directory,
            answer.refusal_of_options(),
            "leave the database's URL (--database-url",
        );
    }
    for keyward in [
        directory.keyward(&["--data-dir=real"]),
        directory.keyward(&["--data-dir=keyward-data"]),
        directory.keyward(&[]).variable("KEYWARD_DATA_DIR", "real"),
    ] {
        let answer = keyward.run();
        assert_refused(
            &directory,
            answer.refusal_of_options(),
            "leave --data-dir (or KEYWARD_DATA_DIR) out",
        );
    }
}

#[test]
fn demo_on_a_busy_port_leaves_nothing_behind() {
    let directory = TemporaryDirectory::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let answer = directory.keyward(&["--listen", &address]).run();
    assert_refused(&directory, answer.refusal(), "cannot listen on");
}
