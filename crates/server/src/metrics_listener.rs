//! The listener for Prometheus.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use keyward_domain::clock::Clock as _;
use keyward_front_door::{
    ConfigError, Deadlines, FrontDoor, FrontDoorConfig, Limits, Observer, RequestIds, listen,
};
use keyward_persistence::postgres::WaitObserver;
use keyward_verification_cache::Lookups;
use metrics_exporter_prometheus::BuildError;
use poem::http::{Method, StatusCode, header};
use poem::{Endpoint, Request, Response};
use tokio::net::TcpListener;
use tracing::info;

use crate::clock::SystemClock;
use crate::exposure;
use crate::job::{self, RunningJob, rest};
use crate::measurements::Measurements;
use crate::metric::{POOL_WAITS, STARTED};
use crate::readings::{Readings, seconds_since_1970};
use crate::request_metrics;
use crate::runs::MeasuredTask;

const PATH: &str = "/metrics";

/// One Prometheus needs one; several of them, and a person, some more. They come out of the files that the
/// public listener leaves to others.
const CONNECTIONS: usize = 16;

/// How long the values of histograms wait to be sorted into buckets without a scrape: 100,000 requests in a
/// second take a few MiB until then.
const SORTING_INTERVAL: Duration = Duration::from_secs(1);

/// The text format of Prometheus.
const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Why metrics cannot be served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MetricsListenerError {
    #[error("cannot serve metrics on {address} (choose another address with --metrics-listen)")]
    Listen { address: SocketAddr, source: io::Error },
    #[error(
        "metrics cannot be served on {address}, which is also the address of --listen: choose another port for --metrics-listen"
    )]
    PublicAddress { address: SocketAddr },
    /// With fewer open files than it has connections.
    #[error("invalid connection limits of the metrics listener")]
    Limits(#[from] ConfigError),
    /// Cannot happen: the buckets are a constant.
    #[error("invalid histogram buckets")]
    Buckets(#[from] BuildError),
}

/// A listener beside the public one. It measures from its creation on, and answers once it is started.
pub(crate) struct MetricsListener {
    listener: TcpListener,
    listening_on: SocketAddr,
    front_door: FrontDoor,
    measurements: Arc<Measurements>,
    lookups: Arc<Lookups>,
}

impl MetricsListener {
    /// Listens at an address that is not the public one.
    pub(crate) fn bind(
        address: SocketAddr,
        public: SocketAddr,
        request_ids: RequestIds,
    ) -> Result<Self, MetricsListenerError> {
        if is_same(address, public) {
            return Err(MetricsListenerError::PublicAddress { address });
        }
        let listening = |source| MetricsListenerError::Listen { address, source };
        let listener = listen(address).map_err(listening)?;
        let listening_on = listener.local_addr().map_err(listening)?;
        exposure::warn_of_reachable_metrics(listening_on);
        let front_door = FrontDoor::new(FrontDoorConfig {
            // A scrape is repeated later, so shutdown does not wait for one.
            deadlines: Deadlines {
                idle_grace: Duration::ZERO,
                drain: Duration::from_secs(1),
                ..Deadlines::default()
            },
            limits: Limits {
                connections: Some(CONNECTIONS),
                ..Limits::default()
            },
            // Logged at DEBUG.
            health_paths: &[PATH],
            ..FrontDoorConfig::new(request_ids)
        })?;
        let measurements = Measurements::new()?;
        // Set here, because later steps are slow, such as opening the database.
        measurements.set(&STARTED, Vec::new(), seconds_since_1970(SystemClock.now()));
        Ok(Self {
            listener,
            listening_on,
            front_door,
            measurements: Arc::new(measurements),
            lookups: Arc::default(),
        })
    }

    /// Counts the requests of the public listener.
    pub(crate) fn observer(&self) -> Observer {
        request_metrics::observer(Arc::clone(&self.measurements))
    }

    /// Counts look-ups in the verification cache.
    pub(crate) fn lookups(&self) -> Arc<Lookups> {
        Arc::clone(&self.lookups)
    }

    /// Measures how long requests wait for a database connection.
    pub(crate) fn pool_waits(&self) -> WaitObserver {
        let waits = self.measurements.histogram(&POOL_WAITS, Vec::new());
        Arc::new(move |waited: Duration| waits.record(waited.as_secs_f64()))
    }

    /// Answers scrapes with these readings and those of these tasks, until it is asked to finish.
    pub(crate) fn start(self, readings: Readings, tasks: Vec<MeasuredTask>) -> RunningJob {
        info!(address = %self.listening_on, "metrics listening");
        let measurements = self.measurements;
        let scrapes = Scrapes {
            measurements: Arc::clone(&measurements),
            readings,
            tasks,
        };
        job::start("metrics", move |mut end| async move {
            let until = async {
                while rest(SORTING_INTERVAL, &mut end).await.is_continue() {
                    measurements.sort();
                }
            };
            self.front_door.serve(self.listener, scrapes, until).await;
        })
    }
}

/// Whether one of two listeners would get the connections of the other.
fn is_same(one: SocketAddr, other: SocketAddr) -> bool {
    let is_everywhere = one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() == other.port() && (one.ip() == other.ip() || is_everywhere)
}

struct Scrapes {
    measurements: Arc<Measurements>,
    readings: Readings,
    tasks: Vec<MeasuredTask>,
}

impl Endpoint for Scrapes {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        if request.uri().path() != PATH {
            return Ok(Response::builder()
                .status(StatusCode::NOT_FOUND)
                .content_type("text/plain; charset=utf-8")
                .body(format!("The metrics are at {PATH}\n")));
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Ok(Response::builder()
                .status(StatusCode::METHOD_NOT_ALLOWED)
                .header(header::ALLOW, "GET, HEAD")
                .finish());
        }
        self.readings.take(&self.tasks, &self.measurements);
        Ok(Response::builder()
            .header(header::CACHE_CONTROL, "no-store")
            .content_type(MEDIA_TYPE)
            .body(self.measurements.to_text()))
    }
}

#[cfg(test)]
mod tests {
    use super::is_same;

    #[test]
    fn addresses_collide_by_port_and_address_or_wildcard() {
        let same = |one: &str, other: &str| is_same(one.parse().unwrap(), other.parse().unwrap());
        assert!(same("127.0.0.1:8080", "127.0.0.1:8080"));
        assert!(same("0.0.0.0:8080", "127.0.0.1:8080"));
        assert!(same("127.0.0.1:8080", "[::]:8080"));
        assert!(!same("127.0.0.1:9464", "127.0.0.1:8080"));
        assert!(!same("127.0.0.2:8080", "127.0.0.1:8080"));
    }
}
