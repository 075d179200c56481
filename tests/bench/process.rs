//! A server that is measured, seen from outside (proc(5)).

use std::fs;
use std::net::TcpListener;
use std::ops::Sub;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use reqwest::header::HeaderMap;
use reqwest::{Client, StatusCode};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};
use tokio::time::sleep;

use crate::figures::CpuMicros;
use crate::rows::{Cache, Meanwhile};
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::{OWNER_PASSWORD, TIMEOUT, binary, keyward};
use keyward_tests::storage::Storage;

/// How often to ask whether a server has started.
const LOOK: Duration = Duration::from_millis(2);

/// A server in a process of its own, which ends with this value. Its log is written to `/dev/null`.
pub(crate) struct Server {
    process: Child,
    pub(crate) address: String,
    /// How long it took until it answered.
    pub(crate) started_in: Duration,
    /// The session of the signed-in user.
    pub(crate) cookie: String,
}

impl Server {
    /// Starts Keyward on this storage.
    pub(crate) async fn keyward(
        storage: &Storage,
        cache: Cache,
        meanwhile: Meanwhile,
        options: &[&str],
    ) -> Self {
        let address = free_address();
        let mut command = keyward(storage);
        command.args(["serve", "--listen", &address, "--log-format", "json"]);
        command.args(["--key-limit", "1000000", "--change-rate", "6000"]);
        if meanwhile != Meanwhile::Guesses {
            // Malformed tokens are answered all alike, as the bare handler does.
            command.args(["--limit-failed-authentication", "off"]);
        }
        command
            .args(["--verification-cache", cache.as_str()])
            .args(options);
        Self::start(command, address, "/readyz", &[]).await
    }

    /// Signs the owner in.
    pub(crate) async fn sign_in(&mut self) {
        let base_url = format!("http://{}", self.address);
        let console = PlainConsole::sign_in(&base_url, "ada", OWNER_PASSWORD).await;
        console.cookie().clone_into(&mut self.cookie);
    }

    /// Answers everything in the same way, behind `server`.
    pub(crate) async fn bare(server: &str, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Self {
        let address = free_address();
        let program = std::env::var("BARE_HANDLER").expect("`cargo xtask bench` sets BARE_HANDLER");
        let mut command = Command::new(program);
        command.args([server, &address, status.as_str()]);
        for (name, value) in headers {
            command.args([name.as_str(), value.to_str().expect("text")]);
        }
        Self::start(command, address, "/", body).await
    }

    /// nginx, which answers everything with 200 and logs it, as Keyward does.
    pub(crate) async fn nginx() -> Self {
        let address = free_address();
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("nginx-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let here = folder.display();
        let configuration = format!(
            "daemon off; master_process off; error_log stderr crit; pid {here}/pid;
             events {{ worker_connections 256; }}
             http {{
                 client_body_temp_path {here}/body; proxy_temp_path {here}/proxy;
                 fastcgi_temp_path {here}/fastcgi; uwsgi_temp_path {here}/uwsgi; scgi_temp_path {here}/scgi;
                 access_log /dev/null; keepalive_requests 100000000;
                 server {{ listen {address}; return 200; }}
             }}"
        );
        let file = folder.join("nginx.conf");
        fs::write(&file, configuration).expect("a configuration");
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
        let mut command = Command::new("nginx");
        command.env("PATH", path).args(["-e", "stderr", "-p"]);
        command.arg(&folder).arg("-c").arg(file);
        Self::start(command, address, "/", &[]).await
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
            cookie: String::new(),
        }
    }

    /// The CPU time that its threads have had so far, to a clock tick.
    pub(crate) fn cpu(&self) -> Cpu {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id())).expect("proc(5)");
        // The name of the program comes second, in parentheses, and may hold anything.
        let (_, fields) = stat.rsplit_once(')').expect("a name");
        let mut ticks = fields.split_ascii_whitespace().skip(11);
        let mut next = || {
            let ticks = ticks.next().and_then(|field| field.parse::<u64>().ok());
            ticks.expect("a number of ticks") as f64 / rustix::param::clock_ticks_per_second() as f64
        };
        Cpu {
            user: next(),
            system: next(),
        }
    }

    /// Until it takes less than a clock tick in a second.
    pub(crate) async fn wait_until_idle(&self) {
        let begun = Instant::now();
        loop {
            let before = self.cpu();
            sleep(Duration::from_secs(1)).await;
            if (self.cpu() - before).is_nothing() {
                return;
            }
            assert!(begun.elapsed() < TIMEOUT, "the server never rests");
        }
    }

    pub(crate) fn resident_mib(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).expect("proc(5)");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
        kib.expect("resident memory") / 1024.0
    }

    /// Asks it to end, and waits until it has, because its profile is written then.
    pub(crate) async fn end(mut self) {
        let process = i32::try_from(self.id()).ok().and_then(Pid::from_raw);
        kill_process(process.expect("a process"), Signal::TERM).expect("the server runs");
        self.process.wait().await.expect("the server ends");
    }

    fn id(&self) -> u32 {
        self.process.id().expect("a running process")
    }
}

/// Seconds of CPU.
#[derive(Clone, Copy)]
pub(crate) struct Cpu {
    user: f64,
    system: f64,
}

impl Cpu {
    fn is_nothing(self) -> bool {
        self.user + self.system <= 0.0
    }

    /// The part of each of this many requests.
    pub(crate) fn each(self, requests: f64) -> CpuMicros {
        CpuMicros {
            all: (self.user + self.system) * 1e6 / requests,
            user: self.user * 1e6 / requests,
        }
    }
}

impl Sub for Cpu {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            user: self.user - before.user,
            system: self.system - before.system,
        }
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

/// A port that is free now.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").to_string()
}
