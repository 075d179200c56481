//! One event per request.

use std::net::SocketAddr;

use poem::http::{Method, StatusCode, Uri};
use tokio::time::Instant;
use tracing::{info, warn};

/// The most bytes of a part of a path that are written down. Ids and slugs have at most 40; what is longer may be a
/// token that somebody put where its id belongs.
const LONGEST_PART: usize = 40;

/// Writes down one request: what was asked by whom and how it ended. Never a query string or a header, which may hold
/// secrets.
pub(crate) struct RequestLog<'a> {
    method: &'a Method,
    uri: &'a Uri,
    client: SocketAddr,
    request_id: &'a str,
    started: Instant,
    status: Option<StatusCode>,
}

impl<'a> RequestLog<'a> {
    pub(crate) fn begin(
        method: &'a Method,
        uri: &'a Uri,
        client: SocketAddr,
        request_id: &'a str,
        started: Instant,
    ) -> Self {
        Self {
            method,
            uri,
            client,
            request_id,
            started,
            status: None,
        }
    }

    pub(crate) fn answered(mut self, status: StatusCode) {
        self.status = Some(status);
    }
}

/// On drop, since a client that hangs up drops everything that was done for it.
impl Drop for RequestLog<'_> {
    fn drop(&mut self) {
        let path = without_long_parts(self.uri.path());
        let (method, client, request_id) = (self.method, self.client.ip(), self.request_id);
        let duration_ms = self.started.elapsed().as_secs_f64() * 1_000.0;
        match self.status {
            Some(status) => {
                let status = status.as_u16();
                info!(%method, path, status, duration_ms, %client, request_id, "request answered");
            }
            None => warn!(%method, path, duration_ms, %client, request_id, "client left before the answer"),
        }
    }
}

fn without_long_parts(path: &str) -> String {
    let parts = path.split('/');
    let short = parts.map(|part| if part.len() > LONGEST_PART { "…" } else { part });
    short.collect::<Vec<_>>().join("/")
}
