//! Values that are read at each scrape of the metrics.

use std::fs;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use keyward_front_door::Occupancy;
use keyward_verification_cache::{BootClock, Lookups, VerificationCache};
use metrics::Label;
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::watch;

use crate::measurements::Measurements;
use crate::metric::{
    BUILD, CACHE_EMPTIED, CACHE_ENTRIES, CACHE_EVICTIONS, CACHE_FILLS, CACHE_HITS, CACHE_MISSES, CHANGE_SEEN,
    CHANGES_WORK, CONNECTIONS_IN_USE, CONNECTIONS_LIMIT, CONNECTIONS_SATURATED, CPU, DATABASE_FAILURES,
    LEASE_HELD, LEASE_LEFT, MOST_FILES, Metric, OPEN_FILES, POOL_IN_USE, POOL_LIMIT, POOL_OPEN, POOL_WAITING,
    RESIDENT_MEMORY, SPANS_DROPPED, SPANS_EXPORTED, TASK_DURATION, TASK_FAILURES, TASK_RECORDS, TASK_SUCCESS,
    TASK_WAITING, VIRTUAL_MEMORY,
};
use crate::outage::DatabaseFailures;
use crate::replica_job::Progress;
use crate::runs::MeasuredTask;
use crate::store::Store;
use crate::traces::SpanCounts;
use crate::trial_changes::Changes;

/// The parts of a server that are asked, none of which waits for anything: neither the database nor another
/// server.
pub(crate) struct Readings {
    /// None if verifications are not kept in memory.
    pub(crate) cache: Option<Arc<VerificationCache>>,
    pub(crate) occupancy: Occupancy,
    pub(crate) lookups: Arc<Lookups>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) boot_clock: Arc<dyn BootClock>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) failures: Arc<DatabaseFailures>,
    pub(crate) changes: watch::Receiver<Changes>,
    /// None if nothing is traced.
    pub(crate) spans: Option<Arc<SpanCounts>>,
}

impl Readings {
    /// Asks all of them, and the tasks that run beside the requests.
    pub(crate) fn take(&self, tasks: &[MeasuredTask], measurements: &Measurements) {
        let version = Label::new("version", env!("VERSION_WITH_COMMIT"));
        measurements.set(&BUILD, vec![version], 1.0);
        self.take_connections(measurements);
        self.take_cache(measurements);
        self.take_database(measurements);
        self.take_spans(measurements);
        for task in tasks {
            take_task(task, measurements);
        }
        take_process(measurements);
    }

    fn take_connections(&self, measurements: &Measurements) {
        set(measurements, &CONNECTIONS_LIMIT, as_u64(self.occupancy.limit()));
        set(measurements, &CONNECTIONS_IN_USE, as_u64(self.occupancy.in_use()));
        let saturated = self.occupancy.saturated_for().as_secs();
        measurements.set_count(&CONNECTIONS_SATURATED, Vec::new(), saturated);
    }

    fn take_cache(&self, measurements: &Measurements) {
        let Some(cache) = &self.cache else { return };
        for (metric, count) in [
            (&CACHE_HITS, &self.lookups.hits),
            (&CACHE_MISSES, &self.lookups.misses),
            (&CACHE_FILLS, &self.lookups.fills),
            (&CACHE_EVICTIONS, &self.progress.evictions),
            (&CACHE_EMPTIED, &self.progress.emptied),
        ] {
            measurements.set_count(metric, Vec::new(), count.get());
        }
        set(measurements, &CHANGE_SEEN, self.progress.acknowledged());
        set(measurements, &CACHE_ENTRIES, as_u64(cache.len()));
        let left = cache.lease_left(self.boot_clock.now());
        set(measurements, &LEASE_HELD, u64::from(left.is_some()));
        measurements.set(&LEASE_LEFT, Vec::new(), left.unwrap_or_default().as_secs_f64());
    }

    fn take_spans(&self, measurements: &Measurements) {
        let Some(spans) = &self.spans else { return };
        measurements.set_count(&SPANS_EXPORTED, Vec::new(), spans.exported.get());
        for (reason, count) in [("queue_full", &spans.queue_full), ("refused", &spans.refused)] {
            measurements.set_count(&SPANS_DROPPED, vec![Label::new("reason", reason)], count.get());
        }
    }

    fn take_database(&self, measurements: &Measurements) {
        let failures = [
            ("unavailable", &self.failures.unavailable),
            ("outcome_unknown", &self.failures.outcome_unknown),
        ];
        for (outcome, count) in failures {
            let outcome = Label::new("outcome", outcome);
            measurements.set_count(&DATABASE_FAILURES, vec![outcome], count.get());
        }
        set(
            measurements,
            &CHANGES_WORK,
            u64::from(self.changes.borrow().work()),
        );
        if let Some(pool) = self.store.pool_usage() {
            set(measurements, &POOL_LIMIT, as_u64(pool.limit));
            set(measurements, &POOL_OPEN, as_u64(pool.open));
            set(measurements, &POOL_IN_USE, as_u64(pool.in_use));
            set(measurements, &POOL_WAITING, as_u64(pool.waiting));
        }
    }
}

/// The time of an event that has not happened is absent: no time is earlier than all others.
fn take_task(task: &MeasuredTask, measurements: &Measurements) {
    let summary = task.runs.summary();
    let label = || vec![Label::new("task", task.runs.task())];
    measurements.set_count(&TASK_FAILURES, label(), summary.failures);
    measurements.set_count(&TASK_RECORDS, label(), summary.records);
    if let Some(moment) = summary.last_success {
        measurements.set(&TASK_SUCCESS, label(), seconds_since_1970(moment));
    }
    if let Some(duration) = summary.last_duration {
        measurements.set(&TASK_DURATION, label(), duration.as_secs_f64());
    }
    if let Some(waiting) = &task.waiting {
        measurements.set(&TASK_WAITING, label(), as_float(as_u64(waiting())));
    }
}

fn take_process(measurements: &Measurements) {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    measurements.set_count(&CPU, Vec::new(), u64::try_from(used.tv_sec).unwrap_or_default());
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    for (metric, field) in [(&RESIDENT_MEMORY, "VmRSS:"), (&VIRTUAL_MEMORY, "VmSize:")] {
        if let Some(bytes) = memory(&status, field) {
            set(measurements, metric, bytes);
        }
    }
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        set(measurements, &OPEN_FILES, as_u64(files.count()));
    }
    if let Some(most) = getrlimit(Resource::Nofile).current {
        set(measurements, &MOST_FILES, most);
    }
}

/// In bytes, from the `status` file of Linux.
fn memory(status: &str, field: &str) -> Option<u64> {
    let resident = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: u64 = resident.trim().strip_suffix(" kB")?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

fn set(measurements: &Measurements, gauge: &Metric, value: u64) {
    measurements.set(gauge, Vec::new(), as_float(value));
}

/// `usize` has at most 64 bits.
fn as_u64(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[expect(clippy::as_conversions, reason = "there is no other conversion to f64")]
pub(crate) fn seconds_since_1970(moment: DateTime<Utc>) -> f64 {
    moment.timestamp_millis() as f64 / 1_000.0
}

/// Exact up to 2^53.
#[expect(clippy::as_conversions, reason = "there is no other conversion to f64")]
fn as_float(value: u64) -> f64 {
    value as f64
}
