//! One event per request.

use std::{borrow::Cow, net::SocketAddr};

use poem::{
    Response,
    http::{Method, StatusCode, Uri},
};
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::{
    config::FrontDoorConfig,
    observer::{Exchanged, Observer},
};

/// The most bytes of a method, or of a part of a path, that are written down. Ids and slugs have at most 40; what is longer
/// may be a token that somebody put where its id belongs.
const LONGEST_PART: usize = 40;

/// The most bytes of a path that are written down.
const LONGEST_PATH: usize = 1_024;

/// Writes down one request: what was asked by whom and how it ended. Never a query string or a header, which may hold
/// secrets. Its id is in the span around it.
pub(crate) struct RequestLog<'a> {
    method: &'a Method,
    uri: &'a Uri,
    client: SocketAddr,
    started: Instant,
    health_paths: &'a [&'a str],
    observer: Option<&'a Observer>,
    status: Option<StatusCode>,
}

impl<'a> RequestLog<'a> {
    pub(crate) fn begin(
        method: &'a Method,
        uri: &'a Uri,
        client: SocketAddr,
        started: Instant,
        config: &'a FrontDoorConfig,
    ) -> Self {
        Self {
            method,
            uri,
            client,
            started,
            health_paths: config.health_paths,
            observer: config.observer.as_ref(),
            status: None,
        }
    }

    pub(crate) fn answered(mut self, response: &Response) {
        self.status = Some(response.status());
        self.tell_observer(Some(response));
    }

    fn tell_observer(&self, response: Option<&Response>) {
        if let Some(observer) = self.observer {
            observer(&Exchanged {
                uri: self.uri,
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
        let duration_ms = || self.started.elapsed().as_secs_f64() * 1_000.0;
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
                self.tell_observer(None);
            }
        }
    }
}

fn short_path(path: &str) -> Cow<'_, str> {
    if path.len() <= LONGEST_PART {
        return path.into();
    }
    let mut short = String::with_capacity(path.len().min(LONGEST_PATH));
    for (index, part) in path.split('/').map(without_long_part).enumerate() {
        if short.len() + part.len() >= LONGEST_PATH {
            short.push_str("/…");
            break;
        }
        if index > 0 {
            short.push('/');
        }
        short.push_str(part);
    }
    short.into()
}

fn without_long_part(part: &str) -> &str {
    if part.len() > LONGEST_PART { "…" } else { part }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_path_segments_and_long_paths_are_truncated() {
        assert_eq!(short_path("/"), "/");
        assert_eq!(short_path("/a//b/"), "/a//b/");
        assert_eq!(short_path(&format!("/a/{}/b", "x".repeat(41))), "/a/…/b");
        let path = "/abc".repeat(5_000);
        let long = short_path(&path);
        assert!(
            long.len() <= LONGEST_PATH + 4 && long.ends_with("/abc/…"),
            "{long}"
        );
        assert_eq!(without_long_part(&"M".repeat(5_000)), "…");
    }
}
