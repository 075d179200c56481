//! A log that cannot be written neither ends the server nor keeps it from answering.

use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader};
use std::process::Stdio;

use reqwest::{Client, StatusCode};
use serde_json::Value;
use tokio::process::{Child, Command};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use keyward_tests::keyward::{TIMEOUT, keyward};
use keyward_tests::storage::Storage;

/// Far more than a pipe (64 KiB) takes, at over 1 KiB a line.
const ABOVE_PIPE: usize = 800;

/// More than a pipe and the queue of the log (4 MiB) take.
const ABOVE_QUEUE: usize = 4_000;

/// A server that answers although its log goes nowhere.
struct Server {
    process: Child,
    client: Client,
    base_url: String,
    _storage: Storage,
}

impl Server {
    /// Listens on an address of this test's own, because a free port could not be read from the log.
    async fn start(log: Stdio) -> Self {
        let [_, _, high, low] = std::process::id().to_be_bytes();
        let authority = format!("127.200.{high}.{}:18080", low.max(1));
        let storage = Storage::embedded();
        let process = keyward(&storage)
            .args(["serve", "--log-format", "json", "--listen", &authority])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .expect("keyward starts");
        let server = Self {
            process,
            client: Client::new(),
            base_url: format!("http://{authority}"),
            _storage: storage,
        };
        let deadline = Instant::now() + TIMEOUT;
        while server.get("/healthz").await.is_none() {
            assert!(Instant::now() < deadline, "keyward does not answer");
        }
        server
    }

    async fn get(&self, path: &str) -> Option<StatusCode> {
        let answer = self.client.get(format!("{}{path}", self.base_url)).send();
        let answer = timeout(TIMEOUT, answer).await.expect("an answer in time");
        Some(answer.ok()?.status())
    }

    /// Asks for pages that do not exist, whose long paths make long lines.
    async fn load(&self, requests: usize) {
        let path = format!("{}/not-there{}", self.base_url, "/a-part-of-a-path".repeat(60));
        let mut clients = JoinSet::new();
        for _ in 0..8 {
            let (client, path) = (self.client.clone(), path.clone());
            clients.spawn(async move {
                for _ in 0..requests / 8 {
                    let answer = timeout(TIMEOUT, client.get(&path).send());
                    let answer = answer.await.expect("an answer in time").expect("an answer");
                    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
                }
            });
        }
        while let Some(ended) = clients.join_next().await {
            ended.expect("every request is answered");
        }
        assert_eq!(self.get("/healthz").await, Some(StatusCode::OK));
    }

    /// SIGTERM ends it, in order.
    async fn terminate(&mut self) {
        let id = self.process.id().expect("it runs still").to_string();
        let status = Command::new("kill").args(["-TERM", &id]).status().await;
        assert!(status.expect("kill runs").success());
        let ended = timeout(TIMEOUT, self.process.wait()).await.expect("it ends");
        assert_eq!(ended.expect("an exit status").code(), Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn full_log_disk_does_not_stop_the_server() {
    let full = File::options().write(true).open("/dev/full").expect("/dev/full");
    let mut server = Server::start(full.into()).await;
    server.load(ABOVE_PIPE).await;
    server.terminate().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_log_reader_does_not_stop_the_server() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut server = Server::start(writer.into()).await;
    drop(reader);
    server.load(ABOVE_PIPE).await;
    server.terminate().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stalled_log_reader_stops_no_request_and_sees_the_gap() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut server = Server::start(writer.into()).await;
    server.load(ABOVE_QUEUE).await;

    let mut log = Log::new(reader);
    let dropped = log.next("log_lines_dropped").await["count"].as_u64();
    let dropped = dropped.expect("a count") as usize;
    // The log continues.
    assert_eq!(server.get("/").await, Some(StatusCode::OK));
    while log.next("request answered").await["path"] != "/" {}
    server.terminate().await;

    let answered = log.count("request answered");
    assert_eq!(log.count("log_lines_dropped"), 1);
    assert!(answered < ABOVE_QUEUE, "{answered} logged, {dropped} dropped");
    assert!(
        answered + dropped > ABOVE_QUEUE,
        "{answered} logged, {dropped} dropped"
    );
}

/// A log that is read again.
struct Log {
    lines: Receiver<String>,
    messages: Vec<String>,
}

impl Log {
    fn new(reader: PipeReader) -> Self {
        let (sender, lines) = channel(1);
        std::thread::spawn(move || {
            let lines = BufReader::new(reader).lines().map_while(Result::ok);
            lines.into_iter().all(|line| sender.blocking_send(line).is_ok())
        });
        Self {
            lines,
            messages: Vec::new(),
        }
    }

    /// The next event with this message.
    async fn next(&mut self, message: &str) -> Value {
        loop {
            let line = timeout(TIMEOUT, self.lines.recv()).await;
            let line = line.expect("the log goes on").expect("the log has not ended");
            let event: Value = serde_json::from_str(&line).expect("an event");
            let read = event["message"].as_str().expect("a message");
            self.messages.push(read.to_owned());
            if read == message {
                return event;
            }
        }
    }

    /// How many events with this message were read.
    fn count(&self, message: &str) -> usize {
        self.messages.iter().filter(|read| *read == message).count()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stalled_log_reader_does_not_delay_shutdown() {
    let (_reader, writer) = std::io::pipe().expect("a pipe");
    let mut server = Server::start(writer.into()).await;
    server.load(ABOVE_PIPE).await;
    server.terminate().await;
}
