//! A collector that speaks OTLP over HTTP, in a thread of its own.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span};
use prost::Message;
use tokio_rustls::TlsAcceptor;

use crate::server::TIMEOUT;

/// Its answer to batches.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Conduct {
    Accept,
    Answer(StatusCode),
    /// It reads, and never answers.
    Hang,
}

pub(crate) struct Collector {
    pub(crate) address: SocketAddr,
    conduct: Arc<Mutex<Conduct>>,
    batches: Receiver<Batch>,
}

/// The spans of one request.
pub(crate) struct Batch {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) encoded: Bytes,
    pub(crate) of_resources: Vec<ResourceSpans>,
}

impl Batch {
    pub(crate) fn spans(&self) -> Vec<Span> {
        let scopes = self.of_resources.iter().flat_map(|spans| &spans.scope_spans);
        scopes.flat_map(|scope| scope.spans.clone()).collect()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// An attribute of the service.
    pub(crate) fn of_service(&self, name: &str) -> String {
        text(&self.of_resources[0].resource.as_ref().unwrap().attributes, name).unwrap()
    }
}

/// An attribute as text.
pub(crate) fn text(attributes: &[KeyValue], name: &str) -> Option<String> {
    let attribute = attributes.iter().find(|attribute| attribute.key == name)?;
    match attribute.value.clone()?.value? {
        any_value::Value::StringValue(text) => Some(text),
        any_value::Value::IntValue(number) => Some(number.to_string()),
        other => panic!("{other:?}"),
    }
}

impl Collector {
    pub(crate) fn start() -> Self {
        Self::start_with(TcpListener::bind("127.0.0.1:0").unwrap(), None)
    }

    /// At the address that a server was configured with.
    pub(crate) fn start_at(address: SocketAddr) -> Self {
        Self::start_with(TcpListener::bind(address).unwrap(), None)
    }

    pub(crate) fn start_with_tls(tls: TlsAcceptor) -> Self {
        Self::start_with(TcpListener::bind("127.0.0.1:0").unwrap(), Some(tls))
    }

    fn start_with(listener: TcpListener, tls: Option<TlsAcceptor>) -> Self {
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        let conduct = Arc::new(Mutex::new(Conduct::Accept));
        let (sender, batches) = channel();
        let served = Arc::clone(&conduct);
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(accept(listener, tls, served, sender));
        });
        Self {
            address,
            conduct,
            batches,
        }
    }

    /// The option by which a server finds it.
    pub(crate) fn option(&self) -> String {
        format!("--otlp-endpoint=http://{}", self.address)
    }

    pub(crate) fn set(&self, conduct: Conduct) {
        *self.conduct.lock().unwrap() = conduct;
    }

    /// The next batch that it accepts.
    #[track_caller]
    pub(crate) fn batch(&self) -> Batch {
        self.batches.recv_timeout(TIMEOUT).unwrap()
    }

    /// Accepted spans, until there is one with this name; that one last.
    #[track_caller]
    pub(crate) fn spans_until(&self, name: &str) -> Vec<Span> {
        let deadline = Instant::now() + TIMEOUT;
        let mut spans = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(batch) = self.batches.recv_timeout(left) else {
                panic!("no span `{name}`: {spans:?}");
            };
            spans.extend(batch.spans());
            if let Some(position) = spans.iter().position(|span| span.name == name) {
                let found = spans.swap_remove(position);
                spans.push(found);
                return spans;
            }
        }
    }

    /// All that it accepted and was not asked for yet, once the server has ended.
    pub(crate) fn rest(&self) -> Vec<Span> {
        self.batches.try_iter().flat_map(|batch| batch.spans()).collect()
    }
}

async fn accept(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    conduct: Arc<Mutex<Conduct>>,
    sender: Sender<Batch>,
) {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (conduct, sender) = (Arc::clone(&conduct), sender.clone());
        let service = service_fn(move |request| {
            let conduct = *conduct.lock().unwrap();
            answer(request, conduct, sender.clone())
        });
        let tls = tls.clone();
        tokio::spawn(async move {
            let http = http1::Builder::new();
            match tls {
                None => drop(http.serve_connection(TokioIo::new(stream), service).await),
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        drop(http.serve_connection(TokioIo::new(stream), service).await);
                    }
                }
            }
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    conduct: Conduct,
    sender: Sender<Batch>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let encoded = body.collect().await.unwrap().to_bytes();
    let status = match conduct {
        Conduct::Accept => StatusCode::OK,
        Conduct::Answer(status) => status,
        Conduct::Hang => {
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            StatusCode::OK
        }
    };
    if status.is_success() {
        let headers = head.headers.iter();
        let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
        let request = ExportTraceServiceRequest::decode(encoded.clone()).unwrap();
        let batch = Batch {
            path: head.uri.to_string(),
            headers: headers.collect(),
            encoded,
            of_resources: request.resource_spans,
        };
        // The test may have ended.
        let _ = sender.send(batch);
    }
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = status;
    Ok(answer)
}
