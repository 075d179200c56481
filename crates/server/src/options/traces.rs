//! The options about traces.

use std::path::PathBuf;

use clap::Args;

use crate::traces::{SamplingRatio, TraceSettings};

/// Which requests are traced, and where their spans are sent.
#[derive(Debug, Args)]
#[command(next_help_heading = "Traces")]
pub(crate) struct TraceOptions {
    /// The OpenTelemetry collector to send traces to over OTLP (HTTP with protobuf), such as
    /// `http://127.0.0.1:4318`
    ///
    /// `/v1/traces` is appended to its path. Names the service `keyward`, unless OTEL_SERVICE_NAME or
    /// OTEL_RESOURCE_ATTRIBUTES name it; other variables of OpenTelemetry are not read, except for headers
    /// (see --otlp-headers-file). Default: no traces.
    #[arg(long, env = "KEYWARD_OTLP_ENDPOINT", value_name = "URL")]
    pub(crate) otlp_endpoint: Option<String>,
    /// The file with headers to send to the collector, such as `Authorization: Bearer …`, one on each line
    ///
    /// It is read at start. Without it, OTEL_EXPORTER_OTLP_TRACES_HEADERS or else OTEL_EXPORTER_OTLP_HEADERS
    /// are read.
    #[arg(
        long,
        env = "KEYWARD_OTLP_HEADERS_FILE",
        value_name = "FILE",
        requires = "otlp_endpoint"
    )]
    pub(crate) otlp_headers_file: Option<PathBuf>,
    /// Which part of the requests to trace, from 0 to 1, if there is a collector
    ///
    /// For a request that comes from a trusted proxy with a valid `traceparent`, the proxy decides instead.
    #[arg(
        long,
        env = "KEYWARD_TRACE_SAMPLING",
        value_name = "RATIO",
        default_value = "0.1"
    )]
    pub(crate) trace_sampling: SamplingRatio,
}

impl TraceOptions {
    /// `None` if traces are off.
    pub(crate) fn settings(&self) -> Option<TraceSettings<'_>> {
        Some(TraceSettings {
            endpoint: self.otlp_endpoint.as_deref()?,
            headers_file: self.otlp_headers_file.as_deref(),
            sampling: self.trace_sampling,
        })
    }
}
