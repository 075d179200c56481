//! The id that a request's answer, log lines and problem carry.

use std::fmt;

use poem::http::{HeaderName, HeaderValue};
use uuid::Uuid;

/// The header that names a request: set on every request before the application sees it and on every answer.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id of one request.
#[derive(Clone, Debug)]
pub(crate) struct RequestId {
    text: String,
}

impl RequestId {
    pub(crate) fn new(id: Uuid) -> Self {
        Self { text: id.to_string() }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    #[expect(
        clippy::expect_used,
        reason = "hexadecimal digits and hyphens are always a header value"
    )]
    pub(crate) fn header_value(&self) -> HeaderValue {
        HeaderValue::from_str(&self.text).expect("a UUID is a header value")
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}
