//! A client that sends exactly the bytes it is given.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// Far more than anything here takes: a test that waits this long has failed.
const SOON: Duration = Duration::from_secs(20);

pub(crate) async fn soon<T>(expected: impl Future<Output = T>) -> T {
    timeout(SOON, expected).await.expect("it happens soon")
}

/// Checks again and again.
pub(crate) async fn eventually(mut holds: impl AsyncFnMut() -> bool) {
    soon(async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

pub(crate) struct Client {
    socket: TcpStream,
    received: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// All values of a header.
    pub(crate) fn header(&self, name: &str) -> Vec<&str> {
        self.head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .filter(|(given, _)| given.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .collect()
    }
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self::try_connect(address).await.expect("the server accepts")
    }

    pub(crate) async fn try_connect(address: SocketAddr) -> io::Result<Self> {
        let socket = soon(TcpStream::connect(address)).await?;
        Ok(Self {
            socket,
            received: Vec::new(),
        })
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).await.expect("the connection takes bytes");
    }

    pub(crate) async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        soon(self.socket.write_all(bytes.as_ref())).await
    }

    /// Sends a request whose answer is not awaited.
    pub(crate) async fn ask(&mut self, path: &str) {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
            .await;
    }

    /// Sends a request with this `Content-Length`, and these bytes of a body.
    pub(crate) async fn post(&mut self, path: &str, announced: usize, sent: &str) {
        let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {announced}\r\n\r\n");
        self.send(head + sent).await;
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        self.ask(path).await;
        self.answer().await
    }

    pub(crate) async fn answer(&mut self) -> Answer {
        self.read_answer(true).await
    }

    /// The next answer, which has a head only.
    pub(crate) async fn answer_to_head(&mut self) -> Answer {
        self.read_answer(false).await
    }

    async fn read_answer(&mut self, has_body: bool) -> Answer {
        let end_of_head = loop {
            if let Some(end) = self.received.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break end + 4;
            }
            let bytes = self.receive().await;
            assert!(
                bytes > 0,
                "closed within the head: {:?}",
                String::from_utf8_lossy(&self.received)
            );
        };
        let head = String::from_utf8(self.received.drain(..end_of_head).collect()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut answer = Answer {
            status,
            head,
            body: String::new(),
        };
        let length = match answer.header("content-length").first() {
            Some(length) if has_body => length.parse().unwrap(),
            Some(_) | None => 0,
        };
        while self.received.len() < length {
            assert!(self.receive().await > 0, "closed within the body");
        }
        answer.body = String::from_utf8(self.received.drain(..length).collect()).unwrap();
        answer
    }

    /// Waits until an answer has begun.
    pub(crate) async fn first_byte(&mut self) {
        let byte = soon(self.socket.read_u8())
            .await
            .expect("the connection gives a byte");
        self.received.push(byte);
    }

    /// Reads a few of the bytes that have arrived.
    pub(crate) async fn reads_a_little(&mut self) {
        self.received.reserve(64 * 1024);
        self.receive().await;
    }

    async fn receive(&mut self) -> usize {
        soon(self.socket.read_buf(&mut self.received))
            .await
            .expect("the connection gives bytes")
    }

    /// Waits until the server closes, and returns the bytes that it sends until then.
    pub(crate) async fn closed(&mut self) -> Vec<u8> {
        // A reset is a close, too.
        while matches!(soon(self.socket.read_buf(&mut self.received)).await, Ok(1..)) {}
        std::mem::take(&mut self.received)
    }

    /// Reads until the answer ends so or the server closes.
    pub(crate) async fn closed_or_answered(&mut self, end: &[u8]) -> Vec<u8> {
        while !self.received.ends_with(end)
            && matches!(soon(self.socket.read_buf(&mut self.received)).await, Ok(1..))
        {}
        std::mem::take(&mut self.received)
    }

    /// Whether neither bytes nor a close come within the time.
    pub(crate) async fn hears_nothing_for(&mut self, time: Duration) -> bool {
        timeout(time, self.socket.read_buf(&mut self.received))
            .await
            .is_err()
    }
}
