//! A server that is measured, seen from outside (proc(5)).

use std::fs;
use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use reqwest::{Client, StatusCode};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};
use tokio::time::sleep;

use crate::keyward::{TIMEOUT, binary, keyward};
use crate::rows::Cache;
use crate::storage::Storage;

/// How often to ask whether a server has started.
const LOOK: Duration = Duration::from_millis(2);

/// A server in a process of its own, which ends with this value. What it logs goes nowhere, but is written.
pub(crate) struct Server {
    process: Child,
    pub(crate) address: String,
    /// How long it took until it answered.
    pub(crate) started_in: Duration,
}

impl Server {
    /// Serves this storage.
    pub(crate) async fn keyward(storage: &Storage, cache: Cache, options: &[&str]) -> Self {
        let address = free_address();
        let mut command = keyward(storage);
        command.args(["serve", "--listen", &address, "--log-format", "json"]);
        // Malformed tokens are answered all alike, as the bare handler does.
        command.args(["--limit-failed-authentication", "off"]);
        command
            .args(["--verification-cache", cache.as_str()])
            .args(options);
        Self::start(command, address, "/readyz", &[]).await
    }

    /// Answers everything with these bytes.
    pub(crate) async fn bare(status: StatusCode, content_type: &str, body: &[u8]) -> Self {
        let address = free_address();
        let program = std::env::var("BARE_HANDLER").expect("`cargo xtask bench` sets BARE_HANDLER");
        let mut command = Command::new(program);
        command.args([&address, status.as_str(), content_type]);
        Self::start(command, address, "/", body).await
    }

    async fn start(mut command: Command, address: String, path: &str, input: &[u8]) -> Self {
        let client = Client::new();
        let url = format!("http://{address}{path}");
        let begun = Instant::now();
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the server starts");
        let mut stdin = process.stdin.take().expect("standard input");
        stdin.write_all(input).await.expect("input is read");
        drop(stdin);
        loop {
            match client.get(&url).send().await {
                Ok(answer) if answer.status() != StatusCode::SERVICE_UNAVAILABLE => break,
                Ok(_) | Err(_) => assert!(begun.elapsed() < TIMEOUT, "{url} does not answer"),
            }
            sleep(LOOK).await;
        }
        Self {
            process,
            address,
            started_in: begun.elapsed(),
        }
    }

    /// The CPU time that its threads have had so far, to a clock tick.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id())).expect("proc(5)");
        // The name of the program comes second, in parentheses, and may hold anything.
        let (_, fields) = stat.rsplit_once(')').expect("a name");
        let ticks = fields.split_ascii_whitespace().skip(11).take(2);
        let ticks: u64 = ticks
            .map(|field| field.parse::<u64>().expect("a number of ticks"))
            .sum();
        Duration::from_secs(ticks) / u32::try_from(rustix::param::clock_ticks_per_second()).expect("ticks")
    }

    pub(crate) fn resident_mib(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).expect("proc(5)");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
        kib.expect("resident memory") / 1024.0
    }

    /// Ends it at once, and waits until it has.
    pub(crate) async fn end(mut self) {
        self.process.kill().await.expect("the server ends");
    }

    fn id(&self) -> u32 {
        self.process.id().expect("a running process")
    }
}

/// How long `keyward --version` takes: what any start of the program costs.
pub(crate) async fn version_time() -> Duration {
    let begun = Instant::now();
    let output = Command::new(binary())
        .arg("--version")
        .output()
        .await
        .expect("keyward starts");
    assert!(output.status.success());
    begun.elapsed()
}

/// A port that nobody uses at the moment.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").to_string()
}
