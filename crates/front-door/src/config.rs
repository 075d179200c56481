//! Every deadline and limit, its default and the reason for it.

use std::{fmt, sync::Arc, time::Duration};

use uuid::Uuid;

use crate::{
    client_address::TrustedProxies,
    memory,
    observer::Observer,
    open_files,
    refusal::{ErrorPages, plain_error_page},
    tracer::Tracer,
};

/// Makes the id of the next request. A UUIDv7 sorts the logs by time; this crate reads neither clock nor
/// randomness.
pub type RequestIds = Arc<dyn Fn() -> Uuid + Send + Sync>;

/// The minimum that hyper needs to parse a request's head.
const MINIMUM_HEADER_BYTES: usize = 8 * 1024;

/// How a [`FrontDoor`](crate::FrontDoor) behaves.
#[derive(Clone)]
pub struct FrontDoorConfig {
    /// How long anything may take.
    pub deadlines: Deadlines,
    /// How much of anything there may be.
    pub limits: Limits,
    /// The proxies that are trusted to give the client's address. Default: none.
    pub trusted_proxies: TrustedProxies,
    /// Whether people reach this service by https, here or at a proxy: sends `Strict-Transport-Security`.
    /// Default: no.
    pub https: bool,
    /// The paths that only health checks ask for: requests that succeed there are logged at DEBUG. Default:
    /// none.
    pub health_paths: &'static [&'static str],
    /// The paths at which bodies may have more bytes than [`Limits::body_bytes`], and how many. The
    /// application must bound the memory of these bodies: the default of [`Limits::connections`] does not
    /// account for it. Default: none.
    pub larger_bodies: &'static [(&'static str, usize)],
    /// Makes the id of each request that no trusted proxy gave one.
    pub request_ids: RequestIds,
    /// The bodies of the front door's refusals. Default: the reason phrase of the status.
    pub error_pages: ErrorPages,
    /// Called after each request. Default: nothing.
    pub observer: Option<Observer>,
    /// Begins the trace of every request. Default: requests have none, and the log has the trace id that a
    /// trusted proxy sent.
    pub tracer: Option<Tracer>,
}

impl FrontDoorConfig {
    /// The defaults, with `request_ids` to name the requests.
    pub fn new(request_ids: RequestIds) -> Self {
        Self {
            deadlines: Deadlines::default(),
            limits: Limits::default(),
            trusted_proxies: TrustedProxies::default(),
            https: false,
            health_paths: &[],
            larger_bodies: &[],
            request_ids,
            error_pages: Arc::new(plain_error_page),
            observer: None,
            tracer: None,
        }
    }

    /// How many bytes the body of a request to this path may have.
    pub(crate) fn most_body_bytes(&self, path: &str) -> usize {
        let larger = self.larger_bodies.iter().find(|(at, _)| *at == path);
        larger.map_or(self.limits.body_bytes, |(_, bytes)| *bytes)
    }

    /// How many bytes of unsent answers to hold before clients that read nothing get the short timeout.
    pub(crate) fn most_unsent(&self) -> u64 {
        self.limits
            .unsent_bytes
            .unwrap_or_else(|| memory::most_unsent(memory::limit()))
    }

    /// Refuses what cannot work and returns the number of connections to hold at once.
    pub(crate) fn connection_cap(&self) -> Result<usize, ConfigError> {
        for (name, deadline) in [
            ("header_read", self.deadlines.header_read),
            ("saturated_timeout", self.deadlines.saturated_timeout),
            ("keep_alive", self.deadlines.keep_alive),
            ("body", self.deadlines.body),
            ("handler", self.deadlines.handler),
            ("response", self.deadlines.response),
            ("stalled_response", self.deadlines.stalled_response),
        ] {
            if deadline.is_zero() {
                return Err(ConfigError::ZeroDeadline { name });
            }
        }
        if self.limits.header_bytes < MINIMUM_HEADER_BYTES {
            return Err(ConfigError::HeaderBytes {
                given: self.limits.header_bytes,
            });
        }
        if self.limits.headers == 0 {
            return Err(ConfigError::NoHeaders);
        }
        let open_files = open_files::limit();
        match self.limits.connections {
            Some(0) => Err(ConfigError::NoConnections),
            Some(given) if open_files.is_some_and(|limit| given >= limit) => {
                Err(ConfigError::ConnectionsAboveOpenFiles {
                    given,
                    limit: open_files.unwrap_or_default(),
                })
            }
            Some(given) => Ok(given),
            None => Ok(
                open_files::default_connections(open_files).min(memory::most_connections(memory::limit()))
            ),
        }
    }
}

impl fmt::Debug for FrontDoorConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("FrontDoorConfig")
            .field("deadlines", &self.deadlines)
            .field("limits", &self.limits)
            .field("trusted_proxies", &self.trusted_proxies)
            .field("https", &self.https)
            .finish_non_exhaustive()
    }
}

/// How long anything may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// From a request's first byte (or from the connection, for the first request) to the end of its headers;
    /// then the connection is closed. Default: 10 s.
    pub header_read: Duration,
    /// The deadline of each client once all connections are in use and others wait for one: for its headers,
    /// for its body, whether read or discarded after a refusal, and until some bytes of its answer move, of
    /// which each 256 KiB may take five times as long. While saturation continues, until no client has waited
    /// for 10 s, it falls to a quarter for headers and bodies and to a half for answers. During the drain, it
    /// also applies to headers and discarded bodies. Default: 1 s.
    pub saturated_timeout: Duration,
    /// How long a connection may stay open between two requests. A proxy must close its idle connections
    /// **sooner**, or it will now and then send a request into one that is just being closed. Default: 300 s,
    /// well above what nginx (60 s), Go and Traefik (90 s) and Caddy (120 s) keep by default. An idle
    /// connection is closed as soon as a client waits for a place.
    pub keep_alive: Duration,
    /// From the end of the headers to the end of the body; then reading fails and the answer is 408. Default:
    /// 10 s.
    pub body: Duration,
    /// How long the handler may take, not counting the time it waits for the client to send the body; then it
    /// is dropped and the answer is 503. Default: 10 s.
    pub handler: Duration,
    /// How long the client may take to accept the answer; then the connection is closed. An answer whose
    /// length is not known when it begins has this long for each 256 KiB instead, so that its total time is
    /// not limited, but its rate is. Default: 60 s.
    pub response: Duration,
    /// How long none of the bytes of an answer may move although some are ready; then the connection is
    /// closed, however much time [`response`](Self::response) leaves. While others wait, and while
    /// [too much](Limits::unsent_bytes) is unsent, [`saturated_timeout`](Self::saturated_timeout) counts.
    /// Default: 15 s.
    pub stalled_response: Duration,
    /// How long idle connections stay open for a last request when the drain begins: it is answered, with
    /// `Connection: close`. A busy client learns of the end before its connection is closed, and loses no
    /// request. Default: 2 s.
    pub idle_grace: Duration,
    /// How long to keep accepting after the shutdown began and [`Readiness`](crate::Readiness) said so, so
    /// that a load balancer can turn away first. Default: 0 s.
    pub not_ready_notice: Duration,
    /// From the last accepted connection until the requests in flight are cut off. Default: 20 s, so that a
    /// container engine that kills after 30 s never has to.
    pub drain: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            header_read: Duration::from_secs(10),
            saturated_timeout: Duration::from_secs(1),
            keep_alive: Duration::from_secs(300),
            body: Duration::from_secs(10),
            handler: Duration::from_secs(10),
            response: Duration::from_secs(60),
            stalled_response: Duration::from_secs(15),
            idle_grace: Duration::from_secs(2),
            not_ready_notice: Duration::ZERO,
            drain: Duration::from_secs(20),
        }
    }
}

/// How much of anything there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes in a request's body, however it is framed; more is answered with 413, except where there may be
    /// [more](FrontDoorConfig::larger_bodies). Default: 64 KiB.
    pub body_bytes: usize,
    /// Bytes in a request's head (request line and headers), at least 8 KiB; more is answered with 431.
    /// Default: 32 KiB.
    pub header_bytes: usize,
    /// Headers of a request; more are answered with 431. Default: 64.
    pub headers: usize,
    /// Connections at once; further ones wait, one accepted and the others in the kernel's queue. Below the
    /// limit of open files. Default (`None`), the least of: three quarters of that limit or what leaves 512
    /// files for others, whichever is more; half of the memory that the process may use, at 384 KiB for each;
    /// and 10,000.
    pub connections: Option<usize>,
    /// Bytes of answers that wait in this process for clients to read them; each answer counts as a whole
    /// until its end is read. While there are more, slow readers have the short timeout as if others waited.
    /// Default (`None`): a sixteenth of the memory that the process may use, and at most 64 MiB.
    pub unsent_bytes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 64 * 1024,
            header_bytes: 32 * 1024,
            headers: 64,
            connections: None,
            unsent_bytes: None,
        }
    }
}

/// Why a [`FrontDoorConfig`] cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A deadline of zero would refuse every request.
    #[error("the deadline `{name}` is zero: give it some time, for instance 10 s")]
    ZeroDeadline {
        /// The field of [`Deadlines`].
        name: &'static str,
    },
    /// hyper needs room to parse a request's head.
    #[error("{given} bytes for the headers of a request are too few: allow at least {MINIMUM_HEADER_BYTES}")]
    HeaderBytes {
        /// The refused number of bytes.
        given: usize,
    },
    /// Every request has a `Host`.
    #[error("requests need headers: allow at least one")]
    NoHeaders,
    /// No client could be served.
    #[error("a server needs connections: allow at least one")]
    NoConnections,
    /// Each connection is an open file; without one the process could not accept.
    #[error(
        "{given} connections need more than the {limit} open files of this process: allow fewer connections or raise the limit (ulimit -n, LimitNOFILE)"
    )]
    ConnectionsAboveOpenFiles {
        /// The refused number of connections.
        given: usize,
        /// The process's soft limit of open files.
        limit: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(change: impl FnOnce(&mut FrontDoorConfig)) -> FrontDoorConfig {
        let mut config = FrontDoorConfig::new(Arc::new(Uuid::nil));
        change(&mut config);
        config
    }

    #[test]
    fn default_limits_are_valid_and_below_the_open_file_limit() {
        let cap = config(|_| ()).connection_cap();
        assert!(cap.is_ok_and(|cap| cap > 0 && open_files::limit().is_none_or(|limit| cap < limit)));
    }

    #[test]
    fn default_deadlines_give_each_part_of_a_request_ten_seconds() {
        let Deadlines {
            header_read,
            body,
            handler,
            ..
        } = Deadlines::default();
        assert_eq!([header_read, body, handler], [Duration::from_secs(10); 3]);
    }

    #[test]
    fn invalid_configuration_is_rejected_by_setting_name() {
        let refused = |change: fn(&mut FrontDoorConfig)| config(change).connection_cap().err();
        assert_eq!(
            refused(|config| config.deadlines.body = Duration::ZERO),
            Some(ConfigError::ZeroDeadline { name: "body" })
        );
        assert_eq!(
            refused(|config| config.limits.header_bytes = 100),
            Some(ConfigError::HeaderBytes { given: 100 })
        );
        assert_eq!(
            refused(|config| config.limits.headers = 0),
            Some(ConfigError::NoHeaders)
        );
        assert_eq!(
            refused(|config| config.limits.connections = Some(0)),
            Some(ConfigError::NoConnections)
        );
    }

    #[test]
    fn connection_limit_over_the_open_file_limit_is_rejected() {
        let Some(limit) = open_files::limit() else { return };
        assert_eq!(
            config(|config| config.limits.connections = Some(limit)).connection_cap(),
            Err(ConfigError::ConnectionsAboveOpenFiles { given: limit, limit })
        );
    }
}
