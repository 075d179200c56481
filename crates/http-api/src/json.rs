//! JSON response bodies.

use chrono::{DateTime, SecondsFormat, Utc};
use poem::http::{HeaderValue, header};
use poem::{Body, IntoResponse, Response};
use poem_openapi::payload::Payload;
use poem_openapi::registry::{MetaSchemaRef, Registry};
use poem_openapi::types::{ToJSON, Type};
use serde::{Serialize, Serializer};
use serde_json::Value;

/// The media type of request and response bodies, without parameters.
pub(crate) const MEDIA_TYPE: &str = "application/json";

/// The bytes of most bodies; longer ones take more.
const USUAL_LENGTH: usize = 512;

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
        response(MEDIA_TYPE, format!("{}\n", self.0.to_json_string()))
    }
}

/// An answer with the same JSON body as [`Json`], for frequent requests: it is serialized directly, without a
/// tree of values, in which every name and value has memory of its own. A test compares the two.
pub(crate) struct WrittenJson<T>(pub(crate) T);

impl<T: Type> Payload for WrittenJson<T> {
    const CONTENT_TYPE: &'static str = MEDIA_TYPE;

    fn schema_ref() -> MetaSchemaRef {
        T::schema_ref()
    }

    fn register(registry: &mut Registry) {
        T::register(registry);
    }
}

impl<T: Serialize + Send> IntoResponse for WrittenJson<T> {
    fn into_response(self) -> Response {
        response(MEDIA_TYPE, line(&self.0))
    }
}

pub(crate) fn response(media_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::from(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// A value as one line. It cannot fail: the names of all members are text.
pub(crate) fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = Vec::with_capacity(USUAL_LENGTH);
    let _ = serde_json::to_writer(&mut line, value);
    line.push(b'\n');
    line
}

/// Formats a time, as [`moment`] does.
pub(crate) fn write_moment<S: Serializer>(moment: &DateTime<Utc>, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&moment.to_rfc3339_opts(SecondsFormat::Millis, true))
}

/// Formats a time: RFC 3339 in UTC, with `Z` and milliseconds.
pub(crate) fn moment(moment: &DateTime<Utc>) -> Option<Value> {
    Some(Value::String(moment.to_rfc3339_opts(SecondsFormat::Millis, true)))
}

/// Formats an optional time.
pub(crate) fn moment_if_any(if_any: &Option<DateTime<Utc>>) -> Option<Value> {
    if_any.as_ref().and_then(moment)
}

#[cfg(test)]
mod tests {
    use poem_openapi::types::{Example, ToJSON};
    use serde::Serialize;

    use super::line;
    use crate::base_url::BaseUrl;
    use crate::problem::{Code, FieldError, Problem};
    use crate::resources::{Introspection, UserItem};

    fn assert_written_as_declared(value: &(impl ToJSON + Serialize)) {
        let written = String::from_utf8(line(value)).unwrap();
        assert_eq!(written, format!("{}\n", value.to_json_string()));
    }

    #[test]
    fn written_json_equals_that_of_the_declared_schema() {
        assert_written_as_declared(&UserItem::example());
        assert_written_as_declared(&Introspection::example());
        assert_written_as_declared(&Introspection::default());
        let invalid = FieldError {
            pointer: "/name".to_owned(),
            detail: "must not be \"\u{1}\"".to_owned(),
        };
        let base_url = BaseUrl::new("https://keys.example.org");
        for problem in [
            Problem::from(Code::InvalidToken),
            Problem::invalid_fields(vec![invalid]),
        ] {
            assert_written_as_declared(&problem.document("a-1", &base_url));
        }
    }
}
