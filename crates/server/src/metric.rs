//! All metrics by name. `docs/observability/README.md` describes each one, too.

/// A metric of Prometheus.
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Its meaning in one sentence.
    pub(crate) description: &'static str,
}

/// How its values behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Only grows, until the process ends.
    Counter,
    /// May take any value.
    Gauge,
    /// How many values there were up to each of [`SECONDS`].
    Histogram,
}

/// The upper ends of the buckets of all histograms. A cached verification takes well under a millisecond, a
/// sign-in some hundred, and no request more than ten seconds.
pub(crate) const SECONDS: &[f64] = &[
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0,
];

macro_rules! metrics {
    ($($constant:ident = $kind:ident $name:literal $description:literal;)*) => {
        $(pub(crate) const $constant: Metric = Metric {
            name: $name,
            kind: Kind::$kind,
            description: $description,
        };)*

        /// All that a server exports.
        pub(crate) const ALL: &[Metric] = &[$($constant),*];
    };
}

metrics! {
    BUILD = Gauge "keyward_build_info"
        "Always 1; the label is the version of this server.";
    REQUESTS = Counter "keyward_http_requests_total"
        "Requests that were answered, by operation and status.";
    ABANDONED = Counter "keyward_http_requests_abandoned_total"
        "Requests whose client left before the answer.";
    DURATION = Histogram "keyward_http_request_duration_seconds"
        "Time from the end of a request's head to its answer, by operation.";
    PROBLEMS = Counter "keyward_http_problems_total"
        "Problems that were answered, by code.";
    LIMITED = Counter "keyward_rate_limit_refusals_total"
        "Requests to the API that a rate limit refused, by limit.";
    CONNECTIONS_LIMIT = Gauge "keyward_connections_limit"
        "The maximum number of connections of clients.";
    CONNECTIONS_IN_USE = Gauge "keyward_connections_in_use"
        "Connections of clients that are in use.";
    CONNECTIONS_SATURATED = Counter "keyward_connections_saturated_seconds_total"
        "For how long at least one client waited because all connections were in use, in whole seconds.";
    CACHE_HITS = Counter "keyward_verification_cache_hits_total"
        "Tokens that were found in the verification cache.";
    CACHE_MISSES = Counter "keyward_verification_cache_misses_total"
        "Tokens for which the database was asked.";
    CACHE_FILLS = Counter "keyward_verification_cache_fills_total"
        "Credentials that were added to the verification cache.";
    CACHE_ENTRIES = Gauge "keyward_verification_cache_entries"
        "Credentials in the verification cache.";
    CACHE_EVICTIONS = Counter "keyward_verification_cache_evictions_total"
        "Changes of access after which the verification cache evicted the entries that they affect.";
    CACHE_EMPTIED = Counter "keyward_verification_cache_emptied_total"
        "How often the verification cache was emptied.";
    CHANGE_SEEN = Gauge "keyward_replica_acknowledged_change"
        "The number of the last change of access that this server has seen; the lag is the difference to other servers.";
    LEASE_HELD = Gauge "keyward_lease_held"
        "1 while this server may answer from its verification cache, else 0.";
    LEASE_LEFT = Gauge "keyward_lease_remaining_seconds"
        "The remaining time of the lease in seconds; 0 without one.";
    POOL_LIMIT = Gauge "keyward_database_pool_connections_limit"
        "The maximum number of database connections.";
    POOL_OPEN = Gauge "keyward_database_pool_connections_open"
        "Database connections that are open.";
    POOL_IN_USE = Gauge "keyward_database_pool_connections_in_use"
        "Database connections that are in use.";
    POOL_WAITING = Gauge "keyward_database_pool_waiting"
        "Callers that wait for a database connection.";
    POOL_WAITS = Histogram "keyward_database_pool_wait_seconds"
        "How long callers waited for a database connection, of those that waited.";
    DATABASE_FAILURES = Counter "keyward_database_failed_requests_total"
        "Requests that failed because the database did not answer, by outcome.";
    CHANGES_WORK = Gauge "keyward_database_changes_work"
        "1 if the database accepts changes, by a check every few seconds, else 0.";
    TASK_SUCCESS = Gauge "keyward_task_last_success_timestamp_seconds"
        "When a run of a background task last ended without a failure, by task.";
    TASK_DURATION = Gauge "keyward_task_last_run_duration_seconds"
        "How long the last run of a background task took, by task.";
    TASK_FAILURES = Counter "keyward_task_failed_runs_total"
        "Runs of a background task in which something failed, by task.";
    TASK_RECORDS = Counter "keyward_task_records_total"
        "Records that a background task wrote or removed, by task.";
    TASK_WAITING = Gauge "keyward_task_records_waiting"
        "Records in memory that a background task has yet to write, by task.";
    SPANS_EXPORTED = Counter "keyward_trace_spans_exported_total"
        "Spans that the collector accepted.";
    SPANS_DROPPED = Counter "keyward_trace_spans_dropped_total"
        "Sampled spans that were not exported, by reason.";
    CPU = Counter "process_cpu_seconds_total"
        "Processor time of this process, in whole seconds.";
    STARTED = Gauge "process_start_time_seconds"
        "When this process started, in seconds since 1970.";
    VIRTUAL_MEMORY = Gauge "process_virtual_memory_bytes"
        "Memory that this process has addressed.";
    RESIDENT_MEMORY = Gauge "process_resident_memory_bytes"
        "Memory of this process that is in RAM.";
    OPEN_FILES = Gauge "process_open_fds"
        "Files and sockets that this process has open.";
    MOST_FILES = Gauge "process_max_fds"
        "How many files and sockets this process may have open.";
}
