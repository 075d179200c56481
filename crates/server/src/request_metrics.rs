//! Metrics of requests.

use std::collections::HashMap;
use std::sync::Arc;

use keyward_front_door::{Exchanged, Observer};
use metrics::{Counter, Histogram, Label, SharedString};
use parking_lot::RwLock;
use poem::Response;
use poem::http::StatusCode;

use crate::measurements::Measurements;
use crate::metric::{ABANDONED, DURATION, LIMITED, Metric, PROBLEMS, REQUESTS};
use crate::routes::HEALTH_PATHS;

/// The name for requests that reached no operation. Their paths are not used, because clients choose them,
/// and every name takes memory for ever.
const OTHER: &str = "other";

/// Counts every request of a front door.
pub(crate) fn observer(measurements: Arc<Measurements>) -> Observer {
    let metrics = RequestMetrics::new(measurements);
    Arc::new(move |exchanged| {
        let Some(response) = exchanged.response else {
            metrics.abandoned.increment(1);
            return;
        };
        let answer = Answer {
            operation: known_operation(exchanged, response).unwrap_or(OTHER),
            status: response.status(),
            problem: keyward_http_api::problem_code(response),
            limit: keyward_http_api::exceeded_limit(response),
            seconds: exchanged.duration.as_secs_f64(),
        };
        metrics.count(&answer);
    })
}

/// The operation that a request reached: the API's has a name of its own, the console's are a method and a
/// path.
pub(crate) fn known_operation<'a>(exchanged: &Exchanged<'_>, response: &'a Response) -> Option<&'a str> {
    let path = exchanged.uri.path();
    keyward_http_api::operation_id(response)
        .or_else(|| keyward_console::operation(response))
        .or_else(|| HEALTH_PATHS.iter().find(|health| **health == path).copied())
}

/// An answer, as it is counted.
struct Answer<'a> {
    operation: &'a str,
    status: StatusCode,
    problem: Option<&'static str>,
    limit: Option<&'static str>,
    seconds: f64,
}

/// Counters and histograms, which are registered at the first request of their kind. A further one finds them
/// without allocating: to register again would build labels for each request.
struct RequestMetrics {
    measurements: Arc<Measurements>,
    /// There are as many as the API and the console have.
    operations: RwLock<HashMap<String, Operation>>,
    problems: Counters,
    limits: Counters,
    abandoned: Counter,
}

/// The metrics of one operation of the API or the console.
struct Operation {
    duration: Histogram,
    /// By status, of which an operation has few.
    answers: HashMap<StatusCode, Counter>,
}

impl RequestMetrics {
    fn new(measurements: Arc<Measurements>) -> Self {
        Self {
            // From now on it is exported, though it may never be counted.
            abandoned: measurements.counter(&ABANDONED, Vec::new()),
            measurements,
            operations: RwLock::default(),
            problems: Counters::of(&PROBLEMS, "code"),
            limits: Counters::of(&LIMITED, "limit"),
        }
    }

    fn count(&self, answer: &Answer<'_>) {
        if !self.count_registered(answer) {
            self.register(answer);
            self.count_registered(answer);
        }
        if let Some(code) = answer.problem {
            self.problems.count(code, &self.measurements);
        }
        if let Some(limit) = answer.limit {
            self.limits.count(limit, &self.measurements);
        }
    }

    /// Counts an answer, unless it is the first of its operation with its status.
    fn count_registered(&self, answer: &Answer<'_>) -> bool {
        let operations = self.operations.read();
        let operation = operations.get(answer.operation);
        let counter = operation.and_then(|operation| operation.answers.get(&answer.status));
        let (Some(operation), Some(counter)) = (operation, counter) else {
            return false;
        };
        counter.increment(1);
        // A refusal beyond a limit may be delayed on purpose.
        if answer.limit.is_none() {
            operation.duration.record(answer.seconds);
        }
        true
    }

    fn register(&self, answer: &Answer<'_>) {
        let name = SharedString::from(answer.operation.to_owned());
        let label = || Label::new("operation", name.clone());
        let mut operations = self.operations.write();
        let operation = operations
            .entry(answer.operation.to_owned())
            .or_insert_with(|| Operation {
                duration: self.measurements.histogram(&DURATION, vec![label()]),
                answers: HashMap::new(),
            });
        operation.answers.entry(answer.status).or_insert_with(|| {
            let status = Label::new("status", answer.status.as_str().to_owned());
            self.measurements.counter(&REQUESTS, vec![label(), status])
        });
    }
}

/// Counters that differ in one label, the values of which are words of this program.
struct Counters {
    metric: &'static Metric,
    label: &'static str,
    by_value: RwLock<HashMap<&'static str, Counter>>,
}

impl Counters {
    fn of(metric: &'static Metric, label: &'static str) -> Self {
        Self {
            metric,
            label,
            by_value: RwLock::default(),
        }
    }

    fn count(&self, value: &'static str, measurements: &Measurements) {
        let by_value = self.by_value.read();
        if let Some(counter) = by_value.get(value) {
            counter.increment(1);
            return;
        }
        drop(by_value);
        let mut by_value = self.by_value.write();
        let counter = by_value
            .entry(value)
            .or_insert_with(|| measurements.counter(self.metric, vec![Label::new(self.label, value)]));
        counter.increment(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: Answer<'_> = Answer {
        operation: "getUser",
        status: StatusCode::OK,
        problem: None,
        limit: None,
        seconds: 0.000_2,
    };

    const REFUSAL: Answer<'_> = Answer {
        status: StatusCode::TOO_MANY_REQUESTS,
        problem: Some("rate_limited"),
        limit: Some("key"),
        ..ANSWER
    };

    #[test]
    fn repeated_request_registers_nothing() {
        let measurements = Arc::new(Measurements::new().unwrap());
        let metrics = RequestMetrics::new(Arc::clone(&measurements));
        metrics.count(&ANSWER);
        metrics.count(&REFUSAL);
        let registered = measurements.registrations();
        for _ in 0..3 {
            metrics.count(&ANSWER);
            metrics.count(&REFUSAL);
        }
        // Two counters of requests, one histogram, a counter of problems, of limits, and of those that left.
        assert_eq!((registered, measurements.registrations()), (6, registered));
        let text = measurements.to_text();
        for line in [
            "keyward_http_requests_total{operation=\"getUser\",status=\"200\"} 4",
            "keyward_http_requests_total{operation=\"getUser\",status=\"429\"} 4",
            "keyward_http_request_duration_seconds_count{operation=\"getUser\"} 4",
            "keyward_http_problems_total{code=\"rate_limited\"} 4",
            "keyward_rate_limit_refusals_total{limit=\"key\"} 4",
            "keyward_http_requests_abandoned_total 0",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn first_requests_of_many_threads_are_all_counted() {
        let measurements = Arc::new(Measurements::new().unwrap());
        let metrics = RequestMetrics::new(Arc::clone(&measurements));
        std::thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| metrics.count(&REFUSAL));
            }
        });
        let text = measurements.to_text();
        let line = "keyward_http_requests_total{operation=\"getUser\",status=\"429\"} 8";
        assert!(text.contains(line), "{text}");
        assert!(
            text.contains("keyward_http_problems_total{code=\"rate_limited\"} 8"),
            "{text}"
        );
    }
}
