//! One of several servers over the same database, which can be stopped and killed.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use crate::installation::free_port;
use keyward_tests::keyward::{TIMEOUT, binary};

const LOOK: Duration = Duration::from_millis(20);

/// By how much a server's clock is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    Right,
    HourFast,
    HourSlow,
}

/// A server, and how to start it.
pub(crate) struct Replica {
    address: SocketAddr,
    database_url: String,
    clock: Clock,
    log: PathBuf,
    process: Child,
}

impl Replica {
    /// Starts a server and waits until it is ready.
    pub(crate) async fn start(database_url: String, clock: Clock, log: PathBuf) -> Self {
        let address = (Ipv4Addr::LOCALHOST, free_port()).into();
        let process = spawn(address, &database_url, clock, &log);
        let mut replica = Self {
            address,
            database_url,
            clock,
            log,
            process,
        };
        replica.until_ready().await;
        replica
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops the process; it does not notice that when it continues.
    pub(crate) fn stop(&self) {
        self.send(Signal::STOP);
    }

    pub(crate) fn go_on(&self) {
        self.send(Signal::CONT);
    }

    /// Ends it without warning.
    pub(crate) async fn kill(&mut self) {
        self.process.kill().await.expect("the server is killed");
    }

    /// Starts it again at the same address.
    pub(crate) async fn restart(&mut self) {
        self.process = spawn(self.address, &self.database_url, self.clock, &self.log);
        self.until_ready().await;
    }

    fn send(&self, signal: Signal) {
        let process = self.process.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        kill_process(process.expect("a running process"), signal).expect("a signal is sent");
    }

    async fn until_ready(&mut self) {
        let url = format!("http://{}/readyz", self.address);
        let deadline = Instant::now() + TIMEOUT;
        while !reqwest::get(&url)
            .await
            .is_ok_and(|answer| answer.status().is_success())
        {
            let ended = self.process.try_wait().expect("a process of ours");
            assert!(
                ended.is_none() && Instant::now() < deadline,
                "a server does not get ready:\n{}",
                fs::read_to_string(&self.log).unwrap_or_default()
            );
            sleep(LOOK).await;
        }
    }
}

impl Clock {
    /// For the library of `faketime`. (The program itself would be a process between the server and signals
    /// to it.)
    fn variables(self) -> Vec<(&'static str, String)> {
        let offset = match self {
            Self::Right => return Vec::new(),
            Self::HourFast => "+1h",
            Self::HourSlow => "-1h",
        };
        let folders = fs::read_dir("/usr/lib").expect("libraries").flatten();
        let library = folders
            .map(|folder| folder.path().join("faketime/libfaketime.so.1"))
            .find(|library| library.is_file())
            .expect("faketime is installed");
        vec![
            ("LD_PRELOAD", library.display().to_string()),
            ("FAKETIME", offset.to_owned()),
            // Clocks that count from the start of the machine cannot be set.
            ("DONT_FAKE_MONOTONIC", "1".to_owned()),
        ]
    }
}

fn spawn(address: SocketAddr, database_url: &str, clock: Clock, log: &PathBuf) -> Child {
    let log = File::options()
        .create(true)
        .append(true)
        .open(log)
        .expect("a log");
    Command::new(binary())
        .args(["serve", "--listen", &address.to_string(), "--log-level", "warn"])
        // Whether revoked keys are refused is asked again and again.
        .args(["--limit-failed-authentication", "off"])
        .envs(clock.variables())
        .env_remove("KEYWARD_BIN")
        .env("KEYWARD_DATABASE_URL", database_url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .expect("keyward starts")
}
