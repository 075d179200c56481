//! The ids that a request's answer, log lines and problem carry.

use std::fmt;

use bytes::Bytes;
use poem::http::{HeaderMap, HeaderName, HeaderValue};
use uuid::{Uuid, fmt::Hyphenated};

/// The header that names a request: set on every request before the application sees it and on every answer.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The most bytes of an id that a proxy gave: a UUID has 36, nginx's `$request_id` 32.
const LONGEST: usize = 64;

/// The id of one request. Clones share its text.
#[derive(Clone, Debug)]
pub(crate) struct RequestId(HeaderValue);

impl RequestId {
    #[expect(
        clippy::expect_used,
        reason = "hexadecimal digits and hyphens are a header value"
    )]
    pub(crate) fn new(id: Uuid) -> Self {
        let mut text = [0; Hyphenated::LENGTH];
        id.hyphenated().encode_lower(&mut text);
        let text = Bytes::from_owner(text);
        Self(HeaderValue::from_maybe_shared(text).expect("a UUID is a header value"))
    }

    /// The only `X-Request-Id` that a trusted proxy sent, if it is an id: letters, digits and `-_.:+/=`, so
    /// that it can be put into any log and address.
    pub(crate) fn given_in(headers: &HeaderMap) -> Option<Self> {
        let value = only(headers, &REQUEST_ID)?;
        let is_id = !value.is_empty()
            && value.len() <= LONGEST
            && value
                .as_bytes()
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:+/=".contains(byte));
        is_id.then(|| Self(value.clone()))
    }

    pub(crate) fn as_str(&self) -> &str {
        // Letters, digits and some punctuation.
        self.0.to_str().unwrap_or_default()
    }

    pub(crate) fn header_value(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The value of a header that the request has exactly once.
pub(crate) fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => Some(value),
        (_, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name.clone(), HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn accepted_request_id_is_short_with_limited_characters() {
        let given = |values: &[&str]| {
            RequestId::given_in(&headers(REQUEST_ID, values)).map(|id| id.as_str().to_owned())
        };
        let longest = "x".repeat(64);
        for id in ["1-67891233-abcdef012345678912345678", "a_b.c:d+e/f=", &longest] {
            assert_eq!(given(&[id]).as_deref(), Some(id));
        }
        let too_long = "x".repeat(65);
        for id in ["", "a b", "a\"b", "a,b", "<a>", &too_long] {
            assert_eq!(given(&[id]), None, "{id}");
        }
        assert_eq!(given(&["a", "a"]), None);
        assert_eq!(given(&[]), None);
    }
}
