//! Traces of requests and background tasks, which an OpenTelemetry collector is sent.
//!
//! Spans are those of `tracing`: of requests, those in which the log has their ids, with the target
//! [`TRACED`]; all others have the target [`TRACES`] and are enabled only if there is a collector. Without
//! one, each costs what any disabled callsite costs. The log does not see them. A sampled span that ends is
//! put into a bounded [`SpanQueue`], and one [task](exporter) sends the spans that wait there; nothing else
//! waits for the collector.

mod collector;
mod endpoint;
mod exporter;
mod headers;
mod queue;
mod request_spans;
mod sampling;

use std::env;
use std::path::Path;
use std::sync::Arc;

use keyward_domain::id::AuditEventId;
use keyward_domain::sources::Sources;
use keyward_front_door::{Observer, TRACED, Tracer};
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::EnvResourceDetector;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider, SpanLimits};
use tracing::field::Empty;
use tracing::{Span, Subscriber, trace_span};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

pub(crate) use self::exporter::RunningExporter;
pub(crate) use self::queue::SpanCounts;
pub(crate) use self::sampling::SamplingRatio;

use self::collector::{Collector, TlsError};
use self::endpoint::{Endpoint, InvalidEndpoint};
use self::exporter::Exporter;
use self::headers::HeadersError;
use self::queue::SpanQueue;

pub(crate) use keyward_persistence::TRACES;

/// The name of the service, unless the environment has one.
const SERVICE: &str = "keyward";

pub(crate) struct TraceSettings<'a> {
    /// The URL of the collector.
    pub(crate) endpoint: &'a str,
    /// Its lines are headers for the collector (`NAME: VALUE`); they replace those of the environment.
    pub(crate) headers_file: Option<&'a Path>,
    pub(crate) sampling: SamplingRatio,
}

/// Why requests cannot be traced.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TracesError {
    #[error("invalid --otlp-endpoint")]
    Endpoint(#[from] InvalidEndpoint),
    #[error(transparent)]
    Headers(#[from] HeadersError),
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// The traces of one server.
pub(crate) struct Traces {
    provider: SdkTracerProvider,
    queue: Arc<SpanQueue>,
    exporter: Exporter,
}

impl Traces {
    /// Checks the settings. Nothing is sent yet.
    pub(crate) fn prepared(settings: &TraceSettings<'_>, sources: &Sources) -> Result<Self, TracesError> {
        let endpoint: Endpoint = settings.endpoint.parse()?;
        let headers = headers::configured(settings.headers_file, |name| env::var_os(name))?;
        let resource = resource(sources);
        let queue = Arc::new(SpanQueue::default());
        let exporter = Exporter::new(Collector::new(endpoint, headers)?, Arc::clone(&queue), &resource);
        let root = Sampler::TraceIdRatioBased(settings.sampling.ratio());
        let provider = SdkTracerProvider::builder()
            .with_sampler(Sampler::ParentBased(Box::new(root)))
            // Otherwise the environment could make spans lose the identifier of their request.
            .with_span_limits(SpanLimits::default())
            .with_span_processor(queue::Processor(Arc::clone(&queue)))
            .with_resource(resource)
            .build();
        Ok(Self {
            provider,
            queue,
            exporter,
        })
    }

    /// The layer that turns spans of `tracing` into spans of OpenTelemetry.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + Send + Sync + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        layer(self.provider.tracer(SERVICE))
    }

    /// Begins the trace of each request.
    pub(crate) fn tracer(is_https: bool) -> Tracer {
        request_spans::tracer(is_https)
    }

    /// Completes the span of each request.
    pub(crate) fn observer() -> Observer {
        request_spans::observer()
    }

    /// Counts of exported and dropped spans, for metrics.
    pub(crate) fn counts(&self) -> Arc<SpanCounts> {
        self.queue.counts()
    }

    /// Sends spans from now on.
    pub(crate) fn start(self) -> RunningExporter {
        self.exporter.start(self.provider)
    }
}

/// The span of one run of a background task, which begins a trace of its own.
pub(crate) fn task_span(task: &'static str) -> Span {
    trace_span!(
        target: TRACES,
        parent: None,
        "task",
        otel.name = task,
        otel.kind = "internal",
        otel.status_code = Empty,
    )
}

fn layer<S>(tracer: SdkTracer) -> impl Layer<S> + Send + Sync
where
    S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
{
    tracing_opentelemetry::layer()
        .with_tracer(tracer)
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_level(false)
        .with_tracked_inactivity(false)
        // The current span is the one of `tracing`: another current context would be kept for each thread.
        .with_context_activation(false)
        .with_filter(filter_fn(|metadata| {
            metadata.is_span() && [TRACES, TRACED].contains(&metadata.target())
        }))
}

/// The resource attributes of the spans. Those in the environment come first.
fn resource(sources: &Sources) -> Resource {
    let instance = sources.next_id::<AuditEventId>().as_uuid();
    let mut resource = Resource::builder_empty()
        .with_service_name(SERVICE)
        .with_attributes([
            KeyValue::new("service.version", env!("VERSION_WITH_COMMIT")),
            KeyValue::new("service.instance.id", instance.to_string()),
        ])
        .with_detector(Box::new(EnvResourceDetector::new()));
    if let Some(name) = env::var("OTEL_SERVICE_NAME").ok().filter(|name| !name.is_empty()) {
        resource = resource.with_service_name(name);
    }
    resource.build()
}
