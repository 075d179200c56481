//! One event per request.

use std::{net::SocketAddr, time::Duration};

use poem::{
    Response,
    http::{Method, StatusCode, Uri},
};
use tokio::time::Instant;
use tracing::{Span, debug, info, warn};

use crate::{
    config::FrontDoorConfig,
    observer::{Exchanged, Observer},
    shown_path::{short_path, without_long_part},
};

/// Logs one request: method, path, client and outcome. Never a query string or a header, which may hold
/// secrets. Its id is in the span around it.
pub(crate) struct RequestLog<'a> {
    method: &'a Method,
    uri: &'a Uri,
    client: SocketAddr,
    started: Instant,
    health_paths: &'a [&'a str],
    observer: Option<&'a Observer>,
    trace: Option<&'a Span>,
    status: Option<StatusCode>,
}

impl<'a> RequestLog<'a> {
    pub(crate) fn begin(
        method: &'a Method,
        uri: &'a Uri,
        client: SocketAddr,
        started: Instant,
        trace: Option<&'a Span>,
        config: &'a FrontDoorConfig,
    ) -> Self {
        Self {
            method,
            uri,
            client,
            started,
            health_paths: config.health_paths,
            observer: config.observer.as_ref(),
            trace,
            status: None,
        }
    }

    pub(crate) fn answered(mut self, response: &Response) {
        self.status = Some(response.status());
        self.notify_observer(Some(response));
    }

    fn notify_observer(&self, response: Option<&Response>) {
        if let Some(observer) = self.observer {
            observer(&Exchanged {
                method: self.method,
                uri: self.uri,
                trace: self.trace,
                response,
                duration: self.started.elapsed(),
            });
        }
    }
}

/// On drop, since a client that hangs up drops everything that was done for it.
impl Drop for RequestLog<'_> {
    fn drop(&mut self) {
        // Each is evaluated only if the event is written.
        let method = without_long_part(self.method.as_str());
        let path = || short_path(self.uri.path());
        let client = self.client.ip();
        let duration_ms = || milliseconds(self.started.elapsed());
        let is_health_check = self.health_paths.contains(&self.uri.path());
        match self.status.map(|status| (status.as_u16(), status.is_success())) {
            Some((status, true)) if is_health_check => {
                debug!(%method, path = &*path(), status, duration_ms = duration_ms(), %client, "request answered");
            }
            Some((status, _)) => {
                info!(%method, path = &*path(), status, duration_ms = duration_ms(), %client, "request answered");
            }
            None => {
                warn!(%method, path = &*path(), duration_ms = duration_ms(), %client, "client left before the response");
                self.notify_observer(None);
            }
        }
    }
}

/// In whole microseconds, which have few digits.
fn milliseconds(duration: Duration) -> f64 {
    f64::from(u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)) / 1_000.0
}
