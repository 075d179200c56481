//! Measurements since the start of the process, in Prometheus's text format.

use metrics::{Counter, Histogram, Key, KeyName, Label, Level, Metadata, Recorder, SharedString};
use metrics_exporter_prometheus::{
    BuildError, Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};

use crate::metric::{ALL, Kind, Metric, SECONDS};

const METADATA: Metadata<'static> = Metadata::new("keyward", Level::INFO, None);

/// The measurements of one server. They are not global, because tests have several, and a server without
/// metrics must not pay for them.
pub(crate) struct Measurements {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    #[cfg(test)]
    registrations: std::sync::atomic::AtomicUsize,
}

impl Measurements {
    /// # Errors
    /// Never, because the buckets are a constant.
    pub(crate) fn new() -> Result<Self, BuildError> {
        let mut builder = PrometheusBuilder::new();
        for metric in ALL.iter().filter(|metric| metric.kind == Kind::Histogram) {
            builder = builder.set_buckets_for_metric(Matcher::Full(metric.name.to_owned()), SECONDS)?;
        }
        let recorder = builder.build_recorder();
        for metric in ALL {
            let name = KeyName::from_const_str(metric.name);
            let description = SharedString::const_str(metric.description);
            match metric.kind {
                Kind::Counter => recorder.describe_counter(name, None, description),
                Kind::Gauge => recorder.describe_gauge(name, None, description),
                Kind::Histogram => recorder.describe_histogram(name, None, description),
            }
        }
        Ok(Self {
            handle: recorder.handle(),
            recorder,
            #[cfg(test)]
            registrations: std::sync::atomic::AtomicUsize::default(),
        })
    }

    /// A counter with these labels, for callers that count often to keep.
    pub(crate) fn counter(&self, counter: &Metric, labels: Vec<Label>) -> Counter {
        let key = Key::from_parts(counter.name, labels);
        self.recorder().register_counter(&key, &METADATA)
    }

    /// A histogram with these labels, for callers that measure often to keep.
    pub(crate) fn histogram(&self, histogram: &Metric, labels: Vec<Label>) -> Histogram {
        let key = Key::from_parts(histogram.name, labels);
        self.recorder().register_histogram(&key, &METADATA)
    }

    /// Sets a counter that is kept elsewhere.
    pub(crate) fn set_count(&self, counter: &Metric, labels: Vec<Label>, count: u64) {
        let key = Key::from_parts(counter.name, labels);
        self.recorder().register_counter(&key, &METADATA).absolute(count);
    }

    /// Replaces the value of a gauge with these labels.
    pub(crate) fn set(&self, gauge: &Metric, labels: Vec<Label>, value: f64) {
        let key = Key::from_parts(gauge.name, labels);
        self.recorder().register_gauge(&key, &METADATA).set(value);
    }

    fn recorder(&self) -> &PrometheusRecorder {
        #[cfg(test)]
        self.registrations
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        &self.recorder
    }

    /// How often a metric was looked up by its labels.
    #[cfg(test)]
    pub(crate) fn registrations(&self) -> usize {
        self.registrations.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Sorts the values of histograms into their buckets; until then, each takes memory.
    pub(crate) fn sort(&self) {
        self.handle.run_upkeep();
    }

    /// Everything, as Prometheus's text format.
    pub(crate) fn to_text(&self) -> String {
        self.handle.render()
    }
}
