//! An application that does what its paths say.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures_util::stream;
use keyward_front_door::{PeerAddress, REQUEST_ID, Readiness};
use poem::{
    Body, Endpoint, IntoResponse, Request, Response,
    error::ReadBodyError,
    http::{Method, StatusCode},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, ReadBuf},
    sync::Semaphore,
};

use crate::client::eventually;

/// More bytes than the system buffers for a client that does not read.
pub(crate) const LARGE: usize = 64 << 20;

/// One piece of a streamed answer.
const PIECE: usize = 64 << 10;
/// How often `/slow-stream` gives a piece, and how many: 64 for 1.3 s.
const SLOW_PAUSE: Duration = Duration::from_millis(20);
const SLOW_PIECES: usize = 64;

/// Lets the tests watch the application, and hold it back.
#[derive(Clone)]
pub(crate) struct Stage {
    /// The paths asked for, in order.
    paths: Arc<Mutex<Vec<String>>>,
    /// `/gated` waits for a permit.
    gate: Arc<Semaphore>,
    /// Handlers that were dropped before their end.
    abandoned: Arc<AtomicUsize>,
    /// The kind of error with which reading a body ended.
    body_errors: Arc<Mutex<Vec<io::ErrorKind>>>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self {
            paths: Arc::default(),
            gate: Arc::new(Semaphore::new(0)),
            abandoned: Arc::default(),
            body_errors: Arc::default(),
        }
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.paths.lock().unwrap().clone()
    }

    pub(crate) fn body_errors(&self) -> Vec<io::ErrorKind> {
        self.body_errors.lock().unwrap().clone()
    }

    /// Lets one request through `/gated`.
    pub(crate) fn open_gate(&self) {
        self.gate.add_permits(1);
    }

    pub(crate) async fn is_asked(&self, path: &str) {
        eventually(async || self.paths().iter().any(|asked| asked == path)).await;
    }

    pub(crate) async fn is_abandoned(&self) {
        eventually(async || self.abandoned.load(Ordering::SeqCst) > 0).await;
    }
}

pub(crate) struct App {
    pub(crate) stage: Stage,
    pub(crate) readiness: Readiness,
}

/// A body that sends nothing and does not end.
struct Never;

impl AsyncRead for Never {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

struct Abandoned<'a>(&'a AtomicUsize);

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Endpoint for App {
    type Output = Response;

    fn call(&self, request: Request) -> impl Future<Output = poem::Result<Response>> + Send {
        assert_ne!(request.uri().path(), "/panic-at-once", "before there is a future");
        self.answer(request)
    }
}

impl App {
    async fn answer(&self, mut request: Request) -> poem::Result<Response> {
        if request.method() == Method::OPTIONS {
            return Ok(StatusCode::METHOD_NOT_ALLOWED
                .with_header("allow", "GET, HEAD")
                .into_response());
        }
        let path = request.uri().path().to_owned();
        self.stage.paths.lock().unwrap().push(path.clone());
        match path.as_str() {
            "/gated" => self.stage.gate.acquire().await.unwrap().forget(),
            "/never" => {
                let _abandoned = Abandoned(&self.stage.abandoned);
                std::future::pending::<()>().await;
            }
            "/as-key" => {
                tracing::Span::current().record("key_id", "key-7");
            }
            "/panic" => panic!("on purpose"),
            "/length" => return Ok(self.length(request.take_body()).await),
            "/length-unmapped" => {
                return Ok(request
                    .take_body()
                    .into_bytes_limit(1 << 20)
                    .await?
                    .len()
                    .to_string()
                    .into());
            }
            "/length-then-never" => {
                self.length(request.take_body()).await;
                std::future::pending::<()>().await;
            }
            "/length-then-gated" => {
                let length = self.length(request.take_body()).await;
                self.stage.gate.acquire().await.unwrap().forget();
                return Ok(length);
            }
            "/request-ids" => {
                let ids = request.headers().get_all(REQUEST_ID).iter();
                return Ok(ids
                    .map(|id| id.to_str().unwrap())
                    .collect::<Vec<_>>()
                    .join(",")
                    .into());
            }
            "/address" => {
                return Ok(request.remote_addr().as_socket_addr().unwrap().to_string().into());
            }
            "/peer" => {
                let peer = request.data::<PeerAddress>();
                return Ok(peer
                    .map_or_else(|| "the client".to_owned(), |peer| peer.0.to_string())
                    .into());
            }
            "/readyz" if !self.readiness.is_ready() => {
                return Ok(StatusCode::SERVICE_UNAVAILABLE.into_response());
            }
            "/own-headers" => {
                return Ok("page"
                    .with_header("content-security-policy", "default-src 'self'")
                    .with_header("referrer-policy", "same-origin")
                    .with_header("x-frame-options", "ALLOWALL")
                    .with_header("server", "secret/1.0")
                    .with_header("x-request-id", "forged")
                    .into_response());
            }
            "/missing" => return Err(poem::error::NotFoundError.into()),
            "/unending" => {
                let beginning = &b"once upon a time"[..];
                return Ok(Body::from_async_read(beginning.chain(Never)).into());
            }
            "/endless" => {
                let bytes = stream::repeat_with(|| Ok::<_, io::Error>(vec![b'x'; PIECE]));
                return Ok(Body::from_bytes_stream(bytes).into());
            }
            "/slow-stream" => {
                let pieces = stream::unfold(0, async |sent| {
                    if sent == SLOW_PIECES {
                        return None;
                    }
                    tokio::time::sleep(SLOW_PAUSE).await;
                    Some((Ok::<_, io::Error>(vec![b'x'; PIECE]), sent + 1))
                });
                return Ok(Body::from_bytes_stream(pieces).into());
            }
            "/breaks" => {
                let broken = stream::once(async {
                    tracing::info!("the stream breaks");
                    Err::<Vec<u8>, _>(io::Error::other("on purpose"))
                });
                return Ok(Body::from_bytes_stream(broken).into());
            }
            "/large" => return Ok(Body::from_vec(vec![b'x'; LARGE]).into()),
            _ => {}
        }
        Ok("hello".into())
    }

    /// Maps the failures as an adapter does.
    async fn length(&self, body: Body) -> Response {
        match body.into_bytes_limit(1 << 20).await {
            Ok(bytes) => bytes.len().to_string().into(),
            Err(ReadBodyError::Io(error)) => {
                self.stage.body_errors.lock().unwrap().push(error.kind());
                let status = match error.kind() {
                    io::ErrorKind::TimedOut => StatusCode::REQUEST_TIMEOUT,
                    io::ErrorKind::FileTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
                    _ => StatusCode::BAD_REQUEST,
                };
                (status, "said by the application").into()
            }
            Err(error) => panic!("{error}"),
        }
    }
}
