//! JSON response bodies.

use chrono::{DateTime, SecondsFormat, Utc};
use poem::{IntoResponse, Response};
use poem_openapi::payload::Payload;
use poem_openapi::registry::{MetaSchemaRef, Registry};
use poem_openapi::types::{ToJSON, Type};
use serde_json::Value;

/// The media type of request and response bodies, without parameters.
pub(crate) const MEDIA_TYPE: &str = "application/json";

/// An answer with a JSON body.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Type> Payload for Json<T> {
    const CONTENT_TYPE: &'static str = MEDIA_TYPE;

    fn schema_ref() -> MetaSchemaRef {
        T::schema_ref()
    }

    fn register(registry: &mut Registry) {
        T::register(registry);
    }
}

impl<T: ToJSON> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        Response::builder()
            .content_type(MEDIA_TYPE)
            .body(format!("{}\n", self.0.to_json_string()))
    }
}

/// Formats a time: RFC 3339 in UTC, with `Z` and milliseconds.
pub(crate) fn moment(moment: &DateTime<Utc>) -> Option<Value> {
    Some(Value::String(moment.to_rfc3339_opts(SecondsFormat::Millis, true)))
}

/// Formats an optional time.
pub(crate) fn moment_if_any(if_any: &Option<DateTime<Utc>>) -> Option<Value> {
    if_any.as_ref().and_then(moment)
}
