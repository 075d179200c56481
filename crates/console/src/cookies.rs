//! Parses and sets cookies (RFC 6265bis).

use poem::http::{HeaderMap, HeaderValue, header};

/// The values of the cookies with this name, in the order sent.
///
/// Cookies ignore ports, so another program on `localhost` may have set one of the same name.
pub(crate) fn values<'a>(headers: &'a HeaderMap, name: &'static str) -> impl Iterator<Item = &'a str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(move |(sent_name, _)| *sent_name == name)
        .map(|(_, value)| value)
}

/// A `Set-Cookie` header, marked sensitive so that it is not logged.
#[expect(
    clippy::expect_used,
    reason = "names, attributes and hexadecimal digits are always a header value"
)]
pub(crate) fn set_cookie(text: &str) -> HeaderValue {
    let mut value = HeaderValue::from_str(text).expect("a header value");
    value.set_sensitive(true);
    value
}
