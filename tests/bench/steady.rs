//! Load for latencies, at a fixed rate: at full load, they say how long the line is. And load that sends each token
//! once.

use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval_at};

use crate::figures::Sample;
use crate::load::CONNECTIONS;
use crate::process::Server;

/// Asks a server so often a second for this long. Every answer is a success.
pub(crate) async fn steady(
    server: &Server,
    path: &str,
    tokens: Vec<String>,
    per_second: usize,
    time: Duration,
) -> Sample {
    let tokens = Arc::new(tokens);
    let period = Duration::from_secs(1) * CONNECTIONS / u32::try_from(per_second).expect("a rate");
    let before = server.cpu();
    let begun = Instant::now();
    let mut connections = JoinSet::new();
    for number in 0..CONNECTIONS {
        let client = Client::connect(server, path, &tokens, number).await;
        let first = begun + period * number / CONNECTIONS;
        connections.spawn(client.ask_steadily(first, period, begun + time));
    }
    let mut latencies: Vec<Duration> = connections.join_all().await.concat();
    let cpu = server.cpu() - before;
    latencies.sort_unstable();
    let count = latencies.len() as f64;
    let p99 = latencies.get(latencies.len() * 99 / 100).expect("answers");
    Sample {
        per_second: count / time.as_secs_f64(),
        cpu: Some(cpu.each(count)),
        p99_millis: Some(p99.as_secs_f64() * 1e3),
    }
}

/// Sends each token once, as fast as the server answers. Every answer has this status.
pub(crate) async fn each_once(server: &Server, path: &str, tokens: Vec<String>, status: StatusCode) {
    let tokens = Arc::new(tokens);
    let mut connections = JoinSet::new();
    for number in 0..CONNECTIONS {
        let mut client = Client::connect(server, path, &tokens, number).await;
        connections.spawn(async move {
            while client.next < client.tokens.len() {
                client.exchange(status).await;
            }
        });
    }
    connections.join_all().await;
}

/// One of the connections, kept alive. It sends its share of the tokens.
struct Client {
    socket: TcpStream,
    head: String,
    tokens: Arc<Vec<String>>,
    next: usize,
    answer: Vec<u8>,
}

impl Client {
    async fn connect(server: &Server, path: &str, tokens: &Arc<Vec<String>>, number: u32) -> Self {
        let socket = TcpStream::connect(&server.address).await.expect("a connection");
        socket.set_nodelay(true).expect("an option of the socket");
        Self {
            socket,
            head: format!(
                "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer ",
                server.address
            ),
            tokens: Arc::clone(tokens),
            next: number as usize,
            answer: Vec::new(),
        }
    }

    /// How long each answer took from when its request was due. A request that is late because the answer
    /// before it was late counts from then, too; one that is late because a timer has the resolution of a
    /// millisecond, from when it is sent.
    async fn ask_steadily(mut self, first: Instant, period: Duration, end: Instant) -> Vec<Duration> {
        let mut ticks = interval_at(first, period);
        let mut latencies = Vec::new();
        loop {
            let free = Instant::now();
            let due = ticks.tick().await;
            if due >= end {
                return latencies;
            }
            let begun = if due < free { due } else { Instant::now() };
            self.exchange(StatusCode::OK).await;
            latencies.push(begun.elapsed());
        }
    }

    async fn exchange(&mut self, status: StatusCode) {
        let token = &self.tokens[self.next % self.tokens.len()];
        self.next += CONNECTIONS as usize;
        let request = format!("{}{token}\r\n\r\n", self.head);
        self.socket.write_all(request.as_bytes()).await.expect("sent");
        self.answer.clear();
        while !is_whole(&self.answer) {
            let read = self.socket.read_buf(&mut self.answer).await.expect("an answer");
            assert!(read > 0, "the server closed a connection");
        }
        let expected = format!("HTTP/1.1 {} ", status.as_str());
        assert!(self.answer.starts_with(expected.as_bytes()), "not {status}");
    }
}

/// Whether these are all bytes of an answer; each names its length.
fn is_whole(answer: &[u8]) -> bool {
    let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") else {
        return false;
    };
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.map_or(0, |length| length.trim().parse().expect("a length"));
    answer.len() >= end + 4 + length
}
