//! The metrics, and the listener that serves them.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::browser::{cookie, create_key, sign_in, token_in};
use crate::data_directory::DataDirectory;
use crate::place::Place;
use crate::server::{HttpAnswer, Server, TIMEOUT};
use crate::setup::PASSWORD;

pub(crate) const DOCUMENT: &str = include_str!("../../../../docs/observability/README.md");

/// The background tasks of a server without `--verifiers` and `--github-keys`.
const TASKS: [&str; 7] = [
    "last_uses",
    "refused_uses",
    "refused_sign_ins",
    "seen_sessions",
    "retention",
    "planned_ends",
    "verification_cache",
];

const CHANGES_WORK: &str = "keyward_database_changes_work";
const SATURATED: &str = "keyward_connections_saturated_seconds_total";

/// A server that serves metrics, too.
struct Measured {
    server: Server,
    metrics: String,
}

impl Measured {
    fn start(place: &Place) -> Self {
        Self::start_with(place, &[])
    }

    fn start_with(place: &Place, options: &[&str]) -> Self {
        let options: Vec<&str> = options
            .iter()
            .copied()
            .chain(["--metrics-listen=127.0.0.1:0"])
            .collect();
        let mut server = place.serve(&options);
        let listening = server.event("metrics listening");
        let metrics = listening["address"].as_str().unwrap().to_owned();
        Self { server, metrics }
    }

    /// With a key that was used, and a refused one.
    fn with_traffic(place: &Place, options: &[&str]) -> (Self, String) {
        place.bootstrap();
        let measured = Self::start_with(place, options);
        let server = &measured.server;
        let signed_in = sign_in(server, "ada", PASSWORD);
        let page = create_key(server, cookie(&signed_in), "laptop");
        let token = token_in(&page.body).to_owned();
        assert_eq!(measured.get_user(&token).status, 200);
        assert_eq!(measured.get_user("kwp_nothing").status, 401);
        (measured, token)
    }

    fn get_user(&self, token: &str) -> HttpAnswer {
        let authorization = format!("Authorization: Bearer {token}");
        self.server.ask("GET", "/api/v1/user", &[&authorization], "")
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.metrics).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    }

    fn ask(&self, method: &str, path: &str) -> HttpAnswer {
        let mut stream = self.connect();
        let request = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        HttpAnswer::parse(&answer)
    }

    fn report_leak(&self, token: &str) -> HttpAnswer {
        let body = format!("{{\"tokens\": [{{\"token\": \"{token}\"}}]}}");
        let headers = ["Content-Type: application/json"];
        self.server.ask("POST", "/api/v1/leaked-keys", &headers, &body)
    }

    /// Asks until something is so.
    fn scrape_until(&self, is_so: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let text = self.scrape();
            if is_so(&text) {
                return text;
            }
            assert!(Instant::now() < deadline, "{text}");
        }
    }

    fn scrape(&self) -> String {
        let answer = self.ask("GET", "/metrics");
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body
    }
}

/// The value of one series.
#[track_caller]
fn value(text: &str, series: &str) -> f64 {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {series} in:\n{text}"))
        .parse()
        .unwrap()
}

fn has_succeeded(text: &str, task: &str) -> bool {
    text.contains(&format!(
        "keyward_task_last_success_timestamp_seconds{{task=\"{task}\"}} "
    ))
}

/// The names of the metrics that are exported.
fn exported(text: &str) -> BTreeSet<String> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect()
}

/// The names of metrics in a text, without what Prometheus appends to those of histograms.
pub(crate) fn named(text: &str) -> BTreeSet<String> {
    let is_part = |character: char| character.is_ascii_lowercase() || character == '_';
    text.split(|character| !is_part(character))
        .filter(|word| word.starts_with("keyward_") || word.starts_with("process_"))
        .map(|word| word.strip_suffix("_bucket").unwrap_or(word).to_owned())
        .collect()
}

pub(crate) fn promtool(arguments: &[&str], input: &str) {
    let mut promtool = Command::new("promtool")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| {
            panic!("promtool of Debian's package `prometheus`, which `cargo xtask test` installs: {error}")
        });
    promtool
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = promtool.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[tokio::test]
async fn requests_are_counted_by_operation_and_status() {
    for place in [Place::file("metrics-requests"), Place::server().await] {
        let (measured, _) = Measured::with_traffic(&place, &[]);
        let text = measured.scrape();
        for (operation, status) in [("getUser", 200), ("getUser", 401), ("POST /sign-in", 303)] {
            let series =
                format!("keyward_http_requests_total{{operation=\"{operation}\",status=\"{status}\"}}");
            assert_eq!(value(&text, &series), 1.0, "{series}");
        }
        assert_eq!(
            value(&text, "keyward_http_problems_total{code=\"invalid_token\"}"),
            1.0
        );
        let duration = "keyward_http_request_duration_seconds";
        assert_eq!(
            value(&text, &format!("{duration}_count{{operation=\"getUser\"}}")),
            2.0
        );
        for upper in ["0.00005", "10", "+Inf"] {
            let bucket = format!("{duration}_bucket{{operation=\"getUser\",le=\"{upper}\"}}");
            assert!(value(&text, &bucket) <= 2.0, "{bucket}");
        }
    }
}

#[tokio::test]
async fn unknown_paths_and_methods_share_one_name() {
    let place = Place::server().await;
    let measured = Measured::start(&place);
    for number in 0..20 {
        for path in ["/api/v1/nothing-", "/nothing-", "/problems/"] {
            assert_eq!(measured.server.get(&format!("{path}{number}")).status, 404);
        }
        let method = format!("METHOD{number}");
        // Refused as a form of another site would be.
        assert_eq!(measured.server.ask(&method, "/sign-in", &[], "").status, 403);
    }
    let text = measured.scrape();
    let requests = "keyward_http_requests_total{operation=\"other\"";
    assert_eq!(value(&text, &format!("{requests},status=\"404\"}}")), 60.0);
    assert_eq!(value(&text, &format!("{requests},status=\"403\"}}")), 20.0);
    assert!(!text.contains("nothing-") && !text.contains("METHOD"), "{text}");
}

#[tokio::test]
async fn cached_verifications_count_as_hits_under_a_lease() {
    for place in [Place::file("metrics-cache"), Place::server().await] {
        let (measured, token) = Measured::with_traffic(&place, &[]);
        let text = measured.scrape_until(|text| {
            assert_eq!(measured.get_user(&token).status, 200);
            value(text, "keyward_verification_cache_hits_total") > 0.0
        });
        assert_eq!(value(&text, "keyward_verification_cache_entries"), 1.0);
        assert!(value(&text, "keyward_verification_cache_misses_total") >= 1.0);
        assert!(value(&text, "keyward_verification_cache_fills_total") >= 1.0);
        assert_eq!(value(&text, "keyward_lease_held"), 1.0);
        let left = value(&text, "keyward_lease_remaining_seconds");
        assert!(left > 0.0 && left <= 5.0, "{left}");
    }
}

#[tokio::test]
async fn exported_metrics_are_documented_and_pass_promtool() {
    let place = Place::server().await;
    let (measured, token) = Measured::with_traffic(
        &place,
        &["--limit-per-key=1/1h", "--otlp-endpoint=http://127.0.0.1:9"],
    );
    assert_eq!(measured.get_user(&token).status, 429);
    // A task has metrics from its first success on.
    let text = measured.scrape_until(|text| TASKS.iter().all(|task| has_succeeded(text, task)));
    assert_eq!(exported(&text), named(DOCUMENT));
    promtool(&["check", "metrics"], &text);
    assert!(!text.contains(&token) && !text.contains("ada"), "{text}");
    assert!(value(&text, "process_resident_memory_bytes") > 1e6);
    assert!(value(&text, "process_virtual_memory_bytes") > value(&text, "process_resident_memory_bytes"));
    assert!(value(&text, "process_open_fds") > 3.0);
    assert!(value(&text, "process_max_fds") > value(&text, "process_open_fds"));
    assert!(value(&text, "process_start_time_seconds") > 1.7e9);
    assert_eq!(value(&text, "keyward_database_pool_connections_limit"), 16.0);
    assert_eq!(
        value(&text, "keyward_rate_limit_refusals_total{limit=\"key\"}"),
        1.0
    );
    assert!(text.contains("keyward_build_info{version=\""), "{text}");
}

#[tokio::test]
async fn tasks_report_their_successes_and_records() {
    let place = Place::file("metrics-tasks");
    let (measured, token) = Measured::with_traffic(&place, &[]);
    assert_eq!(measured.report_leak(&token).status, 202);
    // Its use is written at the next run, within five seconds.
    let written = "keyward_task_records_total{task=\"last_uses\"}";
    let text = measured.scrape_until(|text| value(text, written) == 1.0);
    let waiting = "keyward_task_records_waiting{task=\"last_uses\"}";
    assert_eq!(value(&text, waiting), 0.0);
    let started = value(&text, "process_start_time_seconds");
    for task in TASKS {
        let of_task = |metric: &str| value(&text, &format!("keyward_task_{metric}{{task=\"{task}\"}}"));
        assert!(of_task("last_success_timestamp_seconds") >= started, "{task}");
        assert!(of_task("last_run_duration_seconds") < 10.0, "{task}");
        assert_eq!(of_task("failed_runs_total"), 0.0, "{task}");
    }
    // The revocation was a change of access.
    measured.scrape_until(|text| {
        value(text, "keyward_verification_cache_evictions_total") >= 1.0
            && value(text, "keyward_replica_acknowledged_change") >= 1.0
    });
    assert_eq!(measured.get_user(&token).status, 401);
}

/// A key whose private half is not known.
const GITHUB_KEYS: &str = r#"{"public_keys": [{"key_identifier": "one", "is_current": true, "key":
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEv9N+dLxuiXI2fuSp2KtsIUExhuvg\n5DaltFQYaijfhFynk2NLCruPJ+gDTNF4SPs04/i06MQadeQo3J4eOXzbqg==\n-----END PUBLIC KEY-----\n"
}]}"#;

#[test]
fn files_that_are_read_again_are_tasks() {
    let place = Place::file("metrics-files");
    let directory = DataDirectory::new("metrics-of-files");
    fs::create_dir_all(directory.path()).unwrap();
    let [verifiers, github_keys] = ["verifiers", "github-keys"].map(|name| directory.path().join(name));
    fs::write(&verifiers, "").unwrap();
    fs::write(&github_keys, GITHUB_KEYS).unwrap();
    let options = [
        format!("--verifiers={}", verifiers.display()),
        format!("--github-keys={}", github_keys.display()),
    ];
    let measured = Measured::start_with(&place, &options.each_ref().map(String::as_str));
    measured.scrape_until(|text| has_succeeded(text, "verifiers") && has_succeeded(text, "github_keys"));
    fs::write(&verifiers, "no verifier").unwrap();
    let failed = |task: &str| format!("keyward_task_failed_runs_total{{task=\"{task}\"}}");
    let text = measured.scrape_until(|text| value(text, &failed("verifiers")) >= 2.0);
    assert_eq!(value(&text, &failed("github_keys")), 0.0);
}

#[tokio::test]
async fn requests_without_a_database_count_as_its_failures() {
    let place = Place::server().await;
    let (measured, token) = Measured::with_traffic(&place, &["--verification-cache=off"]);
    let Place::Server(database) = &place else {
        unreachable!("it is on a server")
    };
    database.refuse_connections().await.unwrap();
    assert_eq!(measured.get_user(&token).status, 503);
    let series = "keyward_database_failed_requests_total{outcome=\"unavailable\"}";
    let text = measured.scrape_until(|text| value(text, series) >= 1.0);
    assert_eq!(
        value(
            &text,
            "keyward_database_failed_requests_total{outcome=\"outcome_unknown\"}"
        ),
        0.0
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn database_that_refuses_changes_is_reported_without_requests() {
    let place = Place::server().await;
    let Place::Server(database) = &place else {
        unreachable!("it is on a server")
    };
    let measured = Measured::start(&place);
    let changes_work = |is: u8| move |text: &str| text.contains(&format!("\n{CHANGES_WORK} {is}\n"));
    measured.scrape_until(changes_work(1));
    database.refuse_connections().await.unwrap();
    measured.scrape_until(changes_work(0));
    database.accept_connections().await.unwrap();
    measured.scrape_until(changes_work(1));
}

#[test]
fn connections_and_the_wait_for_them_are_counted() {
    let place = Place::file("metrics-connections");
    let measured = Measured::start_with(&place, &["--max-connections=2"]);
    let text = measured.scrape();
    assert_eq!(value(&text, "keyward_connections_limit"), 2.0);
    assert_eq!(value(&text, SATURATED), 0.0);
    let half_a_request = || {
        let mut stream = measured.server.connect();
        stream.write_all(b"GET /healthz HTTP/1.1\r\n").unwrap();
        stream
    };
    let held = [(); 2].map(|()| half_a_request());
    measured.scrape_until(|text| value(text, "keyward_connections_in_use") == 2.0);
    let waiting = half_a_request();
    measured.scrape_until(|text| value(text, SATURATED) >= 1.0);
    drop(waiting);
    drop(held);
    measured.scrape_until(|text| value(text, "keyward_connections_in_use") == 0.0);
}

#[tokio::test]
async fn metrics_listener_serves_nothing_else() {
    let place = Place::server().await;
    let measured = Measured::start(&place);
    assert_eq!(measured.server.get("/metrics").status, 404);
    for path in ["/", "/healthz", "/api/v1/user", "/metrics/"] {
        assert_eq!(measured.ask("GET", path).status, 404, "{path}");
    }
    let posted = measured.ask("POST", "/metrics");
    assert_eq!((posted.status, posted.header("allow")), (405, Some("GET, HEAD")));
    let head = measured.ask("HEAD", "/metrics");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    let media_type = head.header("content-type");
    assert_eq!(media_type, Some("text/plain; version=0.0.4; charset=utf-8"));
}

#[tokio::test]
async fn metrics_are_answered_while_idle_clients_hold_all_connections() {
    let place = Place::server().await;
    let measured = Measured::start(&place);
    let _idle: Vec<TcpStream> = (0..40).map(|_| measured.connect()).collect();
    assert!(measured.scrape().contains("keyward_build_info"));
    assert_eq!(measured.server.get("/healthz").status, 200);
}

#[test]
fn metrics_address_that_cannot_be_used_is_named() {
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = busy.local_addr().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let directory = DataDirectory::new("metrics-address");
    let refused = |listen: &str, metrics: &str| {
        let options = [
            &format!("--listen={listen}")[..],
            &format!("--metrics-listen={metrics}"),
        ];
        directory.run(&["serve", options[0], options[1]], "")
    };
    assert_eq!(
        refused("127.0.0.1:0", &busy.to_string()).refusal(),
        format!(
            "cannot serve metrics on {busy} (choose another address with --metrics-listen): Address already in use (os error 98)"
        )
    );
    for metrics in [free.to_string(), format!("0.0.0.0:{}", free.port())] {
        assert_eq!(
            refused(&free.to_string(), &metrics).refusal_of_options(),
            format!(
                "metrics cannot be served on {metrics}, which is also the address of --listen: choose another port for \
                 --metrics-listen"
            )
        );
    }
    for malformed in [
        "",
        "9090",
        ":9090",
        "localhost:9090",
        "127.0.0.1",
        "127.0.0.1:65536",
        "::1:9090",
    ] {
        let answer = directory.run(&["serve", &format!("--metrics-listen={malformed}")], "");
        assert_eq!(answer.code, Some(2), "{malformed}: {answer:?}");
        assert!(
            answer.errors.contains("--metrics-listen"),
            "{malformed}: {answer:?}"
        );
    }
    assert!(!directory.path().exists());
}
