//! What is counted of every request.

use std::sync::Arc;

use keyward_front_door::{Exchanged, Observer};
use metrics::{Label, SharedString};
use poem::Response;

use crate::measurements::Measurements;
use crate::metric::{ABANDONED, DURATION, PROBLEMS, REQUESTS};
use crate::routes::HEALTH_PATHS;

/// What reached no operation has this name in the place of one, whatever its path: clients choose paths, and every name
/// takes memory for ever.
const OTHER: &str = "other";

/// Counts every request of a front door.
pub(crate) fn observer(measurements: Arc<Measurements>) -> Observer {
    // What is never counted would not be exported either.
    measurements.set_count(&ABANDONED, 0);
    Arc::new(move |exchanged| {
        let Some(response) = exchanged.response else {
            measurements.count(&ABANDONED, Vec::new());
            return;
        };
        let operation = Label::new("operation", operation(exchanged, response));
        let status = Label::new("status", response.status().as_str().to_owned());
        measurements.count(&REQUESTS, vec![operation.clone(), status]);
        measurements.record(&DURATION, vec![operation], exchanged.duration.as_secs_f64());
        if let Some(code) = keyward_http_api::problem_code(response) {
            measurements.count(&PROBLEMS, vec![Label::new("code", code)]);
        }
    })
}

fn operation(exchanged: &Exchanged<'_>, response: &Response) -> SharedString {
    let path = exchanged.uri.path();
    if let Some(operation) = keyward_http_api::operation_id(response) {
        operation.into()
    } else if let Some(operation) = keyward_console::operation(response) {
        operation.into()
    } else {
        let health = HEALTH_PATHS.iter().find(|health| **health == path);
        health.copied().unwrap_or(OTHER).into()
    }
}
