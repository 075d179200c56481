//! Requests to the collector: OTLP over HTTP with protobuf. Each batch takes a connection of its own.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use poem::http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use prost::Message as _;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::endpoint::Endpoint;

/// How long a batch may take, from the connection to the end of the answer (OpenTelemetry's default).
const TIMEOUT: Duration = Duration::from_secs(10);

/// The most bytes of an answer, which says little.
const LONGEST_ANSWER: usize = 64 * 1024;

/// An OpenTelemetry collector, as `--otlp-endpoint` names it.
pub(super) struct Collector {
    endpoint: Endpoint,
    headers: HeaderMap,
    tls: Option<TlsConnector>,
}

/// Why a collector cannot be verified.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    #[error(
        "the operating system has no trusted certificates to verify the collector with: install them (package \
         `ca-certificates`), or name a file with them in SSL_CERT_FILE"
    )]
    NoRootCertificates,
    /// Cannot happen: the provider has what the protocol versions want.
    #[error("TLS to the collector is not possible")]
    Rustls(#[from] rustls::Error),
}

/// Why the collector did not accept a batch.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    #[error("it cannot be reached")]
    Connect(#[source] io::Error),
    #[error("the connection broke")]
    Exchange(#[source] hyper::Error),
    #[error("it did not answer within {} s", TIMEOUT.as_secs())]
    TimedOut,
    #[error("it answered {status}")]
    Refused {
        status: StatusCode,
        retry_after: Option<Duration>,
    },
    /// Cannot happen: endpoint and headers were checked.
    #[error("the request cannot be made")]
    Request(#[from] poem::http::Error),
}

impl SendError {
    /// Whether the same batch may be accepted later (OTLP specification, “Retryable Response Codes”).
    pub(super) fn is_temporary(&self) -> bool {
        match self {
            Self::Connect(_) | Self::Exchange(_) | Self::TimedOut => true,
            Self::Refused { status, .. } => matches!(status.as_u16(), 429 | 502 | 503 | 504),
            Self::Request(_) => false,
        }
    }

    /// How long the collector wants to be left alone.
    pub(super) const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

impl Collector {
    pub(super) fn new(endpoint: Endpoint, headers: HeaderMap) -> Result<Self, TlsError> {
        let tls = endpoint.is_https().then(tls).transpose()?;
        Ok(Self {
            endpoint,
            headers,
            tls,
        })
    }

    pub(super) const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends an encoded batch. Returns how many of its spans were rejected.
    pub(super) async fn send(&self, batch: Bytes) -> Result<u64, SendError> {
        timeout(TIMEOUT, self.exchange(batch))
            .await
            .unwrap_or(Err(SendError::TimedOut))
    }

    async fn exchange(&self, batch: Bytes) -> Result<u64, SendError> {
        let stream = TcpStream::connect((self.endpoint.host(), self.endpoint.port()))
            .await
            .map_err(SendError::Connect)?;
        match &self.tls {
            None => self.exchange_over(stream, batch).await,
            Some(tls) => {
                let name = ServerName::try_from(self.endpoint.host().to_owned())
                    .map_err(|error| SendError::Connect(io::Error::other(error)))?;
                let stream = tls.connect(name, stream).await.map_err(SendError::Connect)?;
                self.exchange_over(stream, batch).await
            }
        }
    }

    async fn exchange_over<S>(&self, stream: S, batch: Bytes) -> Result<u64, SendError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (mut sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(SendError::Exchange)?;
        // It ends with the sender, and fails with the exchange.
        tokio::spawn(async move { drop(connection.await) });
        let mut request = Request::post(self.endpoint.path())
            .header(header::HOST, self.endpoint.authority())
            .header(header::CONTENT_TYPE, "application/x-protobuf")
            .header(header::USER_AGENT, concat!("keyward/", env!("CARGO_PKG_VERSION")))
            .body(Full::new(batch))?;
        request.headers_mut().extend(
            self.headers
                .iter()
                .map(|(name, value)| (name.clone(), value.clone())),
        );
        let answer = sender.send_request(request).await.map_err(SendError::Exchange)?;
        let status = answer.status();
        if !status.is_success() {
            let retry_after = answer.headers().get(header::RETRY_AFTER).and_then(seconds);
            return Err(SendError::Refused { status, retry_after });
        }
        // The status says that it accepted the batch, even if the rest of its answer is too long or lost.
        let body = Limited::new(answer.into_body(), LONGEST_ANSWER).collect().await;
        let body = body.map(|body| body.to_bytes()).unwrap_or_default();
        let answer = ExportTraceServiceResponse::decode(body).unwrap_or_default();
        let rejected = answer.partial_success.map_or(0, |partial| partial.rejected_spans);
        Ok(u64::try_from(rejected).unwrap_or_default())
    }
}

/// A date instead of seconds does not count.
fn seconds(value: &HeaderValue) -> Option<Duration> {
    value.to_str().ok()?.parse().ok().map(Duration::from_secs)
}

/// Verifies the collector with the certificates of the operating system.
fn tls() -> Result<TlsConnector, TlsError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(TlsError::NoRootCertificates);
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use poem::http::{HeaderValue, StatusCode};

    use super::{SendError, seconds};

    #[test]
    fn only_busy_or_absent_collectors_get_a_batch_again() {
        let refused = |status: u16| SendError::Refused {
            status: StatusCode::from_u16(status).unwrap(),
            retry_after: None,
        };
        for status in [429, 502, 503, 504] {
            assert!(refused(status).is_temporary(), "{status}");
        }
        for status in [301, 400, 401, 404, 413, 500, 501] {
            assert!(!refused(status).is_temporary(), "{status}");
        }
        assert!(SendError::TimedOut.is_temporary());
    }

    #[test]
    fn retry_after_counts_in_seconds_only() {
        let read = |value| seconds(&HeaderValue::from_static(value));
        assert_eq!(read("120"), Some(Duration::from_secs(120)));
        for other in ["", "-1", "1.5", "Wed, 25 Nov 2026 10:00:00 GMT"] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
