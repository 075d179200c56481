//! Sends spans to the collector, beside the requests.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use keyward_domain::failure_sentence::sentence;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData};
use prost::Message as _;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use super::collector::Collector;
use super::queue::{BATCH, CAPACITY, SpanQueue};
use crate::job::{self, End, RunningJob, rest};

/// How long a span waits for others at most.
const INTERVAL: Duration = Duration::from_secs(1);

/// The pauses between attempts to send one batch: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// How long shutdown waits for the last spans.
const FLUSH_LIMIT: Duration = Duration::from_secs(3);

/// Sends what waits in the queue.
pub(super) struct Exporter {
    collector: Collector,
    queue: Arc<SpanQueue>,
    resource: ResourceAttributesWithSchema,
    /// A batch that the collector has yet to accept.
    unsent: Option<Batch>,
    /// The failure that was logged last, until it works again.
    failing: Option<Failure>,
}

/// How an attempt fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    /// The collector does not answer, or not now; the spans wait for the next attempt.
    Away,
    /// The collector does not take the spans, which are lost.
    Refusal,
}

/// Spans as they are sent.
struct Batch {
    encoded: Bytes,
    spans: u64,
}

/// An exporter at work.
pub(crate) struct RunningExporter {
    job: RunningJob,
    /// Spans end until it is dropped.
    _provider: SdkTracerProvider,
}

impl RunningExporter {
    /// Sends the remaining spans, within a time limit.
    pub(crate) async fn finish(self) {
        self.job.finish().await;
    }
}

impl Exporter {
    pub(super) fn new(collector: Collector, queue: Arc<SpanQueue>, resource: &Resource) -> Self {
        Self {
            collector,
            queue,
            resource: resource.into(),
            unsent: None,
            failing: None,
        }
    }

    pub(super) fn start(self, provider: SdkTracerProvider) -> RunningExporter {
        info!(endpoint = %self.collector.endpoint(), "traces are exported");
        RunningExporter {
            job: job::start("traces", |end| self.run(end)),
            _provider: provider,
        }
    }

    async fn run(mut self, mut end: End) {
        loop {
            tokio::select! {
                biased;
                _ = end.changed() => break,
                () = self.queue.batch() => {}
                () = sleep(INTERVAL) => {}
            }
            if self.send_waiting(&mut end).await.is_break() {
                break;
            }
        }
        let _late = timeout(FLUSH_LIMIT, self.flush()).await;
        let lost = self.waiting();
        if lost > 0 {
            warn!(spans = lost, "spans of traces lost at shutdown");
        }
    }

    /// Sends one batch, and more while enough spans for a whole batch wait: fewer wait for the next interval,
    /// because each batch uses a connection. A batch is sent again until the collector accepts or refuses it.
    async fn send_waiting(&mut self, end: &mut End) -> ControlFlow<()> {
        let mut pause = PAUSES.0;
        while self.next_batch() {
            let attempt = tokio::select! {
                biased;
                _ = end.changed() => return ControlFlow::Break(()),
                attempt = self.attempt() => attempt,
            };
            match attempt {
                Ok(()) if self.queue.len() < BATCH => break,
                Ok(()) => pause = PAUSES.0,
                Err(wanted) => {
                    rest(pause_before_retry(wanted, pause), end).await?;
                    pause = (pause * 2).min(PAUSES.1);
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Sends all that waits, until that fails.
    async fn flush(&mut self) {
        while self.next_batch() {
            if self.attempt().await.is_err() {
                break;
            }
        }
    }

    /// Whether there is something to send.
    fn next_batch(&mut self) -> bool {
        if self.unsent.is_none() {
            let spans = self.queue.take();
            self.unsent = (!spans.is_empty()).then(|| self.encode(spans));
        }
        self.unsent.is_some()
    }

    fn encode(&self, spans: Vec<SpanData>) -> Batch {
        let count = as_count(spans.len());
        let request = ExportTraceServiceRequest {
            resource_spans: group_spans_by_resource_and_scope(spans, &self.resource),
        };
        Batch {
            encoded: request.encode_to_vec().into(),
            spans: count,
        }
    }

    /// Sends the batch once. Fails if it is worth another attempt, with the pause that the collector wants.
    async fn attempt(&mut self) -> Result<(), Option<Duration>> {
        let Some(batch) = &self.unsent else {
            return Ok(());
        };
        let spans = batch.spans;
        let sent = self.collector.send(batch.encoded.clone()).await;
        let counts = self.queue.counts();
        match sent {
            Ok(rejected) => {
                let rejected = rejected.min(spans);
                counts.exported.add(spans - rejected);
                counts.refused.add(rejected);
                if rejected == 0 {
                    self.succeeded();
                } else {
                    self.failed(
                        Failure::Refusal,
                        format!("it rejected {rejected} of {spans} spans"),
                    );
                }
            }
            Err(error) => {
                if error.is_temporary() {
                    self.failed(Failure::Away, sentence(&error));
                    return Err(error.retry_after());
                }
                self.failed(Failure::Refusal, sentence(&error));
                counts.refused.add(spans);
            }
        }
        self.unsent = None;
        Ok(())
    }

    /// One line when it begins to fail, or to fail in the other way: that spans are lost is news.
    fn failed(&mut self, failure: Failure, cause: String) {
        if self.failing != Some(failure) {
            warn!(
                cause,
                endpoint = %self.collector.endpoint(),
                queue_capacity = CAPACITY,
                "trace export failed"
            );
        }
        self.failing = Some(failure);
    }

    /// One line when it works again.
    fn succeeded(&mut self) {
        if self.failing.take().is_some() {
            let counts = self.queue.counts();
            let dropped = counts.queue_full.get() + counts.refused.get();
            info!(dropped_since_start = dropped, "trace export works again");
        }
    }

    fn waiting(&self) -> u64 {
        let unsent = self.unsent.as_ref().map_or(0, |batch| batch.spans);
        unsent + as_count(self.queue.len())
    }
}

/// The collector may ask for a longer pause than the next one, up to the longest, but not for a shorter one:
/// `Retry-After: 0` would be answered by one attempt after another.
fn pause_before_retry(wanted: Option<Duration>, pause: Duration) -> Duration {
    wanted.map_or(pause, |wanted| wanted.clamp(pause, PAUSES.1))
}

/// `usize` has at most 64 bits.
fn as_count(spans: usize) -> u64 {
    u64::try_from(spans).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::pause_before_retry;

    #[test]
    fn collector_may_lengthen_a_pause_but_not_shorten_it() {
        let seconds = Duration::from_secs;
        for (wanted, pause, expected) in [
            (None, 2, 2),
            (Some(0), 2, 2),
            (Some(7), 2, 7),
            (Some(120), 2, 30),
            (Some(0), 30, 30),
        ] {
            let chosen = pause_before_retry(wanted.map(seconds), seconds(pause));
            assert_eq!(chosen, seconds(expected), "{wanted:?} {pause}");
        }
    }
}
