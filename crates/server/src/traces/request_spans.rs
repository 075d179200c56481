//! The span of each request (OpenTelemetry's semantic conventions for HTTP servers).

use std::collections::HashMap;
use std::sync::Arc;

use keyward_front_door::{Exchanged, Observer, TraceParent, Tracer};
use opentelemetry::trace::{
    SpanContext, SpanId, Status, TraceContextExt as _, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{Context, KeyValue};
use poem::http::{Method, StatusCode};
use serde_json::Value;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::request_metrics::known_operation;

/// The methods that are reported by their names; a client can make up others.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"];

/// Begins the trace of each request, or continues the one that a trusted proxy names. A trace that any other
/// client names is only linked, because clients must choose neither ids nor sampling.
pub(super) fn tracer(is_https: bool) -> Tracer {
    let scheme = if is_https { "https" } else { "http" };
    Arc::new(move |received, span| {
        if let Some(named) = received.parent.and_then(context_of) {
            if received.is_from_proxy {
                // It fails if the span is disabled or was already started.
                let _ = span.set_parent(Context::new().with_remote_span_context(named));
            } else {
                span.add_link(named);
            }
        }
        // This begins it, which decides whether it is sampled.
        let context = span.context();
        let begun = context.span();
        if begun.is_recording() {
            let method = method(received.method);
            begun.update_name(method.unwrap_or("HTTP"));
            begun.set_attributes([
                KeyValue::new("http.request.method", method.unwrap_or("_OTHER")),
                KeyValue::new("url.scheme", scheme),
                KeyValue::new("url.path", received.path()),
                KeyValue::new("client.address", received.client.to_string()),
            ]);
        }
        begun.span_context().trace_id().to_string()
    })
}

/// Says of each request how it ended.
pub(super) fn observer() -> Observer {
    let routes = routes_of_operations();
    Arc::new(move |exchanged| complete(exchanged, &routes))
}

fn complete(exchanged: &Exchanged<'_>, routes: &HashMap<String, String>) {
    let Some(span) = exchanged.trace else { return };
    let context = span.context();
    let span = context.span();
    if !span.is_recording() {
        return;
    }
    let Some(response) = exchanged.response else {
        span.set_attribute(KeyValue::new("error.type", "client_left"));
        return;
    };
    if let Some(operation) = known_operation(exchanged, response) {
        let route = route(operation, routes).to_owned();
        span.update_name(format!("{} {route}", method(exchanged.method).unwrap_or("HTTP")));
        span.set_attribute(KeyValue::new("http.route", route));
    }
    let status = response.status();
    span.set_attribute(KeyValue::new(
        "http.response.status_code",
        i64::from(status.as_u16()),
    ));
    if let Some(code) = keyward_http_api::problem_code(response) {
        span.set_attribute(KeyValue::new("error.type", code));
    } else if is_error(status) {
        span.set_attribute(KeyValue::new("error.type", status.as_str().to_owned()));
    }
    // A client's error is no error of the server.
    if status.is_server_error() {
        span.set_status(Status::error(""));
    }
}

fn is_error(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}

fn method(method: &Method) -> Option<&'static str> {
    METHODS.into_iter().find(|known| method == *known)
}

/// A page of the console is named by its method and path; the API's operations have names of their own.
fn route<'a>(operation: &'a str, routes: &'a HashMap<String, String>) -> &'a str {
    if let Some(route) = routes.get(operation) {
        return route;
    }
    operation.split_once(' ').map_or(operation, |(_, path)| path)
}

/// The path of each operation of the API.
fn routes_of_operations() -> HashMap<String, String> {
    let document: Value = serde_json::from_str(&keyward_http_api::document()).unwrap_or_default();
    let hidden = keyward_http_api::HIDDEN_OPERATIONS.iter();
    let mut routes: HashMap<String, String> = hidden
        .map(|(id, path)| ((*id).to_owned(), (*path).to_owned()))
        .collect();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for operation in methods
            .as_object()
            .into_iter()
            .flatten()
            .map(|(_, operation)| operation)
        {
            if let Some(id) = operation["operationId"].as_str() {
                routes.insert(id.to_owned(), path.clone());
            }
        }
    }
    routes
}

/// The span that a valid `traceparent` names.
fn context_of(parent: TraceParent<'_>) -> Option<SpanContext> {
    let flags = if parent.is_sampled {
        TraceFlags::SAMPLED
    } else {
        TraceFlags::default()
    };
    Some(SpanContext::new(
        TraceId::from_hex(parent.trace_id).ok()?,
        SpanId::from_hex(parent.span_id).ok()?,
        flags,
        true,
        TraceState::default(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_of_an_operation_is_its_path() {
        let routes = routes_of_operations();
        assert_eq!(route("getUser", &routes), "/api/v1/user");
        assert_eq!(
            route("reportLeakedKeysAsGitHub", &routes),
            "/api/v1/leaked-keys/github"
        );
        assert_eq!(route("GET /projects/:project", &routes), "/projects/:project");
        assert_eq!(route("/healthz", &routes), "/healthz");
        assert!(routes.len() > 10, "{routes:?}");
    }

    #[test]
    fn made_up_method_has_no_name() {
        assert_eq!(method(&Method::PATCH), Some("PATCH"));
        assert_eq!(method(&Method::from_bytes(b"BREW").unwrap()), None);
    }
}
