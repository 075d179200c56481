//! A service behind a gateway: it answers with the request that reached it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::answer::values;

/// A running service, which ends with the test.
pub(super) struct Service {
    pub(super) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Service {
    /// Answers with head and body of the request.
    pub(super) async fn echo() -> Self {
        Self::answering(repeating).await
    }

    /// The same, but switches to any protocol that it is asked for. To WebSocket with the key of RFC 6455's example.
    pub(super) async fn switching() -> Self {
        Self::answering(|request| match values(request, "Upgrade").first() {
            Some(protocol) => format!(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n\
                 Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\nswitched"
            ),
            None => repeating(request),
        })
        .await
    }

    /// Sends the same answer to all requests.
    pub(super) async fn saying(answer: &'static str) -> Self {
        Self::answering(move |_| answer.to_owned()).await
    }

    /// Accepts connections, reads, and never answers.
    pub(super) async fn silent() -> Self {
        Self::start(None::<fn(&str) -> String>).await
    }

    async fn answering(answer: impl Fn(&str) -> String + Clone + Send + 'static) -> Self {
        Self::start(Some(answer)).await
    }

    async fn start(answer: Option<impl Fn(&str) -> String + Clone + Send + 'static>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (answer, seen) = (answer.clone(), Arc::clone(&seen));
                tokio::spawn(async move {
                    if let Some(request) = read(&mut stream).await {
                        let answer = answer.map(|answer| answer(&request));
                        seen.lock().expect("requests").push(request);
                        match answer {
                            Some(answer) => {
                                let _ = stream.write_all(answer.as_bytes()).await;
                            }
                            None => std::future::pending().await,
                        }
                    }
                });
            }
        });
        Self { address, requests }
    }

    /// How many requests reached it.
    pub(super) fn requests(&self) -> usize {
        self.requests.lock().expect("requests").len()
    }

    /// The last request that reached it.
    pub(super) fn last_request(&self) -> String {
        let requests = self.requests.lock().expect("requests");
        requests.last().expect("a request").clone()
    }
}

/// An answer with head and body of the request.
fn repeating(request: &str) -> String {
    let length = request.len();
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{request}")
}

/// A request with its body.
async fn read(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && is_whole(head, body)
        {
            return Some(text);
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// Whether a body has the length that its head announces, or its last chunk and all trailers.
fn is_whole(head: &str, body: &str) -> bool {
    if values(head, "transfer-encoding").is_empty() {
        let length = values(head, "content-length");
        let length = length.first().map_or(Ok(0), |length| length.parse());
        return body.len() >= length.expect("a length");
    }
    let mut rest = body;
    while let Some((size, chunk)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("the size of a chunk");
        if size == 0 {
            return chunk == "\r\n" || chunk.ends_with("\r\n\r\n");
        }
        rest = chunk.get(size + 2..).unwrap_or_default();
    }
    false
}
