//! The real binary, started as a user starts it.

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

use crate::storage::Storage;

/// How long anything that should happen soon may take on a busy machine.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// The first owner's password in every test.
pub const OWNER_PASSWORD: &str = "quiet otters read maps";

/// A database and the `keyward` that serves it.
pub struct Keyward {
    storage: Arc<Storage>,
    process: Child,
    base_url: String,
    log: ServerLog,
}

/// The server's log, which a failed test prints.
struct ServerLog {
    text: Arc<Mutex<String>>,
    reading: JoinHandle<()>,
}

impl ServerLog {
    /// Waits until the server has ended.
    async fn whole(mut self) -> String {
        (&mut self.reading).await.expect("a readable log");
        self.text.lock().expect("no panic").clone()
    }
}

impl Drop for ServerLog {
    #[expect(clippy::print_stderr, reason = "a failed test shows it")]
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Ok(text) = self.text.lock()
        {
            eprintln!("the log of a server:\n{text}");
        }
    }
}

impl Keyward {
    /// Serves an empty PostgreSQL database.
    pub async fn start() -> Self {
        Self::start_on(Storage::postgres().await).await
    }

    /// Starts a server on this storage.
    pub async fn start_on(storage: Storage) -> Self {
        Self::serve(storage, &[]).await
    }

    /// Serves an organization with one owner, `ada`.
    pub async fn start_set_up() -> Self {
        Self::start_set_up_with(&[]).await
    }

    /// The same, with more arguments to `keyward serve`.
    pub async fn start_set_up_with(arguments: &[&str]) -> Self {
        let keyward = Self::serve(Storage::postgres().await, arguments).await;
        let bootstrap = "admin bootstrap --organization Engines --username ada --password-stdin";
        keyward.command(bootstrap, OWNER_PASSWORD).await;
        keyward
    }

    /// Serves the same database beside this server.
    pub async fn start_another(&self) -> Self {
        Self::serve(Arc::clone(&self.storage), &[]).await
    }

    /// Serves any storage, with more arguments to `keyward serve`.
    pub async fn serve(storage: impl Into<Arc<Storage>>, arguments: &[&str]) -> Self {
        let storage = storage.into();
        let mut process = keyward(&storage)
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("keyward starts");
        let mut lines = BufReader::new(process.stderr.take().expect("standard error")).lines();
        let mut log = String::new();
        let base_url = tokio::time::timeout(TIMEOUT, async {
            loop {
                let line = lines.next_line().await.expect("a readable log");
                let line = line.unwrap_or_else(|| panic!("keyward ended before it listened:\n{log}"));
                log.push_str(&line);
                log.push('\n');
                if let Some(address) = listening_address(&line) {
                    return address;
                }
            }
        })
        .await
        .expect("keyward listens");
        let text = Arc::new(Mutex::new(log));
        let written = Arc::clone(&text);
        let reading = tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let mut text = written.lock().expect("no panic");
                text.push_str(&line);
                text.push('\n');
            }
        });
        let log = ServerLog { text, reading };
        Self {
            storage,
            process,
            base_url,
            log,
        }
    }

    /// Where it listens: `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Its address without the scheme.
    pub fn authority(&self) -> &str {
        self.base_url.trim_start_matches("http://")
    }

    /// Where it keeps everything.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Runs another `keyward` command (words between spaces) on the same database and returns its output.
    pub async fn command(&self, command_line: &str, input: &str) -> String {
        let mut command = keyward(&self.storage)
            .args(command_line.split(' '))
            .env("KEYWARD_PUBLIC_URL", &self.base_url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("keyward starts");
        let mut stdin = command.stdin.take().expect("standard input");
        stdin.write_all(input.as_bytes()).await.expect("input is read");
        drop(stdin);
        let output = command.wait_with_output().await.expect("keyward ends");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "keyward {command_line} failed: {errors}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// The server's process.
    pub fn process_id(&self) -> u32 {
        self.process.id().expect("a running process")
    }

    /// Asks it to end, as an init system does.
    pub async fn terminate(&self) {
        self.signal("-TERM").await;
    }

    /// Sends it a signal, as `kill` writes it.
    pub async fn signal(&self, signal: &str) {
        let id = self.process_id().to_string();
        let status = Command::new("kill")
            .args([signal, &id])
            .status()
            .await
            .expect("kill runs");
        assert!(status.success(), "{signal} could not be sent");
    }

    /// Ends it without warning.
    pub async fn kill(mut self) {
        self.process.kill().await.expect("keyward is killed");
    }

    /// Waits until it has ended; returns its exit code, its log and its storage.
    pub async fn ended(mut self) -> (Option<i32>, String, Arc<Storage>) {
        let status = tokio::time::timeout(TIMEOUT, self.process.wait())
            .await
            .expect("keyward ends");
        let log = self.log.whole().await;
        (status.expect("an exit status").code(), log, self.storage)
    }

    /// Ends it without warning and starts it again on the same database.
    pub async fn kill_and_restart(mut self) -> Self {
        self.process.kill().await.expect("keyward is killed");
        Self::serve(self.storage, &[]).await
    }
}

/// The binary under test, configured with this storage.
pub fn keyward(storage: &Storage) -> Command {
    let mut command = Command::new(binary());
    command.env_remove("KEYWARD_BIN");
    storage.configure(&mut command);
    command
}

/// The path of the binary under test.
pub fn binary() -> String {
    std::env::var("KEYWARD_BIN")
        .expect("KEYWARD_BIN names the keyward binary to test; `cargo xtask test` builds it and sets this")
}

/// The address in the line that says that the server listens.
fn listening_address(line: &str) -> Option<String> {
    let address = &line[line.find("http://127.0.0.1:")?..];
    let end = address
        .find(|c: char| !(c.is_ascii_alphanumeric() || "/:.".contains(c)))
        .unwrap_or(address.len());
    Some(address[..end].trim_end_matches(['/', '.']).to_owned())
}
