//! Spans that wait to be sent.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use keyward_verification_cache::Count;
use opentelemetry::Context;
use opentelemetry::trace::SpanKind;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// How many spans wait at most: some 2 MiB. Further ones are dropped.
pub(super) const CAPACITY: usize = 2_048;

/// How many are sent at once.
pub(super) const BATCH: usize = 512;

/// Spans that ended and were not sent yet.
#[derive(Debug, Default)]
pub(super) struct SpanQueue {
    spans: Mutex<Vec<SpanData>>,
    /// Notified when a whole batch waits.
    has_batch: Notify,
    counts: Arc<SpanCounts>,
}

/// Counts of exported and dropped spans.
#[derive(Debug, Default)]
pub(crate) struct SpanCounts {
    /// How many the collector accepted.
    pub(crate) exported: Count,
    /// How many found the queue full.
    pub(crate) queue_full: Count,
    /// How many the collector did not want.
    pub(crate) refused: Count,
}

impl SpanQueue {
    pub(super) fn counts(&self) -> Arc<SpanCounts> {
        Arc::clone(&self.counts)
    }

    fn push(&self, span: SpanData) {
        let mut spans = self.spans.lock();
        if spans.len() >= CAPACITY {
            drop(spans);
            self.counts.queue_full.add(1);
            return;
        }
        spans.push(span);
        let is_batch = spans.len() == BATCH;
        drop(spans);
        if is_batch {
            self.has_batch.notify_one();
        }
    }

    /// Waits for a whole batch.
    pub(super) async fn batch(&self) {
        self.has_batch.notified().await;
    }

    /// The oldest, at most a batch.
    pub(super) fn take(&self) -> Vec<SpanData> {
        let mut spans = self.spans.lock();
        if spans.len() <= BATCH {
            return mem::take(&mut *spans);
        }
        let rest = spans.split_off(BATCH);
        mem::replace(&mut *spans, rest)
    }

    pub(super) fn len(&self) -> usize {
        self.spans.lock().len()
    }
}

/// Puts spans that end into the queue. It waits for nothing.
#[derive(Debug)]
pub(super) struct Processor(pub(super) Arc<SpanQueue>);

impl SpanProcessor for Processor {
    fn on_start(&self, _span: &mut Span, _context: &Context) {}

    fn on_end(&self, mut span: SpanData) {
        as_server_span(&mut span);
        self.0.push(span);
    }

    /// The exporter does it when the server ends.
    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// The span of a request is that of the log, which has no use for the kind, and repeats the trace's id.
fn as_server_span(span: &mut SpanData) {
    if span
        .attributes
        .iter()
        .any(|attribute| attribute.key.as_str() == "request_id")
    {
        span.span_kind = SpanKind::Server;
        span.attributes
            .retain(|attribute| attribute.key.as_str() != "trace_id");
    }
}

#[cfg(test)]
pub(super) mod tests {
    use opentelemetry::InstrumentationScope;
    use opentelemetry::trace::{SpanContext, SpanId, Status};
    use opentelemetry_sdk::trace::{SpanEvents, SpanLinks};
    use std::time::UNIX_EPOCH;

    use super::*;

    /// Has no parent, attributes or duration.
    pub(crate) fn span(name: &'static str) -> SpanData {
        SpanData {
            span_context: SpanContext::empty_context(),
            parent_span_id: SpanId::INVALID,
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: name.into(),
            start_time: UNIX_EPOCH,
            end_time: UNIX_EPOCH,
            attributes: Vec::new(),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: InstrumentationScope::default(),
        }
    }

    #[test]
    fn full_queue_drops_and_counts_further_spans() {
        let queue = SpanQueue::default();
        queue.push(span("first"));
        for _ in 1..CAPACITY + 3 {
            queue.push(span("further"));
        }
        assert_eq!((queue.len(), queue.counts().queue_full.get()), (CAPACITY, 3));
        let batch = queue.take();
        assert_eq!((batch.len(), &*batch[0].name), (BATCH, "first"));
        assert_eq!(queue.len(), CAPACITY - BATCH);
        queue.push(span("room again"));
        assert_eq!(queue.counts().queue_full.get(), 3);
    }

    #[tokio::test]
    async fn whole_batch_is_notified_of() {
        let queue = SpanQueue::default();
        for _ in 0..BATCH {
            queue.push(span("one"));
        }
        queue.batch().await;
        assert_eq!((queue.take().len(), queue.take().len()), (BATCH, 0));
    }
}
